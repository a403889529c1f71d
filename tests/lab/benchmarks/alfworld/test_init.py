"""ALFWorld as a benchmark: where games come from, the two pools, the prompts, and the real engine where it is there."""

import json
import re
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from seasoned.contracts import check_environment
from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks import alfworld
from seasoned.lab.benchmarks.alfworld import check, load, read_words, stand_in
from seasoned.lab.benchmarks.alfworld.choices import NOTHING, after, begin, choices, noted
from seasoned.lab.benchmarks.alfworld.env import command_of
from seasoned.lab.benchmarks.alfworld.game import CATEGORIES, KINDS, category_of, read_game
from seasoned.lab.benchmarks.alfworld.games import generate
from seasoned.lab.benchmarks.worker import Workers

NAMES = {category: kind for kind, category in KINDS.items()}


@pytest.fixture
def games(write_game, tmp_path):
    """Writes some games of every category in each group; gives the options to load them."""

    def write(per_category=2, groups=("valid_train", "valid_seen"), **change):
        for group in groups:
            for category in CATEGORIES:
                for n in range(per_category):
                    goal = f"do {category} in {group} number {n}."
                    kind = f"{NAMES[category]}-Mug-None-Shelf-{n}"
                    write_game(kind=kind, goal=goal, group=group, trial=f"{group}{category}{n}", **change)
        return {"data": str(tmp_path / "games"), "python": sys.executable}

    return write


def test_two_groups_are_the_two_pools(games):
    loaded = load(games(3), seed=0)
    assert (len(loaded.train), len(loaded.test)) == (18, 18)
    assert {task.data["group"] for task in loaded.train} == {"valid_train"}
    assert {task.data["group"] for task in loaded.test} == {"valid_seen"}
    assert loaded.manner == "act"
    assert loaded.max_turns == 20
    assert loaded.source.endswith("games")


def test_any_first_part_is_balanced_and_the_seed_decides_the_order(games):
    options = games(4)
    loaded = load(options, seed=0)
    for tasks in (loaded.train, loaded.test):
        assert [task.category for task in tasks[:6]] == list(CATEGORIES)
        assert set(Counter(task.category for task in tasks[:12]).values()) == {2}
    assert load(options, seed=0).train == loaded.train
    assert load(options, seed=1).train != loaded.train
    assert sorted(t.id for t in load(options, seed=1).train) == sorted(t.id for t in loaded.train)


def test_a_task(games):
    task = load(games(1), seed=0).train[0]
    assert re.fullmatch(r"alfworld-put-[0-9a-f]{10}", task.id)
    assert task.text.startswith("You are in the middle of a room.")
    assert task.text.endswith("Your task is to: do put in valid_train number 0.")
    assert task.data["goal"] == "do put in valid_train number 0."
    assert Path(task.data["game"]).is_absolute()
    assert "walkthrough" not in task.data


def test_other_groups(games):
    options = games(1, groups=("train", "valid_unseen"))
    loaded = load({**options, "train_split": "train", "test_split": "valid_unseen"}, seed=0)
    assert {task.data["group"] for task in loaded.test} == {"valid_unseen"}
    with pytest.raises(ConfigError, match="none of valid_seen"):
        load({**options, "train_split": "train"}, seed=0)
    with pytest.raises(ConfigError, match="no folder is called"):
        load({**options, "train_split": "a", "test_split": "b"}, seed=0)


def test_one_group_or_none_is_cut_in_two(games):
    options = games(4, groups=("own",))
    loaded = load(options, seed=0)
    assert len(loaded.train) == len(loaded.test) == 12
    assert set(Counter(task.category for task in loaded.train).values()) == {2}
    assert not {task.text for task in loaded.train} & {task.text for task in loaded.test}
    assert load(options, seed=1).train != loaded.train
    more = load({**options, "train_share": 0.75}, seed=0)
    assert (len(more.train), len(more.test)) == (18, 6)
    named = load({**options, "train_split": "own", "test_split": "own"}, seed=0)
    assert (len(named.train), len(named.test)) == (12, 12)


