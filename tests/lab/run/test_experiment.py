"""Whole experiments with a scripted model: what is learned, what is kept, and what is never paid for twice."""

import json
import re
import sys
import threading

import pytest
from run_files import by_name, lines, summary

from seasoned.errors import (
    AuthError,
    BudgetExceeded,
    ConfigError,
    InfrastructureError,
    MissingExtraError,
    RefusedError,
    SeasonedError,
)
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.conditions import CONDITIONS
from seasoned.lab.run.plan import make_plan
from seasoned.lab.run.recipe import make_recipe
from seasoned.lab.run.rundir import hold, recipe_of
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.seeds import shifted
from seasoned.store.sql import Store


def results(directory):
    return {(row["seed"], row["condition"], row["trained_on"], row["task_id"]): row["success"]
            for row in lines(directory, "results.jsonl")}  # fmt: skip


def raising(at, error):
    """An apprentice's `stop` that raises at one call."""

    def stop(call):
        if call == at:
            raise error

    return stop


def test_notes_teach_what_nothing_else_can(recipe, go, apprentice):
    wanted = recipe(train=40, test=20)
    directory = go(wanted)
    found = by_name(directory)
    assert found["expnote"]["successes"] >= 18
    assert found["disabled"]["successes"] <= 10
    assert found["expnote"]["n"] == found["disabled"]["n"] == 20
    assert apprentice.calls <= make_plan(wanted).most_calls
    assert summary(directory)["pairs"][0]["p"] < 0.01


def test_an_uninterrupted_run_asks_nothing_twice_and_leaves_its_files(recipe, go, apprentice, store, journal):
    directory = go(recipe())
    assert len(set(apprentice.answered)) == apprentice.calls == len(journal())
    names = {"config.toml", "manifest.json", "trajectories.jsonl", "lessons.jsonl", "results.jsonl", "summary.json"}
    assert names | {"report.html"} <= {path.name for path in directory.iterdir()}
    assert len(lines(directory, "results.jsonl")) == 6 + 2 * 5
    row = store.get_run(directory.name)
    assert (row.status, row.summary["conditions"]) == ("complete", summary(directory)["conditions"])


