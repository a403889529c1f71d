"""What a resumed run forgets, and learns anew; whole runs that are redone are in test_experiment.py."""

import json
from collections import Counter
from pathlib import Path

import pytest
from run_files import lines

from seasoned.errors import ConfigError, InfrastructureError
from seasoned.lab.benchmarks.base import DATA
from seasoned.lab.run.keys import EpisodeKey
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.redo import finished, forget, not_held
from seasoned.llm.scripted import ScriptedModel
from seasoned.store.sql import Store
from seasoned.types import Outcome, Reply, Trajectory

RUN = "r"


@pytest.fixture
def plan(recipe):
    return make_plan(recipe(conditions=["disabled", "zero-shot", "expnote"]))


def put(store, key, reason="answered"):
    store.save_episode(
        RUN, key, "s", Trajectory(task_id=key.split("/", 2)[2], task="t", outcome=Outcome(reason=reason))
    )
    store.journal_put(f"{RUN}/{key}", "k", Reply(text="own"))


@pytest.fixture
def begun(store):
    store.add_run(RUN, "n", "p", {})
    for key in ("s0f0/training/a", "s0f0/disabled/b", "s0f0/expnote/b/c", "s0f0/expnote@3/b", "s0f0/zero-shot/d"):
        put(store, key)
    store.journal_put(f"{RUN}/s0f0/b/c", "k", Reply(text="shared"))
    return store


def test_errors_are_not_finished(begun):
    put(begun, "s0f0/disabled/e", "error")
    assert "s0f0/disabled/e" in begun.episodes(RUN)
    assert EpisodeKey("s0f0", "disabled", "e") not in finished(begun, RUN)


def test_a_condition_goes_with_its_curve_and_its_journals(begun, plan):
    forget(begun, plan, Path(RUN), ["expnote"])
    assert set(begun.episodes(RUN)) == {"s0f0/training/a", "s0f0/disabled/b", "s0f0/zero-shot/d"}
    assert begun.journal_get(f"{RUN}/s0f0/expnote/b/c", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/b/c", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/disabled/b", "k").text == "own"


def test_what_was_asked_to_recall_and_to_reflect_goes_too(begun, plan):
    gone = ["s0f0/b/c/reflect1", "s0f0/b/c/reflect3", "s0f0/b/c#2", "s0f0/expnote/b/c/recall"]
    gone += ["s0f0/expnote/b/c#1", "s0f0/expnote/b/c/reflect2"]
    kept = ["s0f0/disabled/b/recall", "s0f0/disabled/b/reflect1", "s0f0/d/reflect1"]
    for key in (*gone, *kept):
        begun.journal_put(f"{RUN}/{key}", "k", Reply(text="x"))
    forget(begun, plan, Path(RUN), ["expnote"])
    assert [key for key in gone if begun.journal_get(f"{RUN}/{key}", "k")] == []
    assert [key for key in kept if begun.journal_get(f"{RUN}/{key}", "k")] == kept


def test_of_a_later_trial_the_calls_of_the_whole_task_go(begun, plan):
    put(begun, "s0f0/zero-shot/d#1")
    begun.journal_put(f"{RUN}/s0f0/d/reflect1", "k", Reply(text="x"))
    forget(begun, plan, Path(RUN), ["zero-shot"])
    assert begun.journal_get(f"{RUN}/s0f0/zero-shot/d#1", "k") is None
    assert begun.journal_get(f"{RUN}/s0f0/d/reflect1", "k") is None


def test_with_the_training_goes_what_was_learned_from_it(begun, plan):
    forget(begun, plan, Path(RUN), ["training"])
    assert set(begun.episodes(RUN)) == {"s0f0/disabled/b", "s0f0/zero-shot/d"}


def test_nothing_is_forgotten_where_nothing_is_named_or_a_name_is_wrong(begun, plan):
    forget(begun, plan, Path(RUN), [])
    with pytest.raises(ConfigError, match="did you mean training"):
        forget(begun, plan, Path(RUN), ["expnote", "trainin"])
    with pytest.raises(ConfigError, match="nothing to redo"):
        forget(begun, plan, Path("another"), ["expnote"])
    assert len(begun.episodes(RUN)) == 5


def failing(*calls):
    def stop(call):
        if call in calls:
            raise InfrastructureError("the server is being restarted")

    return stop


def scholar(apprentice):
    """The apprentice, who also writes a heuristic of each attempt."""

    def reply(messages):
        if messages[-1]["content"].endswith(("THINK", "ANSWER", "NOTE")):
            return apprentice(messages)
        return json.dumps({"trigger": f"a text has {len(str(messages))} letters", "action": "answer h3"})

    return ScriptedModel(reply, name="apprentice")