def test_a_category_with_one_task_and_others_with_none(write_game, tmp_path):
    for n in range(3):
        write_game(kind=f"pick_heat_then_place-{n}", goal=f"heat {n}", trial=f"a{n}")
    write_game(kind="pick_two_obj-1", goal="two", trial="b")
    loaded = load({"data": str(tmp_path), "python": sys.executable}, seed=0)
    assert Counter(task.category for task in loaded.train) == {"heat": 1, "puttwo": 1}
    assert Counter(task.category for task in loaded.test) == {"heat": 2}


def test_one_game_of_each_category(games):
    loaded = load(games(1, groups=("own",)), seed=0)
    assert (len(loaded.train), len(loaded.test)) == (3, 3)


def test_pools_share_no_text(write_game, tmp_path):
    for group in ("valid_train", "valid_seen"):
        write_game(goal="the same", group=group, trial=group)
    write_game(goal="another", group="valid_train", trial="x")
    loaded = load({"data": str(tmp_path), "python": sys.executable}, seed=0)
    assert [task.data["goal"] for task in loaded.train] == ["another"]
    assert [task.data["goal"] for task in loaded.test] == ["the same"]


def test_games_that_alfworld_leaves_out(games, write_game):
    options = games(1)
    write_game(goal="cannot", group="valid_train", trial="u", solvable=False)
    write_game(kind="pick_and_place_simple-AppleSliced-None-Shelf-1", group="valid_train", trial="s")
    write_game(kind="pick_two_obj_and_place-movable-1", group="valid_train", trial="m")
    loaded = load(options, seed=0)
    assert len(loaded.train) == 6
    assert loaded.source.endswith("(3 games left out, which ALFWorld does not use)")


def test_a_broken_game_is_left_out_and_named(games, write_game):
    options = games(1)
    whole = load(options, seed=0)
    path = write_game(trial="broken")
    path.write_text("{", encoding="utf-8")
    write_game(kind="pick_two_obj_and_place-movable-1", group="valid_train", trial="m")
    write_game(trial="older", grammar=...)
    loaded = load(options, seed=0)
    assert (loaded.train, loaded.test) == (whole.train, whole.test)
    assert "(1 games left out, which ALFWorld does not use; 2 left out, which cannot be read; " in loaded.source
    assert f"the first: {path} is not a game" in loaded.source


def test_broken_games_alone_are_a_fault(write_game, tmp_path):
    paths = [write_game(trial=trial) for trial in ("a", "b")]
    for path in paths:
        path.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="none of the 2 games can be read; the first: ") as caught:
        load({"data": str(tmp_path), "python": sys.executable}, seed=0)
    assert str(paths[0]) in str(caught.value)


def test_where_games_are_looked_for(games, monkeypatch, tmp_path):
    options = {"python": sys.executable}
    with pytest.raises(DataError, match="bench generate"):
        load(options, seed=0)
    games(1)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "games"))
    assert len(load(options, seed=0).train) == 6
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("SEASONED_DATA", str(tmp_path / "shared"))
    assert len(load(options, seed=0).train) == 6
    (tmp_path / "shared" / "alfworld").mkdir()
    with pytest.raises(DataError, match=r"game\.tw-pddl"):
        load(options, seed=0)
    with pytest.raises(DataError, match="no such file or folder"):
        load({**options, "data": str(tmp_path / "none")}, seed=0)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("max_steps", 0, "above 0"),
        ("timeout", 0.0, "above 0"),
        ("train_share", 1.0, "train_share"),
        ("dta", "x", "'data'"),
    ],
)
def test_wrong_options(games, option, value, says):
    with pytest.raises(ConfigError, match=says):
        load({**games(1, groups=("own",)), option: value}, seed=0)