@pytest.mark.parametrize(("at", "workers"), [(1, 1), (8, 3), (17, 1), (20, 3), (27, 1)])
def test_an_interrupted_run_goes_on_and_pays_for_nothing_twice(recipe, go, apprentice, tmp_path, at, workers, journal):
    apprentice.stop = raising(at, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        go(recipe(workers=workers))
    (directory,) = (tmp_path / "runs").iterdir()
    assert caught.value.__notes__ == [f"What was done is kept. Go on with: seasoned run --resume {directory}"]
    before = len(apprentice.answered)
    assert len(journal()) == before
    assert go(recipe_of(directory), resume=directory) == directory
    assert len(set(apprentice.answered)) == len(apprentice.answered) == len(journal())
    with Store(tmp_path / "whole.db") as other:
        whole = go(recipe(workers=1), store=other, runs_dir=tmp_path / "whole")
    assert results(directory) == results(whole)
    assert lines(directory, "results.jsonl")[0]["task_id"] == lines(whole, "results.jsonl")[0]["task_id"]


def test_resuming_a_complete_run_makes_no_call(recipe, go, apprentice):
    directory = go(recipe())
    before, calls = summary(directory), apprentice.calls
    go(recipe_of(directory), resume=directory)
    assert apprentice.calls == calls
    assert summary(directory)["conditions"] == before["conditions"]


@pytest.mark.parametrize("until", ["gather", "learn"])
def test_a_stage_of_a_complete_run_leaves_it_complete(recipe, go, store, until):
    wanted = recipe()
    directory = go(wanted, until=until)
    assert store.get_run(directory.name).status == "stopped"
    go(wanted, resume=directory)
    before = store.get_run(directory.name)
    go(wanted, resume=directory, until=until)
    after = store.get_run(directory.name)
    assert (after.status, after.summary) == ("complete", before.summary)
    assert after.summary["conditions"] == summary(directory)["conditions"]


def test_redo_really_makes_the_calls_of_one_condition_again(recipe, go, apprentice):
    wanted = recipe(train=30, conditions=["disabled", "zero-shot", "expnote"])
    directory = go(wanted)
    before, old = results(directory), {t["id"] for t in lines(directory, "trajectories.jsonl")}
    apprentice.answered.clear()
    go(wanted, resume=directory, redo=["expnote"])
    assert len(apprentice.answered) == 2 * 5
    assert results(directory) == before
    new = [t for t in lines(directory, "trajectories.jsonl") if t["id"] not in old]
    assert {t["meta"]["condition"] for t in new} == {"expnote"}
    assert len(new) == 5
    apprentice.answered.clear()
    go(wanted, resume=directory, redo=["zero-shot"])
    assert len(apprentice.answered) == 5


def test_redo_of_the_training_learns_anew_from_the_new_attempts(recipe, go, apprentice, store):
    wanted = recipe(train=12, conditions=["disabled", "expnote"], curve=[6])
    directory = go(wanted)
    old = {lesson["id"] for lesson in lines(directory, "lessons.jsonl")}
    apprentice.answered.clear()
    go(wanted, resume=directory, redo=["training"])
    assert len(apprentice.answered) >= 12 * 3 + 5
    lessons = lines(directory, "lessons.jsonl")
    training = {t["id"] for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"}
    assert lessons
    assert not old & {lesson["id"] for lesson in lessons}
    assert all(set(lesson["sources"]) <= training for lesson in lessons)
    assert store.check() == []


@pytest.mark.parametrize(
    ("name", "says"), [("expnot", "did you mean expnote?"), ("few-shot", "it has training, disabled, expnote")]
)
def test_redo_of_what_the_run_has_not_leaves_it_as_it_was(recipe, go, store, name, says):
    directory = go(recipe())
    with pytest.raises(ConfigError, match="no condition") as caught:
        go(recipe(), resume=directory, redo=[name])
    assert says in str(caught.value)
    assert store.get_run(directory.name).status == "complete"


def test_limit_is_kept_in_the_run(recipe, go, apprentice):
    directory = go(recipe(), limit=2)
    assert by_name(directory)["expnote"]["n"] == 2
    assert recipe_of(directory).limit == 2
    calls = apprentice.calls
    go(recipe_of(directory), resume=directory)
    assert apprentice.calls == calls
    with pytest.raises(ConfigError, match="keeps its settings"):
        go(recipe(), resume=directory)


@pytest.mark.parametrize("limit", [{"calls": 11}, {"tokens": 4000}])
def test_a_limit_of_the_run_stops_it_and_a_higher_one_goes_on(recipe, go, apprentice, store, tmp_path, limit):
    with pytest.raises(BudgetExceeded, match="the run's budget of") as caught:
        go(recipe(run_limits=limit, workers=1))
    (directory,) = (tmp_path / "runs").iterdir()
    assert f"--resume {directory}" in caught.value.__notes__[0]
    assert store.get_run(directory.name).status == "stopped"
    used = apprentice.calls
    assert used == 11 if "calls" in limit else 0 < used < 25
    with pytest.raises(BudgetExceeded):
        go(recipe_of(directory), resume=directory)
    assert apprentice.calls == used  # the limit is the run's: it is not begun anew by resuming
    go(recipe(run_limits={}, workers=1), resume=directory)
    assert len(set(apprentice.answered)) == len(apprentice.answered)
    assert by_name(directory)["disabled"]["n"] == 5


def test_a_limit_of_an_episode_is_an_outcome(recipe, go):
    directory = go(recipe(episode_limits={"calls": 1}))
    found = by_name(directory)
    for block in found.values():
        assert (block["n"], block["successes"], block["errors"]) == (5, 0, 0)
        assert block["reasons"] == {"budget": 5}


def test_server_errors_are_left_out_and_made_again_on_resume(recipe, go, apprentice, store):
    def stop(call):
        if call in (20, 24):
            raise InfrastructureError("the server is being restarted")

    apprentice.stop = stop
    wanted = recipe(workers=1)
    directory = go(wanted)
    errors = [t for t in lines(directory, "trajectories.jsonl") if t["outcome"]["reason"] == "error"]
    assert [t["outcome"]["success"] for t in errors] == [None, None]
    assert "being restarted" in errors[0]["outcome"]["detail"]
    found = by_name(directory)
    assert sum(block["errors"] for block in found.values()) == 2
    assert sum(block["n"] for block in found.values()) == 2 * 5 - 2
    apprentice.stop = lambda call: None
    go(wanted, resume=directory)
    found = by_name(directory)
    assert [(block["n"], block["errors"]) for block in found.values()] == [(5, 0), (5, 0)]
    assert len(set(apprentice.answered)) == len(apprentice.answered)
    assert store.check() == []


def test_five_server_errors_in_a_row_stop_the_run(recipe, go, apprentice, store, tmp_path):
    def stop(call):
        if call > 4:
            raise InfrastructureError("nobody answers at 127.0.0.1:9")

    apprentice.stop = stop
    with pytest.raises(InfrastructureError, match=r"5 episodes in a row.*nobody answers at 127\.0\.0\.1:9") as caught:
        go(recipe(workers=1))
    assert "Go on with: seasoned run --resume" in caught.value.__notes__[0]
    (directory,) = (tmp_path / "runs").iterdir()
    assert store.get_run(directory.name).status == "stopped"
    assert apprentice.calls <= 4 + 5 + 1
    apprentice.stop = lambda call: None
    go(recipe(workers=1), resume=directory)
    assert len(set(apprentice.answered)) == len(apprentice.answered)
    assert by_name(directory)["expnote"]["errors"] == 0


def test_a_plan_runs_as_its_recipe_does(recipe, go):
    plan = make_plan(recipe(limit=2))
    assert results(go(plan)) == results(go(recipe(), limit=2))
    with pytest.raises(ConfigError, match="a limit belongs to the recipe"):
        go(plan, limit=1)


def test_one_prompt_that_is_refused_is_an_error_and_the_run_goes_on(recipe, go, apprentice):
    # More conditions than errors in a row are allowed, one after the other at the same task.
    wanted = recipe(conditions=["disabled", "expnote", "expnote-last", "case", "positive", "negative"], workers=1)
    bad = make_plan(wanted).blocks[0].test[0]

    def filtered(messages):
        if bad.data["question"] in messages[-1]["content"]:
            raise RefusedError("the prompt was filtered")
        return apprentice(messages)

    directory = go(wanted, llm=ScriptedModel(filtered))
    assert {(block["n"], block["errors"]) for block in summary(directory)["conditions"]} == {(4, 1)}
    wrong = [row["task_id"] for row in lines(directory, "results.jsonl") if row["reason"] == "error"]
    assert wrong == [bad.id] * 6


def test_a_run_that_another_holds_is_refused(recipe, go, apprentice, store):
    directory = go(recipe())
    calls = apprentice.calls
    with hold(directory), pytest.raises(ConfigError, match="another process is working on"):
        go(recipe(), resume=directory)
    assert apprentice.calls == calls
    assert store.get_run(directory.name).status == "complete"


def test_a_run_is_not_resumed_with_other_settings_or_from_another_store(recipe, go, tmp_path):
    directory = go(recipe())
    with pytest.raises(ConfigError, match="keeps its settings"):
        go(recipe(test=6), resume=directory)
    with Store(tmp_path / "other.db") as other, pytest.raises(ConfigError, match=r"other\.db does not hold the run"):
        go(recipe(), resume=directory, store=other)


@pytest.mark.parametrize("who", ["llm", "learner"])
def test_no_key_leaves_no_directory(recipe, go, model, tmp_path, who):
    wanted = recipe(conditions=["disabled", "erl"], embedder="hashing", **{who: {"model": "gpt-5-mini"}})
    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        go(wanted, llm=None if who == "llm" else model)
    assert not (tmp_path / "runs").exists()


def test_without_scipy_no_call_is_made_for_a_summary_that_cannot_be(recipe, go, apprentice, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingExtraError, match=r"scipy.*seasoned\[eval\]"):
        go(recipe())
    assert apprentice.calls == 0
    assert not (tmp_path / "runs").exists()
    go(recipe(), until="learn")
    assert apprentice.calls > 0


def test_seeds_folds_and_curves_are_all_evaluated(recipe, go, store):
    directory = go(recipe(seeds=[0, 1], train=6, test=6, folds=2, curve=[3], conditions=["disabled", "expnote"]))
    rows = lines(directory, "results.jsonl")
    tested = [row for row in rows if row["split"] == "test"]
    assert {(row["seed"], row["fold"]) for row in tested} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len(tested) == 2 * 12 * 3
    assert {row["trained_on"] for row in tested if row["condition"] == "expnote"} == {3, 6}
    curve = {(point["condition"], point["trained_on"]): point["n"] for point in summary(directory)["curve"]}
    assert (curve["expnote", 3], curve["expnote", 6]) == (24, 24)
    assert store.check() == []


def test_a_row_has_the_right_answer_of_its_own_seed(recipe, go):
    wanted = recipe(seeds=[0, 1, 2], conditions=["disabled"], test=8, baseline="disabled")
    for row in lines(go(wanted), "results.jsonl"):
        tasks = load_benchmark("emoji", {"symbols": "codes"}, seed=row["seed"]).test
        assert row["gold"] == next(task.data["answer"] for task in tasks if task.id == row["task_id"])
        assert row["success"] == (row["answer"] == row["gold"])


def test_every_condition_runs(recipe, go, tmp_path):
    facts = tmp_path / "facts.csv"
    facts.write_text('/a\t/r/IsA\t/c/en/day\t/c/en/time\t{"weight": 1}\n', encoding="utf-8")
    other = {
        "nearest",
        *(name for name in CONDITIONS if name.startswith("erl-thought")),
    }  # they have tests of their own
    names = [name for name, condition in CONDITIONS.items() if name not in other and condition.acts is False]
    found = by_name(go(recipe(conditions=names, method={"facts": str(facts)}, train=10, test=2)))
    assert set(found) == set(names)
    assert {block["n"] for block in found.values()} == {2}


def test_every_condition_of_both_manners_runs_where_the_agent_answers_once(recipe, go, apprentice):
    def learner(messages):
        answers = messages[-1]["content"].endswith(("THINK", "ANSWER", "NOTE"))
        return apprentice(messages) if answers else json.dumps({"trigger": "anger is felt", "action": "answer h3"})

    names = [name for name, condition in CONDITIONS.items() if condition.acts is None or name.startswith("erl-thought")]
    assert {"expel", "autoguide", "few-shot-trajectories", "erl", "erl-matched", "erl-thought-k20"} <= set(names)
    wanted = recipe(conditions=names, baseline=names[0], train=6, test=2, embedder="hashing")
    found = by_name(go(wanted, llm=ScriptedModel(learner, name="learner")))
    assert set(found) == set(names)
    assert {(block["n"], block["errors"]) for block in found.values()} == {(2, 0)}


def test_the_nearest_cases_come_from_the_training_alone(recipe, go, apprentice):
    directory = go(recipe(conditions=["nearest"], baseline="nearest", embedder="hashing"))
    tested = [t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "test"]
    training = {t["id"] for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"}
    assert all(set(t["demonstration_ids"]) <= training for t in tested)


def test_heuristics_told_after_the_thought_are_for_situations_like_it(recipe, go, apprentice):
    """The apprentice, who also writes a heuristic of each attempt, and heeds one that names its feeling."""

    def scholar(messages):
        last = messages[-1]["content"]
        if messages[0]["content"].startswith("You look back at one attempt"):
            felt, said = re.search(r"THINK\[(.+?)\]", last)[1], re.search(r"ANSWER\[(.+?)\]", last)[1]
            right = re.search(r"right answer is (\S+)\.", last)
            rule = {"trigger": f"the writer feels {felt}", "action": f"answer {right[1] if right else said}"}
            return json.dumps({"analysis": "It was noted.", **rule})
        felt = next((m["content"] for m in reversed(messages) if m["role"] == "assistant"), "")
        told = dict(re.findall(r"^- When the writer feels (.+): answer (\S+)$", last, re.MULTILINE))
        return json.dumps(told[felt]) if last.endswith("ANSWER") and felt in told else apprentice(messages)

    wanted = recipe(
        conditions=["disabled", "erl-thought"], train=30, test=20, embedder="hashing", erl={"k": 3}, workers=1
    )
    directory = go(wanted, llm=ScriptedModel(scholar, name="scholar"))
    found = by_name(directory)
    assert found["erl-thought"]["successes"] > found["disabled"]["successes"] + 5
    tested = [t for t in lines(directory, "trajectories.jsonl") if t["meta"].get("condition") == "erl-thought"]
    assert all(len(t["lesson_ids"]) == 3 for t in tested if t["meta"]["split"] == "test")


@pytest.mark.parametrize("reasons", [False, True])
def test_rankings_are_asked_for_once_for_all_repeats_and_conditions(recipe, go, apprentice, reasons):
    """The apprentice, who also writes heuristics and ranks them; the shift of the seeds is seen in each ranking."""
    written, shifts = [], []

    def scholar(messages):
        if messages[-1]["content"].endswith(("THINK", "ANSWER", "NOTE")):
            return apprentice(messages)
        if messages[0]["content"].startswith("You look back at one attempt"):
            written.append(messages)
            rule = {"trigger": f"a text is number {len(written)}", "action": "answer h3"}
            return json.dumps({"analysis": "It was noted.", **rule})
        shifts.append(shifted(7, "prompt") != 7)
        scores = [{"number": 1, "reason": "", "score": 9}]
        return json.dumps({"ranking": scores, "contradictions": []}) if reasons else "7"

    wanted = recipe(
        conditions=["disabled", "erl", "erl-k1"],
        train=7,
        test=4,
        repeats=2,
        llm={"temperature": 0.7},
        erl={"k": 2, "reasons": reasons, "recall_first": 5},
        embedder="hashing",
    )
    model = ScriptedModel(scholar, name="scholar")
    go(wanted, llm=model)
    assert len(shifts) == 4 * (2 if reasons else 5)
    assert not any(shifts)
    assert len(model.requests) <= make_plan(wanted).most_calls


@pytest.mark.parametrize("name", ["expel-insights", "autoguide"])
def test_a_wrong_answer_and_the_right_one_teach_the_methods_that_compare(recipe, go, apprentice, name):
    """The apprentice, who also compares two attempts, and heeds a rule that names its feeling."""

    def scholar(messages):
        first, last = messages[0]["content"], messages[-1]["content"]
        if first.startswith(("You study how", "You compare two")):
            felt, right = re.findall(r"THINK\[(.+?)\]", last), re.findall(r"ANSWER\[(.+?)\]", last)
            context, rule = f"the writer feels {felt[-1]}", f"answer {right[-1]}"
            if first.startswith("You compare two"):
                return json.dumps({"context": context, "guideline": rule})
            return json.dumps([{"operation": "ADD", "number": 0, "text": f"If {context}, {rule}"}])
        felt = next((m["content"] for m in reversed(messages) if m["role"] == "assistant"), "")
        told = dict(
            re.findall(r"the writer feels (.+?)[,:] answer (\S+?)\.?$", str(messages[-3:]).replace("\\n", "\n"), re.M)
        )
        return json.dumps(told[felt]) if last.endswith("ANSWER") and felt in told else apprentice(messages)

    wanted = recipe(
        conditions=["disabled", name],
        train=30,
        test=20,
        embedder="hashing",
        autoguide={"by": "embedding", "least": 0.1},
        expel={"max_insights": 30},
        workers=1,
    )
    directory = go(wanted, llm=ScriptedModel(scholar, name="scholar"))
    found = by_name(directory)
    assert found[name]["successes"] > found["disabled"]["successes"] + 5
    lessons = lines(directory, "lessons.jsonl")
    assert {lesson["kind"] for lesson in lessons} == {"insight" if name == "expel-insights" else "guideline"}


def test_own_successes_are_told_to_an_agent_that_answers_once(recipe, go):
    wanted = recipe(conditions=["disabled", "few-shot-trajectories"], train=20, test=5, embedder="hashing")
    directory = go(wanted)
    training = {t["id"]: t for t in lines(directory, "trajectories.jsonl") if t["meta"]["split"] == "train"}
    shown = [t for t in lines(directory, "trajectories.jsonl") if t["meta"].get("condition") == "few-shot-trajectories"]
    assert len(shown) == 5
    for each in shown:
        assert 0 < len(each["demonstration_ids"]) <= 3
        assert all(training[id_]["outcome"]["success"] for id_ in each["demonstration_ids"])
        assert "Earlier cases like this one:" in str(each["messages"][-4:])


def test_two_runs_at_once_in_one_store_keep_apart(recipe, go, store):
    made = []
    threads = [threading.Thread(target=lambda: made.append(go(recipe(workers=1)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({path.name for path in made}) == 2
    assert results(made[0]) == results(made[1])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"conditions": ["expnot"]}, "did you mean expnote"),
        ({"conditions": ["cot", "cot"]}, "every condition once"),
        ({"baseline": "disable"}, "did you mean disabled"),
        ({"seeds": [1, 1]}, "every seed once"),
        ({"folds": 99}, "between 2 and 11 folds"),
        ({"test": 100000}, "100000 test tasks were asked for"),
        ({"benchmark": {"name": "emojy"}}, "did you mean 'emoji'"),
        ({"benchmark": {"name": "emoji", "symbol": "codes"}}, "did you mean 'symbols'"),
        ({"conditions": ["expnote", "teachme"]}, "method.facts"),
        (
            {"conditions": ["expnote", "teachme"], "method": {"facts": "none.csv"}},
            "expected a ConceptNet CSV at none.csv",
        ),
        ({"run_limits": {"tokens": -5}}, "at least 0"),
        ({"run_limits": {"cost": float("nan")}}, "at least 0"),
        ({"conditions": ["nearest"], "embedder": "none-such"}, "none-such"),
        ({"learner": {"model": "another"}}, "names a learner, and none of its conditions learns by asking a model"),
    ],
)
def test_what_cannot_be_run_is_a_sentence_before_anything_is_done(recipe, go, changes, says, apprentice, tmp_path):
    with pytest.raises(SeasonedError, match=says):
        go(make_recipe({**recipe().model_dump(mode="json", exclude_none=True), **changes}))
    assert apprentice.calls == 0
    assert not (tmp_path / "runs").exists()
