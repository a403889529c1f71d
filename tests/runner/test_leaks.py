"""Whole experiments are checked for leaks: what belongs to a test task reaches no prompt and no lesson."""

import dataclasses
import json

import pytest

from seasoned.errors import LeakError
from seasoned.llm.scripted import ScriptedModel
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


LEARNED = {"context": "a page was read", "guideline": "read the other one too, instead of answering"}


def test_nothing_of_a_test_task_reaches_another_where_agents_act(recipe, go, monkeypatch):
    real = plan_module.load_benchmark
    data = real("hotpotqa", {}, seed=0)
    tests = [t.model_copy(update={"data": {**t.data, "answer": f"GOLD-{n}"}}) for n, t in enumerate(data.test)][:3]
    planted = dataclasses.replace(data, test=tuple(tests))
    monkeypatch.setattr(plan_module, "load_benchmark", lambda name, options, seed: planted)

    def play(messages):
        """Solves a training task once it has reflected; is no use at a test task."""
        whole = "\n".join(message["content"] for message in messages)
        if whole.endswith("Plan:"):
            return "Next time I finish with what I found."
        if '"trigger", "action"' in whole:
            return json.dumps({"analysis": "I guessed.", "trigger": "two names are known", "action": "read both first"})
        if '"context", "guideline"' in whole:
            return json.dumps(LEARNED)
        if "New task." not in whole:
            return "ADD: Read both pages first." if '"situation"' not in whole else '{"situation": "x", "numbers": [1]}'
        own = next((t for t in data.train if t.text in messages[-1]["content"]), None)
        right = own is not None and "what I found" in whole
        return f"Thought: so.\nAction: Finish[{own.data['answer'] if right else 'nobody knows'}]"

    model = ScriptedModel(play, name="player")
    names = [
        "react",
        "reflexion",
        "expel",
        "expel-reflexion",
        "few-shot-trajectories",
        "erl",
        "erl-matched",
        "autoguide",
    ]
    wanted = {"benchmark": {"name": "hotpotqa"}, "train": 4, "test": 3, "embedder": "hashing", "workers": 1}
    directory = go(
        recipe(conditions=names, baseline="react", gather={"retries": 1}, method={"trials": 1}, **wanted), llm=model
    )
    used = lines(directory, "trajectories.jsonl")
    for name in ("expel", "expel-reflexion", "erl", "erl-matched"):
        assert all(t["lesson_ids"] for t in used if t["meta"]["condition"] == name), name
    assert any(t["demonstration_ids"] for t in used if t["meta"]["condition"] == "few-shot-trajectories")
    for request in model.requests:
        said = json.dumps(request["messages"], ensure_ascii=False)
        assert "GOLD-" not in said
        assert sum(task.text in said for task in tests) <= 1
        assert not any(task.text in said for task in tests) or "New task." in said or said.endswith('Plan:"}]')


def test_evaluating_writes_no_lesson(recipe, go, store):
    directory = go(recipe())
    assert not store.lessons(f"{directory.name}/s0f0/disabled")
    tests = {t.id for key, t in store.episodes(directory.name).items() if "/training/" not in key}
    assert not any(tests & set(lesson.sources) for lesson in store.lessons())
