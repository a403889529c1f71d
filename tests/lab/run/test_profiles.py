"""The profiles: what wins over what, and that with a long window nothing of the papers' prompts is cut."""

import json

import pytest

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import ConfigError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.methods.autoguide import AutoGuide
from seasoned.lab.run.acting import erl, expel, make_actor, reflexion
from seasoned.lab.run.conditions import conditions
from seasoned.lab.run.evaluate import check_parts
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.recipe import PROFILES, load_recipe, make_recipe, profile_settings
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.erl import ERL
from seasoned.methods.expel import ExpeL
from seasoned.methods.reflexion import Reflexion
from seasoned.pool import ExperiencePool
from seasoned.store.sql import Store
from seasoned.types import Lesson, Outcome, Step, Task, Trajectory

BENCHMARKS = ("alfworld", "clutrr", "emoji", "fever", "gaia2", "hotpotqa", "lets", "mets", "tau2", "webshop", "own")


@pytest.fixture
def pool(tmp_path):
    with Store(tmp_path / "store.db") as store:
        yield ExperiencePool(store, "test", embedder=HashingEmbedder())


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "recipe.toml"
        path.write_text(f'name = "x"\n{text}\n[benchmark]\nname = "emoji"\n', encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_benchmark_has_both_profiles(name, profile):
    recipe = make_recipe({"name": "x", "benchmark": {"name": name}, **profile_settings(profile, "none")})
    assert recipe.profile == profile
    merged = {"name": "x", **profile_settings(profile, name)}
    merged["benchmark"] = {"name": name, **merged.get("benchmark", {})}
    assert make_recipe(merged).profile == profile


def test_small_sets_nothing():
    assert profile_settings("small", "emoji") == {"profile": "small"}


def test_a_recipe_wins_over_its_own_profile_and_the_one_asked_for_over_the_recipe(written):
    own = load_recipe(written('profile = "paper"\ntrain = 7'))
    assert (own.train, own.test, own.method.policy, own.agent.style) == (7, 100, "last", "free")
    asked = load_recipe(written("train = 7\ntest = 8"), profile="paper")
    assert (asked.train, asked.test, asked.profile) == (100, 100, "paper")
    set_last = load_recipe(written("train = 7"), ["train=9", "method.policy=merge"], profile="paper")
    assert (set_last.train, set_last.method.policy) == (9, "merge")
    other = load_recipe(written('profile = "paper"'), ["benchmark.name=lets"])
    assert (other.agent.example_notes, other.test) == (None, 100)
    assert load_recipe(written('profile = "paper"'), profile="small").method.policy == "merge"


def test_a_profile_survives_being_written_and_read(tmp_path, written):
    import tomli_w

    recipe = load_recipe(written('profile = "paper"'), ["agent.policy=act"])
    again = tmp_path / "again.toml"
    again.write_text(tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
    assert load_recipe(again) == recipe


@pytest.mark.parametrize("profile", ["huge", 3])
def test_a_profile_that_there_is_not(written, profile):
    with pytest.raises(ConfigError, match="profile"):
        load_recipe(written("train = 7"), [f"profile={profile}"])


def own_method(recipe, benchmark, llm):
    return ExpeL(llm)


def test_a_condition_of_ones_own_knows_no_profile_of_the_papers(recipe):
    settings = {"conditions": ("disabled", f"{__name__}:own_method"), "profile": "paper"}
    if "." not in __name__ and ":" not in settings["conditions"][1]:
        pytest.skip("this module has no import path")
    chosen = conditions(["disabled"])[0]
    assert chosen.profiles == PROFILES
    from dataclasses import replace

    plan = make_plan(recipe(profile="paper"))
    refused = replace(plan, conditions=(replace(chosen, name="mine", profiles=("small",)),))
    with pytest.raises(ConfigError, match="the condition mine knows no profile paper"):
        check_parts(refused)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_scaffold_is_off_in_paper_and_each_part_can_be_left_out(recipe, profile):
    made = recipe(profile=profile)
    for aid in ("worked", "begins", "filters"):
        assert made.helps(aid) is (profile == "small")
        assert made.helps(aid, without=aid) is made.helps(aid, without="all") is False
        assert recipe(profile=profile, scaffold={aid: True}).helps(aid) is True
    benchmark, model = load_benchmark("emoji", {"symbols": "codes"}, seed=0), ScriptedModel([])
    method = erl().method(made, benchmark, model)
    small = profile == "small"
    assert (bool(method.begins), method.example is not None, method.filters, method.form) == (
        small,
        small,
        small,
        "short" if small else "paper",
    )
    bare = erl(without="begins").method(made, benchmark, model)
    assert (bare.begins, bare.filters) == ("", small)
    assert expel().method(made, benchmark, model).full == ("above" if small else "at")


def test_conditions_without_a_part_of_the_scaffold_learn_alone():
    plain, bare = conditions(["erl", "erl(without=worked)"])
    assert (plain.pool, bare.pool) == ("erl", "erl-without-worked")


def test_the_agent_of_the_paper_profile_ends_as_reflexions_does():
    raw = profile_settings("paper", "alfworld")
    made = make_recipe({"name": "x", **raw, "benchmark": {"name": "hotpotqa"}})
    agent = make_actor(made, load_benchmark("hotpotqa", {}, seed=0), ScriptedModel([]), "react")
    step = Step(action="look", observation="dark")
    assert (agent.repeats, agent.halt([step, step]), agent.halt([step])) == (None, "loop", None)


# Nothing is cut with a window of 128,000 tokens


def attempt(name, length, success=True, trial=0, marks=4):
    """An attempt of about so many characters; each part ends in a mark that a cut would take away."""
    part = length // marks
    steps = tuple(
        Step(
            thought=f"thought {n}",
            action=f"act {n}",
            observation=f"{'x' * 9} " * (part // 10) + f"end-{name}-{trial}-{n}",
        )
        for n in range(marks)
    )
    return Trajectory(
        id=f"{name}-{trial}",
        task_id=name,
        task=f"The task {name}. " + "Details. " * 60 + f"goal-{name}",
        steps=steps,
        outcome=Outcome(success=success, reason="won" if success else "halted"),
        meta={"trial": trial},
    )


def asked(model):
    return ["\n".join(message["content"] for message in request["messages"]) for request in model.requests]


def test_eight_successes_of_55000_characters_stand_whole_in_one_prompt(pool):
    tried = [attempt(f"t{n}", 6965) for n in range(8)]
    whole = sum(len(step.observation) for one in tried for step in one.steps)
    assert whole > 55_000
    rule = "Look " + "well " * 200 + "around."
    model = ScriptedModel(lambda _: [{"operation": "ADD", "number": 0, "text": rule}], window=128_000)
    ExpeL(model, chunk=8).learn(tried, pool)
    (prompt,) = asked(model)
    assert len(prompt) > whole
    assert all(
        f"end-{one.task_id}-0-{n}" in prompt and f"goal-{one.task_id}" in prompt for one in tried for n in range(4)
    )
    assert [lesson.text for lesson in pool.lessons("insight")] == [" ".join(rule.split())]
    assert not [problem for problem in pool.problems if "no room" in problem]


def test_a_small_window_shortens_and_the_report_says_by_how_much(pool):
    tried = [attempt(f"t{n}", 6965) for n in range(8)]
    model = ScriptedModel(lambda _: [{"operation": "ADD", "number": 0, "text": "Look."}], window=4096)
    ExpeL(model, chunk=8).learn(tried, pool)
    assert len(asked(model)[0]) < 14_000
    (said,) = [problem for problem in pool.problems if "had no room" in problem]
    assert said.startswith("1 prompt had no room for ")


HEURISTIC = {
    "analysis": "I sent the mail to a name. " * 30 + "end-analysis",
    "trigger": "a mail is to be sent and only names are known " * 8 + "end-trigger",
    "action": "look each name up in the contacts, check the address, then send " * 30 + "end-action",
    "rationale": "an address that was looked up cannot be refused " * 8 + "end-rationale",
}


def test_heuristics_have_the_papers_parts_at_full_length_and_the_ranker_sees_all_of_them(pool):
    writer = ScriptedModel(lambda _: HEURISTIC, window=128_000)
    ranker = ScriptedModel(
        lambda _: {
            "ranking": [{"number": n, "reason": "it fits", "score": 90 - n} for n in (7, 7, 500, 3)],
            "contradictions": [],
        },
        name="ranker",
        window=400_000,
    )
    method = ERL(writer, form="paper", filters=False, k=2, retrieve="llm", ranker=ranker, guidance_tokens=10**6)
    tried = [attempt(f"t{n}", 9000, success=bool(n % 2)) for n in range(24)]
    method.learn(tried, pool)
    assert all(f"end-t{n}-0-3" in prompt for n, prompt in enumerate(asked(writer)))
    lessons = pool.lessons("heuristic")
    assert len(lessons) == 24
    text = lessons[0].text
    places = [
        text.index(mark) for mark in ("Analysis:", "end-analysis", "Trigger:", "end-trigger", "Action:", "end-action")
    ]
    assert places == sorted(places)
    assert "Rationale:" in text
    assert "end-rationale" in text
    # Equal heuristics count as one, so each gets words of its own.
    for n, lesson in enumerate(lessons):
        said = f"Number {n} {lesson.text}"
        pool.update(lesson.model_copy(update={"text": said, "data": {**lesson.data, "action": said}}), why="test")
    guidance = method.recall(Task(id="new", text="Send a mail. " * 200 + "goal-new"), pool)
    prompt = asked(ranker)[0]  # asked again, as its first reply names a number that there is not
    assert prompt.count("end-rationale") == 24
    assert "goal-new" in prompt
    assert prompt.count("Outcome: success") == prompt.count("Outcome: failure") == 12
    assert [lesson.text.split()[1] for lesson in guidance.lessons] == ["2", "6"]
    assert guidance.text.count("end-rationale") == 2


def test_reflections_see_the_whole_attempt(pool):
    model = ScriptedModel(
        ["Plan: " + "I will look into the drawer first. " * 3 + "I go on to the end " * 60 + "here."], window=128_000
    )
    long = attempt("t", 30_000, success=False)
    Reflexion(model).learn([long], pool)
    assert all(f"end-t-0-{n}" in asked(model)[0] for n in range(4))
    (lesson,) = pool.lessons("reflection")
    assert lesson.text.endswith("here.")
    assert "left_out" not in lesson.data


def test_a_reflection_on_a_shortened_attempt_says_how_much_was_left_out(pool):
    Reflexion(ScriptedModel(["Plan: I will look into the drawer first."])).learn([attempt("t", 30_000, False)], pool)
    (lesson,) = pool.lessons("reflection")
    assert lesson.data["left_out"] > 20_000


def test_guidelines_see_whole_pairs_and_all_contexts(pool):
    reply = {"context": "a door is locked", "guideline": "try the key that lies nearest, then look for another one"}
    model = ScriptedModel(lambda _: reply, window=128_000)
    AutoGuide(model).learn([attempt("t", 20_000, False), attempt("t", 20_000, True, trial=1)], pool)
    assert all(f"end-t-{trial}-{n}" in asked(model)[0] for trial in (0, 1) for n in range(4))


def test_insights_that_outgrow_the_prompt_are_those_nearest_to_the_task(pool):
    for n in range(30):
        text = "Warm the soup in the pan." if n == 20 else f"Keep ledger {n} in the drawer of the office."
        pool.add(Lesson(kind="insight", text=text, importance=float(30 - n), method="expel"))
    task = Task(id="new", text="Warm the soup in the pan.")
    told = ExpeL(None, mode="insights", insights_room=60).recall(task, pool).lessons
    assert "Warm the soup in the pan." in [lesson.text for lesson in told]
    assert len(told) < 10
    assert [lesson.importance for lesson in told] == sorted((one.importance for one in told), reverse=True)
    assert len(ExpeL(None, mode="insights").recall(task, pool).lessons) == 30


@pytest.mark.parametrize(("full", "crowded"), [("above", False), ("at", True)])
def test_the_list_is_full_at_or_above_its_size(pool, full, crowded):
    pool.add([Lesson(kind="insight", text=f"Rule {n} of many.", importance=2.0, method="expel") for n in range(3)])
    model = ScriptedModel([[]])
    ExpeL(model, max_insights=3, full=full).learn([attempt("t", 100)], pool)
    assert ("The list is too long" in asked(model)[0]) is crowded


def test_the_arm_without_retries_learns_from_first_attempts_and_shows_no_other(pool):
    first, again = attempt("a", 100, False), attempt("a", 100, True, trial=1)
    won = attempt("b", 100)
    for one in (first, again, won):
        pool.record(one)
    model = ScriptedModel(lambda _: [{"operation": "ADD", "number": 0, "text": "Look."}])
    method = ExpeL(model, first=True, k=5)
    method.learn([first, again, won], pool)
    assert len(model.requests) == 1
    assert [one.id for one in method.recall(Task(id="n", text="x"), pool).demonstrations] == ["b-0"]


@pytest.mark.parametrize("policy", ["react", "tools"])
def test_a_window_too_small_for_one_attempt_says_what_to_set(recipe, policy):
    made = recipe(benchmark={"name": "hotpotqa"}, conditions=(policy,), baseline=policy, llm={"context": 256})
    with pytest.raises(ConfigError, match=r"tokens before anything is done, and the model takes 256: set llm\.context"):
        check_parts(make_plan(made))
    check_parts(make_plan(made.model_copy(update={"longer": made.llm.model_copy(update={"context": 8192})})))


def test_reflexions_memory_is_a_setting(recipe):
    made = recipe(reflexion={"memory": 5, "attempt_chars": 400})
    method = reflexion(made, load_benchmark("hotpotqa", {}, seed=0), ScriptedModel([]), "reflexion")
    assert (method.memory, method.attempt_chars) == (5, 400)


def test_the_model_that_ranks_is_another_one(recipe, go, monkeypatch, tmp_path):
    from contextlib import contextmanager

    from seasoned.llm import opening

    ranker = ScriptedModel(
        lambda _: {"ranking": [{"number": 1, "reason": "r", "score": 9}], "contradictions": []}, name="r2"
    )

    @contextmanager
    def opened(settings):
        yield ranker

    monkeypatch.setattr(opening, "open_llm", opened)

    def says(messages):
        if '"trigger"' in messages[0]["content"]:
            return json.dumps(
                {"analysis": "x", "trigger": f"the letter {len(messages[1]['content'])}", "action": "answer k4 now"}
            )
        return "THINK[hm]" if "THINK" in messages[-1]["content"][-6:] else "k4"

    made = recipe(
        conditions=("disabled", "erl(k=1)"),
        ranker={"model": "r2", "base_url": "http://127.0.0.1:1/v1"},
        erl={"retrieve": "llm", "reasons": True},
        embedder="hashing",
    )
    directory = go(made, llm=ScriptedModel(says, name="actor"))
    assert json.loads((directory / "manifest.json").read_text())["ranker"] == "r2"
    assert all("You choose lessons" in prompt for prompt in asked(ranker))
