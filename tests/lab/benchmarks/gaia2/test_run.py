"""Gaia2 in a run: a scripted model calls tools on the real engine, a lesson carries over, and a worker is killed."""

import json
import os
import signal
import threading

import pytest

from seasoned.lab.benchmarks.gaia2 import scenarios
from seasoned.lab.benchmarks.worker import Worker
from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.scripted import ScriptedModel
from seasoned.replies.calls import read_call
from seasoned.store.sql import Store
from seasoned.types import ToolCall

pytestmark = pytest.mark.engine
LESSON = {"analysis": "I looked it up.", "trigger": "the user wants something", "action": "look it up before you act"}
SOLUTIONS = {one.draft.task: one for one in scenarios().values()}


def knowing(messages):
    """Makes the oracle's calls in training and where it is told the lesson; else it gives up at once."""
    said = [str(message.get("content") or "") for message in messages]
    if '"trigger"' in said[0]:
        return json.dumps(LESSON)
    begun = max(place for place, words in enumerate(said) if "New task." in words)
    scenario = next(one for task, one in SOLUTIONS.items() if task in said[begun])
    if scenario.universe == 9 and LESSON["action"] not in said[0]:
        return ToolCall(name="AgentUserInterface__send_message_to_user", arguments={"content": "I cannot."})
    return read_call(scenario.solution[sum(message["role"] == "assistant" for message in messages[begun:])])


def test_a_lesson_of_one_universe_helps_in_another_although_workers_are_killed(are_python, tmp_path, monkeypatch):
    recipe = make_recipe(
        {
            "name": "small",
            "benchmark": {"name": "gaia2", "python": are_python, "test_universes": [9]},
            "baseline": "tools",
            "conditions": ["tools", "erl"],
            "train": 2,
            "test": 2,
            "workers": 2,
            "embedder": "hashing",
            "agent": {"policy": "tools", "guidance": "system"},
            "gather": {"retries": 0},
            "erl": {"retrieve": "embedding", "k": 2},
        }
    )
    real, lock, steps, killed = Worker.ask, threading.Lock(), [0], []

    def ask(self, do, **values):
        with lock:
            steps[0] += do == "step"
            if steps[0] in (3, 8) and do == "step" and steps[0] not in killed:
                killed.append(steps[0])
                os.kill(self.pid, signal.SIGKILL)
        return real(self, do, **values)

    monkeypatch.setattr(Worker, "ask", ask)
    with Store(tmp_path / "seasoned.db") as store:
        model = ScriptedModel(knowing, name="knowing")
        directory = run(recipe, store=store, runs_dir=tmp_path / "runs", quiet=True, llm=model)
    assert killed == [3, 8]
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    solved = {one["name"]: (one["successes"], one["n"], one["errors"]) for one in summary["conditions"]}
    assert solved == {"tools": (0, 2, 0), "erl": (2, 2, 0)}
