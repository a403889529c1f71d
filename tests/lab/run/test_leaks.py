"""Whole experiments are checked for leaks: what belongs to a test task reaches no prompt and no lesson."""

import dataclasses
import json
import re

import pytest
from run_files import lines

from seasoned.errors import LeakError
from seasoned.lab.run import evaluate as evaluate_module
from seasoned.lab.run import experiment
from seasoned.lab.run import plan as plan_module
from seasoned.llm.scripted import ScriptedModel
from seasoned.methods.expnote import ExpNote
from seasoned.types import Guidance, Lesson


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
        "expel-worked",
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
    for name in ("expel", "expel-reflexion", "expel-worked", "erl", "erl-matched"):
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


@dataclasses.dataclass
class Gossip:
    """Answers rightly once it was told anything, and puts every right answer it has seen into whatever it writes."""

    tasks: tuple = ()
    block: object = None
    asked: list = dataclasses.field(default_factory=list)

    def __call__(self, messages):
        whole = "\n".join(message["content"] for message in messages)
        self.asked.append((self.block, whole))
        first, said = messages[0]["content"], " ".join(sorted(set(GOLD.findall(whole))))
        if whole.endswith("Plan:"):
            return f"Next time I finish with what I found. {said}"
        if '"trigger", "action"' in first:
            return {"analysis": "I guessed.", "trigger": "two names are known", "action": f"read both: {said or 'so'}"}
        if '"context", "guideline"' in first:
            return {"context": "a page was read", "guideline": f"read the other one too: {said}"}
        if "Mark the lesson" in first:
            return "7"
        if '"situation"' in first:
            return {"situation": "so", "numbers": [1]}
        starts = [place for place, message in enumerate(messages) if message["content"].startswith("New task.")]
        if not starts:
            return f"ADD: Read both pages first. {said}"
        if len(messages) == starts[-1] + 1:
            return "Thought: look.\nAction: Search[The first name]"
        task = next(task for task in self.tasks if task.text in messages[starts[-1]]["content"])
        right = said or "what I found" in whole
        return f"Thought: so.\nAction: Finish[{task.data['answer'] if right else 'nobody knows'}]"


GOLD = re.compile(r"GOLD\d+X")
FOLDED = (
    "reflexion",
    "expel",
    "expel-retrieve",
    "expel-reasoning",
    "expel-reflexion",
    "few-shot-trajectories",
    "erl",
    "erl-all",
    "autoguide",
)


def test_no_prompt_of_a_fold_has_a_right_answer_of_its_test_tasks(recipe, go, store, monkeypatch):
    """Each fold's test tasks are the other one's training tasks, and all attempts at them lie in one store."""
    data = plan_module.load_benchmark("hotpotqa", {}, seed=0)
    tasks = tuple(
        task.model_copy(update={"data": {**task.data, "answer": f"GOLD{number}X"}})
        for number, task in enumerate((*data.train[:4], *data.test[:4]))
    )
    planted = dataclasses.replace(data, train=tasks[:4], test=tasks[4:])
    monkeypatch.setattr(plan_module, "load_benchmark", lambda name, options, seed: planted)
    gossip = Gossip(tasks)

    def noting(work):
        def noted(part, *rest):
            gossip.block = part.block
            return work(part, *rest)

        return noted

    monkeypatch.setattr(experiment, "gather", noting(experiment.gather))
    monkeypatch.setattr(evaluate_module, "_attempt", noting(evaluate_module._attempt))
    wanted = {"benchmark": {"name": "hotpotqa"}, "train": 4, "test": 4, "embedder": "hashing", "baseline": "react"}
    once = {"gather": {"retries": 1}, "method": {"trials": 1}}
    much = {"expel": {"k": 12}, "erl": {"k": 4, "first": False}}
    made = recipe(conditions=["react", *FOLDED], folds=2, workers=1, **wanted, **once, **much)
    directory = go(made, llm=ScriptedModel(gossip, name="gossip"))

    assert {block.name for block, _ in gossip.asked} == {"s0f0", "s0f1"}
    for block, whole in gossip.asked:
        assert not {task.data["answer"] for task in block.test} & set(GOLD.findall(whole)), (block.name, whole)

    # It could have gone wrong: the answers are in the store, on both sides, and those of training tasks are in prompts.
    kept = lines(directory, "trajectories.jsonl")
    for split in ("train", "test"):
        won = [t for t in kept if t["meta"]["split"] == split and t["outcome"]["success"]]
        assert {t["outcome"]["answer"] for t in won} == {task.data["answer"] for task in tasks}, split
    own = {task.id: task.data["answer"] for task in tasks}
    for name in FOLDED[1:]:
        tested = [t for t in kept if t["meta"]["split"] == "test" and t["meta"]["condition"] == name]
        assert all(set(GOLD.findall(json.dumps(t["messages"]))) - {own[t["task_id"]]} for t in tested), name