def test_without_the_engine(games, monkeypatch, tmp_path):
    options = games(1)
    monkeypatch.setenv("SEASONED_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ConfigError, match="`seasoned bench install alfworld`"):
        load({"data": options["data"]}, seed=0)
    env = load(options, seed=0).make_env(False)
    with pytest.raises(ConfigError, match="No module named 'textworld'"):
        env.reset(load(options, seed=0).train[0])


def test_check_names_what_is_wrong(engine, write_game, tmp_path, monkeypatch):
    command = engine()
    monkeypatch.setattr(alfworld, "workers", lambda python, timeout: Workers(command, name="e", timeout=timeout))
    write_game(trial="good")
    wrong = {
        "unsolvable": ("says that it cannot be solved", {"solvable": False}),
        "no walkthrough": ("has no walkthrough", {"walkthrough": ...}),
        "not won": ("does not win", {"walkthrough": ["go to desk 1"]}),
        "no such command": (
            "command 2 of its walkthrough, 'fly', does nothing",
            {"walkthrough": ["go to desk 1", "fly"]},
        ),
        "no grammar": ("'grammar'", {"grammar": ...}),
    }
    for trial, (_, change) in wrong.items():
        write_game(trial=trial, **change)
    write_game(kind="pick_and_place_simple-AppleSliced-1")
    found = check({"data": str(tmp_path), "python": sys.executable})
    assert (found.good, found.total) == (1, 6)
    for trial, (says, _) in wrong.items():
        assert any(says in problem and f"/{trial}/" in problem for problem in found.problems)


def test_check_names_a_game_that_kills_the_engine(engine, write_game, tmp_path, monkeypatch):
    command = engine("if 'deadly' in request.get('game', ''): os._exit(1)")
    monkeypatch.setattr(alfworld, "workers", lambda python, timeout: Workers(command, name="e", timeout=timeout))
    write_game(trial="good")
    path = write_game(trial="deadly")
    found = check({"data": str(tmp_path), "python": sys.executable})
    assert (found.good, found.total) == (1, 2)
    assert found.problems[0].startswith(f"{path}: e has died")


@pytest.fixture(scope="module")
def real(tmp_path_factory, engine_python):
    """A new game of each type, which the engine has played to a win, as a benchmark with the real engine."""
    folder = tmp_path_factory.mktemp("games")
    files = generate(6, 11, folder, python=engine_python)
    assert {category_of(path) for path in files} == set(CATEGORIES)
    return load({"data": str(folder), "python": engine_python}, seed=0)


@pytest.fixture
def copied(tmp_path):
    """Copies a task's game, changed, and gives the copy's path."""

    def copy(task, **change):
        path = Path(task.data["game"])
        elsewhere = tmp_path / path.parent.parent.name / f"changed-{'-'.join(change)}" / path.name
        elsewhere.parent.mkdir(parents=True)
        raw = json.loads(path.read_text(encoding="utf-8"))
        elsewhere.write_text(json.dumps({**raw, **change}), encoding="utf-8")
        return elsewhere, raw

    return copy


@pytest.mark.engine
class TestOnTheEngine:
    def test_the_check_plays_every_walkthrough(self, real, copied, engine_python, monkeypatch, tmp_path):
        monkeypatch.setattr(alfworld, "AT_ONCE", 1)
        task = min((*real.train, *real.test), key=lambda task: len(task.text))  # a step is slower in a larger room
        _, raw = copied(task)
        broken, _ = copied(task, pddl_problem=raw["pddl_problem"][:-900])
        found = check({"data": str(tmp_path), "python": engine_python})
        assert (found.good, found.total) == (1, 2)
        assert str(broken) in found.problems[0]

    def test_the_contract(self, real):
        task = min((*real.train, *real.test), key=lambda task: len(task.text))  # a step is slower in a larger room
        actions = read_game(Path(task.data["game"])).walkthrough
        check_environment(lambda: real.make_env(False), task, actions=[*actions[:-1], "inventory", "look", actions[-1]])

    def test_texts_are_the_engines_and_walkthroughs_follow_from_what_is_read(self, real):
        with closing(real.make_env(False)) as env:
            for task in real.test:
                observation, info = env.reset(task)
                assert observation == task.text
                for command in read_game(Path(task.data["game"])).walkthrough:
                    assert command in info["choices"]
                    observation, reward, terminated, _, info = env.step(command)
                    assert "You arrive" not in observation
                assert (reward, terminated, info["success"]) == (1.0, True, True)

    def test_the_older_words_are_played_alike(self, real, copied):
        task = next(t for t in (*real.train, *real.test) if t.category == "put")
        raw = json.loads(Path(task.data["game"]).read_text(encoding="utf-8"))
        old = raw["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")
        old = old.replace("You arrive at {r.name}.", "You arrive at {lend.name}.")
        old = old.replace("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}.")
        assert old.count("in/on") >= 2
        elsewhere, _ = copied(task, grammar=old)
        said = []
        with closing(real.make_env(False)) as env:
            for data in (task.data, {"game": str(elsewhere)}):
                first, _ = env.reset(task.model_copy(update={"data": data}))
                said.append([first, *(env.step(command)[:3] for command in raw["walkthrough"])])
        assert said[0] == said[1]

    def test_a_game_that_would_run_code_does_not(self, real, copied, tmp_path):
        task, proof = real.train[0], tmp_path / "proof"
        grammar = json.loads(Path(task.data["game"]).read_text(encoding="utf-8"))["grammar"]
        evil = grammar.replace("{r.indefinite} {r.name or r.id}", f"{{open('{proof}', 'w')}}")
        assert evil != grammar
        elsewhere, _ = copied(task, grammar=evil)
        with pytest.raises(DataError, match="is not an expression of a game"):
            real.make_env(False).reset(task.model_copy(update={"data": {"game": str(elsewhere)}}))
        assert not proof.exists()


WORDS = read_words(False)


def test_two_of_each_category():
    assert Counter(t.category for t in WORDS.trajectories) == dict.fromkeys(CATEGORIES, 2)
    assert len({t.id for t in WORDS.trajectories}) == 12
    assert all(t.outcome.success and t.outcome.reason == "won" for t in WORDS.trajectories)
    assert [t.steps[-1].reward for t in WORDS.trajectories] == [1.0] * 12


def test_they_search_and_recover():
    for category in CATEGORIES:
        steps = [step for t in WORDS.trajectories if t.category == category for step in t.steps]
        assert sum(step.action.startswith("go to") for step in steps) >= 6
    failed = {t.category for t in WORDS.trajectories if any(s.observation == NOTHING for s in t.steps)}
    assert failed == set(CATEGORIES)
    closed = [t for t in WORDS.trajectories if any("is closed" in s.observation for s in t.steps)]
    assert len(closed) >= 9


def test_they_are_short():
    for t in (*WORDS.trajectories, *(t for t, _ in WORDS.reflections)):
        assert 6 <= len(t.steps) <= 14
        assert all(0 < len(step.thought.split()) <= 20 for step in t.steps)
        assert len(t.task) < 400


def test_two_reflections():
    assert len(WORDS.reflections) == 2
    for trajectory, text in WORDS.reflections:
        assert trajectory.outcome.success is False
        assert "Next time" in text


def test_each_step_follows_from_those_before():
    for t in (*WORDS.trajectories, *(t for t, _ in WORDS.reflections)):
        known = begin(t.task)
        for step in t.steps:
            assert command_of(step.action) == step.action
            beside = step.action.startswith("go to ") and step.observation == NOTHING
            assert (step.action in choices(known)) is (step.observation != NOTHING or beside), (t.id, step)
            before, known = known, after(known, step.action, step.observation)
            for place, things in known.seen.items():
                if before.seen.get(place) is None or sorted(before.seen[place]) == sorted(things):
                    continue
                # Between two looks at a place, only what the agent took or put there has changed.
                assert step.action.startswith(("take", "move")), (t.id, step)


def test_lists_are_in_the_engines_order():
    for t in WORDS.trajectories:
        for text in (t.task, *(step.observation for step in t.steps)):
            for listed in re.findall(r"you see (a [^.]*)\.", text):
                things = re.findall(r"a (\w+) (\d+)", listed)
                assert things == sorted(things, key=lambda thing: (thing[0], -int(thing[1])))
                named = [f"a {name} {number}" for name, number in things]
                assert listed == (named[0] if len(named) == 1 else f"{', '.join(named[:-1])}, and {named[-1]}")


def test_the_words():
    for verb in ("go to", "open", "close", "take", "move", "clean", "heat", "cool", "use", "examine"):
        assert f"{verb} " in WORDS.instruction
    assert WORDS.about


def test_with_a_notebook_they_are_noted():
    assert read_words(True) == WORDS._replace(trajectories=tuple(map(noted, WORDS.trajectories)))
    assert read_words(True).trajectories != WORDS.trajectories


def test_an_estimate_refuses_what_the_run_would_refuse():
    for refused in ({"focus": True}, {"max_steps": 0}):
        with pytest.raises(ConfigError):
            stand_in(refused, 3)
    assert len(stand_in({"focus": True, "notebook": True}, 3).train) == 3