def judged(directory):
    tested = [row for row in lines(directory, "results.jsonl") if row["split"] == "test"]
    return {(row["condition"], row["trained_on"], row["task_id"]): row["answer"] for row in tested}


def taught(directory):
    """The training attempts, and those of them that some lesson of each condition came from."""
    training = {t["id"] for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"}
    found = {}
    for lesson in lines(directory, "lessons.jsonl"):
        found.setdefault(lesson["data"]["condition"], set()).update(lesson["sources"])
    return training, found


NAMES = ["disabled", "expnote", "erl-all", "nearest"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_training_attempt_that_is_made_again_is_learned_from(recipe, go, apprentice, store, tmp_path, interrupted):
    wanted = recipe(conditions=NAMES, train=8, curve=[2], embedder="hashing", workers=1)
    apprentice.stop = failing(20)
    directory = go(wanted, llm=scholar(apprentice))
    training, found = taught(directory)
    assert {name: len(sources) for name, sources in found.items()} == {"expnote": 7, "erl-all": 7}
    before = {t["id"]: t["meta"] for t in lines(directory, "trajectories.jsonl")}
    if interrupted:  # after the attempt was made, before anything was learned from it

        def stop(call, first=apprentice.calls + 4):
            if call == first:
                raise KeyboardInterrupt

        apprentice.stop = stop
        with pytest.raises(KeyboardInterrupt):
            go(wanted, llm=scholar(apprentice), resume=directory)
    apprentice.stop = failing()
    go(wanted, llm=scholar(apprentice), resume=directory)
    training, found = taught(directory)
    assert len(training) == 8
    assert found == {"expnote": training, "erl-all": training}
    assert not [request for request, n in Counter(apprentice.answered).items() if n > 1]
    kept = {t["id"] for t in lines(directory, "trajectories.jsonl")} & set(before)
    tested = Counter((m["condition"], m["trained_on"]) for i, m in before.items() if i in kept)
    # The curve's first point is on two attempts, and the one that was made again is none of them.
    assert tested == {("training", 0): 7, ("disabled", 0): 5, ("expnote", 2): 5}
    with Store(tmp_path / "whole.db") as other:
        whole = go(wanted, llm=scholar(apprentice), store=other, runs_dir=tmp_path / "whole")
    assert judged(directory) == judged(whole)
    assert store.check() == []


def test_what_a_person_wrote_stays_where_a_pool_is_learned_anew(recipe, go, apprentice, store):
    wanted = recipe(conditions=["disabled", "erl-all"], train=8, embedder="hashing", workers=1)
    apprentice.stop = failing(20)
    directory = go(wanted, llm=scholar(apprentice))
    mine, other = store.lessons(f"{directory.name}/s0f0/erl")[:2]
    mine = store.update_lesson(mine.model_copy(update={"text": "my own words"}), who="person")
    apprentice.stop = failing()
    go(wanted, llm=scholar(apprentice), resume=directory)
    assert store.get_lesson(mine.id) == mine
    assert store.get_lesson(other.id) is None
    assert len(store.lessons(f"{directory.name}/s0f0/erl")) == 8


def test_heuristics_learned_on_the_way_get_those_of_an_attempt_made_again(recipe, go, apprentice, store):
    changes = {"conditions": ["disabled", "erl-all"], "gather": {"iterate": "all", "batch": 3}}
    wanted = recipe(train=6, embedder="hashing", workers=1, **changes)
    apprentice.stop = failing(5)
    directory = go(wanted, llm=scholar(apprentice))
    first = taught(directory)[1]["erl-all"]
    old = {lesson["id"] for lesson in lines(directory, "lessons.jsonl")}
    assert len(first) == 5
    apprentice.stop = failing()
    go(wanted, llm=scholar(apprentice), resume=directory)
    training, found = taught(directory)
    assert found["erl-all"] == training > first
    assert old < {lesson["id"] for lesson in lines(directory, "lessons.jsonl")}  # they guided the attempts after them
    told = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["condition"] == "erl-all"]
    assert [len(t["lesson_ids"]) for t in told] == [6] * 5
    assert store.check() == []


def test_a_run_says_what_is_made_again(recipe, go, apprentice, capsys):
    wanted = recipe(workers=1)
    apprentice.stop = failing(5)
    directory = go(wanted)
    apprentice.stop = failing()
    go(wanted, resume=directory, quiet=False)
    assert "5 test episodes are repeated" in capsys.readouterr().err
    go(wanted, resume=directory, quiet=False)
    assert "repeated" not in capsys.readouterr().err


def test_a_run_that_is_redone_is_not_complete_before_it_is(recipe, go, apprentice, store):
    directory = go(recipe())

    def stop(call, first=apprentice.calls + 3):
        if call == first:
            raise KeyboardInterrupt

    apprentice.stop = stop
    with pytest.raises(ConfigError, match="no condition"):
        go(recipe(), resume=directory, redo=["expnot"])
    assert (directory / "summary.json").is_file()
    with pytest.raises(KeyboardInterrupt):
        go(recipe(), resume=directory, redo=["expnote"])
    assert not (directory / "summary.json").exists()
    go(recipe(), resume=directory)
    assert (directory / "summary.json").is_file()


def test_a_run_whose_outdated_episodes_were_dropped_is_not_complete(recipe, go, apprentice, store):
    apprentice.stop = failing(5)
    directory = go(recipe(workers=1))
    assert store.get_run(directory.name).status == "complete"
    apprentice.stop = failing()
    go(recipe(workers=1), resume=directory, until="learn")
    assert len(store.episodes(directory.name)) == 6 + 5
    assert (store.get_run(directory.name).status, store.get_run(directory.name).summary) == ("stopped", None)
    assert not (directory / "summary.json").exists()


@pytest.mark.parametrize("changes", [{}, {"folds": 2, "limit": 4}])
def test_a_run_whose_data_changed_is_not_resumed(recipe, go, apprentice, tmp_path, changes):
    data = tmp_path / "own.jsonl"
    cases = (DATA / "emoji.jsonl").read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join(cases[:24]), encoding="utf-8")
    wanted = recipe(benchmark={"name": "emoji", "symbols": "codes", "data": str(data)}, test=6, **changes)
    directory = go(wanted)
    before, calls = (directory / "manifest.json").read_bytes(), apprentice.calls
    data.write_text("\n".join(cases[:40]), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"with other tasks: from .*own\.jsonl.* then, from .*own\.jsonl.* now"):
        go(wanted, resume=directory, redo=["expnote"])
    assert ((directory / "manifest.json").read_bytes(), apprentice.calls) == (before, calls)
    data.write_text("\n".join(cases[:24]), encoding="utf-8")
    go(wanted, resume=directory)
    assert apprentice.calls == calls


