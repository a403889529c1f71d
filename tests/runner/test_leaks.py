"""Whole experiments are checked for leaks: what belongs to a test task reaches no prompt and no lesson."""

import dataclasses
import json

import pytest

from seasoned.errors import LeakError
from seasoned.methods.expnote import ExpNote
from seasoned.runner import plan as plan_module
from seasoned.types import Guidance, Lesson


def lines(directory, name):
    return [json.loads(line) for line in (directory / name).read_text(encoding="utf-8").split("\n") if line]


def test_a_lesson_from_a_test_task_stops_the_run(recipe, go, store, monkeypatch, tmp_path):
    class Leaking(ExpNote):
        def recall(self, task, pool, progress=None):
            return Guidance(lessons=(Lesson(kind="note", text="told", sources=("tra-of-a-test",)),), text="told")

    learned = plan_module.conditions(["expnote"])[0]
    leaking = dataclasses.replace(learned, method=lambda recipe, benchmark, llm: Leaking())
    monkeypatch.setattr(plan_module, "conditions", lambda names, manner=None: [leaking])
    with pytest.raises(LeakError, match="tra-of-a-test"):
        go(recipe())
    (directory,) = (tmp_path / "runs").iterdir()
    assert store.get_run(directory.name).status == "failed"
    assert not any("/expnote/" in key for key in store.episodes(directory.name))


def test_right_answers_of_test_tasks_are_in_no_prompt(recipe, go, model, monkeypatch):
    real = plan_module.load_benchmark

    def planted(name, options, seed):
        benchmark = real(name, options, seed=seed)
        tests = [t.model_copy(update={"data": {**t.data, "answer": f"GOLD-{n}"}}) for n, t in enumerate(benchmark.test)]
        return dataclasses.replace(benchmark, test=tuple(tests))

    monkeypatch.setattr(plan_module, "load_benchmark", planted)
    wanted = recipe(conditions=["disabled", "few-shot", "expnote", "case", "nearest"], embedder="hashing", curve=[3])
    directory = go(wanted)
    assert {row["gold"] for row in lines(directory, "results.jsonl") if row["split"] == "test"} == {
        f"GOLD-{n}" for n in range(5)
    }
    assert model.requests
    assert "GOLD-" not in json.dumps(model.requests)


def test_evaluating_writes_no_lesson(recipe, go, store):
    directory = go(recipe())
    assert not store.lessons(f"{directory.name}/s0f0/disabled")
    tests = {t.id for key, t in store.episodes(directory.name).items() if "/training/" not in key}
    assert not any(tests & set(lesson.sources) for lesson in store.lessons())
