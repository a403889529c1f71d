"""Lessons of a file are checked against the tasks of the run that is given them."""

import json
from dataclasses import replace

import pytest

from seasoned.errors import LeakError
from seasoned.lab.benchmarks import load_benchmark
from seasoned.lab.run.evaluate import check_given
from seasoned.lab.run.plan import make_plan
from seasoned.llm.scripted import ScriptedModel
from seasoned.types import Lesson, Task, Trajectory


@pytest.fixture
def file(tmp_path):
    """Writes lessons into a file, each a dict of what is not the default."""

    def write(*lessons):
        path = tmp_path / "lessons.jsonl"
        made = [Lesson(**{"kind": "insight", "text": "Look first.", **each}) for each in lessons]
        path.write_text("".join(f"{lesson.model_dump_json()}\n" for lesson in made), encoding="utf-8")
        return path

    return write


@pytest.fixture
def plan(recipe):
    def make(path, **changes):
        wanted = {
            "benchmark": {"name": "hotpotqa"},
            "conditions": ["react", "given"],
            "baseline": "react",
            "train": 0,
            "test": 3,
            "method": {"given": str(path)},
        }
        return make_plan(recipe(**{**wanted, **changes}))

    return make


@pytest.fixture
def tried(store):
    """Stores an attempt at a task under an id."""

    def keep(name, task, **fields):
        attempt = Trajectory(id=name, task_id=task.id, task=task.text, **{"benchmark": "hotpotqa", **fields})
        store.add_trajectories("old/s0f0/training", [attempt])

    return keep


DATA = load_benchmark("hotpotqa", {}, seed=0)


def test_a_lesson_from_a_test_task_stops_the_run(plan, file, store, tried):
    tried("tra-train", DATA.train[0])
    tried("tra-test", DATA.test[1])
    assert check_given(plan(file({"sources": ("tra-train",)})), store) == 0
    with pytest.raises(LeakError, match=f"the task {DATA.test[1].id}, which is to be evaluated"):
        check_given(plan(file({"sources": ("tra-train", "tra-test")})), store)


def test_a_test_task_is_known_by_its_words_too(plan, file, store, tried):
    tried("tra-test", DATA.test[1].model_copy(update={"id": "another"}))
    with pytest.raises(LeakError, match=DATA.test[1].id):
        check_given(plan(file({"sources": ("tra-test",)})), store)


def test_an_attempt_of_no_benchmark_may_be_at_a_test_task(plan, file, store, tried):
    tried("tra-test", DATA.test[1], benchmark="")
    with pytest.raises(LeakError, match=DATA.test[1].id):
        check_given(plan(file({"sources": ("tra-test",)})), store)


def test_tasks_without_words_are_not_taken_for_one_another(plan, file, store, tried):
    tried("tra-other", Task(id="other", text="???"))
    wanted = plan(file({"sources": ("tra-other",)}))
    (block,) = wanted.blocks
    wordless = replace(block, test=(Task(id="wordless", text="..."),))
    assert check_given(replace(wanted, blocks=(wordless,)), store) == 0


def test_another_benchmark_may_have_the_same_ids(plan, file, store, tried):
    tried("tra-test", DATA.test[1], benchmark="fever")
    assert check_given(plan(file({"sources": ("tra-test",)})), store) == 0


def test_what_was_adapted_is_followed_to_the_attempts_behind_it(plan, file, store, tried):
    tried("tra-train", DATA.train[0])
    tried("tra-test", DATA.test[1])
    adapted = Lesson(id="les-1", kind="insight", text="x", sources=("tra-train", "tra-test"))
    store.add_lessons("old/s0f0/expel", [adapted], who="model")
    with pytest.raises(LeakError):
        check_given(plan(file({"data": {"from": ["les-1"]}})), store)


def test_every_block_is_looked_at(plan, file, store, tried):
    folds = {"train": 3, "folds": 2}
    second = plan(file({}), **folds).blocks[1].test[0]
    tried("tra-test", second)
    with pytest.raises(LeakError, match=r"seed 0, fold 1"):
        check_given(plan(file({"sources": ("tra-test",)}), **folds), store)


@pytest.mark.parametrize("data", [{"from": "tra"}, {"from": [1, None]}, {"from": {}}, {}])
def test_lessons_of_nobody_knows_where_are_not_checked(plan, file, store, data):
    assert check_given(plan(file({"data": data})), store) == 0
    assert check_given(plan("none.jsonl", conditions=["react"]), store) == 0


def test_what_could_not_be_checked_is_a_remark(plan, file, store, go):
    path = file({"sources": ("tra-gone",)}, {"sources": (DATA.trajectories[0].id,)}, {"text": "Rest."})
    wanted = plan(path).recipe
    directory = go(wanted, llm=ScriptedModel(lambda messages: "Thought: so.\nAction: Finish[x]", name="m"))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["remarks"][-1].startswith("1 lessons of the condition given come from attempts that this store")


def test_nothing_is_asked_where_a_lesson_leaks(plan, file, go, tried, tmp_path):
    tried("tra-test", DATA.test[0])
    model = ScriptedModel([], name="m")
    with pytest.raises(LeakError):
        go(plan(file({"sources": ("tra-test",)})).recipe, llm=model)
    assert (model.requests, list((tmp_path / "runs").glob("*"))) == ([], [])