def test_a_store_that_does_not_hold_the_run_names_the_one_that_does(tmp_path):
    directory = tmp_path / "r"
    directory.mkdir()
    for content, says in (
        (
            '{"store": "/a/b.db"}',
            "/x.db does not hold the run r: it was begun with /a/b.db, so name that with --store, and",
        ),
        ('{"store": "/x.db"}', "/x.db does not hold the run r, which was begun with it: bring back the file"),
        ("{", "name the store it was begun with (--store)"),
        ("[]", "name the store it was begun with (--store)"),
        ('{"store": 3}', "name the store it was begun with (--store)"),
    ):
        (directory / "manifest.json").write_text(content, encoding="utf-8")
        assert says in str(not_held(directory, "/x.db"))
        assert f"or delete the folder {directory} to begin anew" in str(not_held(directory, "/x.db"))


def test_tasks_whose_ids_end_like_a_further_attempt_are_kept_apart(recipe, go, apprentice, store, tmp_path):
    data = tmp_path / "own.jsonl"
    cases = [json.loads(line) for line in (DATA / "emoji.jsonl").read_text(encoding="utf-8").splitlines()[:24]]
    names = [f"d/o#c{end}" for end in ("", *(f"#{n}" for n in range(20)), "#1#0", "#1#1", "#01")]
    for case, name in zip(cases, names, strict=True):
        case["id"] = name
    data.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    benchmark = {"name": "emoji", "symbols": "codes", "data": str(data)}
    wanted = recipe(benchmark=benchmark, conditions=["disabled", "retry"], train=10, test=10, folds=2)
    directory = go(wanted)
    tested = [row for row in lines(directory, "results.jsonl") if row["split"] == "test"]
    assert len({row["task_id"] for row in tested} & {f"emoji-{name}" for name in names}) == 20
    made = Counter((row["condition"], row["task_id"], row["trial"]) for row in tested)
    assert set(made.values()) == {1}
    assert len(store.episodes(directory.name)) == len(lines(directory, "results.jsonl"))
    asked = apprentice.calls
    go(wanted, resume=directory)
    assert apprentice.calls == asked
    go(wanted, resume=directory, redo=["retry"])
    assert Counter((r["condition"], r["task_id"], r["trial"]) for r in lines(directory, "results.jsonl")) >= made
