"""An engine in small that stands in for τ²-bench's, and the real one where it is installed."""

import sys

import pytest

from seasoned.lab.benchmarks import tau2

ENGINE = """
import os, sys

PACKAGES = ("pytest",)
TOOLS = [
    {"name": "look", "description": "Looks at the lamp.", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "set_lamp",
        "description": "Turns the lamp on or off.",
        "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
    },
    {"name": "transfer_to_human_agents", "description": "Hands over.", "parameters": {"type": "object"}},
]
DONE = {"name": "done", "description": "Ends the work.", "parameters": {"type": "object", "properties": {}}}
KINDS = ("lamp_issue", "bulb_issue")


class World:
    def __init__(self):
        self.lamp, self.said = False, []

    def describe(self, domain, solo):
        theirs = [{"name": "press", "description": "Presses the switch.", "parameters": {"type": "object"}}]
        return {
            "policy": "Be kind.",
            "tools": [*TOOLS, *([DONE] if solo else [])],
            "user_tools": [] if solo else theirs,
            "guidelines": "You are a customer.",
            "tasks": [self.task(n, "train" if n < 6 else "test") for n in range(10)],
        }

    def task(self, number, split):
        kind = KINDS[number % 2]
        return {
            "id": f"[{kind}]fault_{number}", "ticket": "The lamp is dark.", "user": "You sit in the dark.",
            "reason": f"It is dark, says {number}.", "judged": number == 3, "user_tools": None,
            "calls": 1 + number % 2, "split": split,
        }

    def plan(self, domain, solo, task):
        return {"calls": [{"name": "set_lamp", "arguments": {"on": True}, "by": "assistant"}], "says": ["bright"]}

    def begin(self, domain, solo, task):
        if not task.startswith("["):
            raise KeyError(task)
        self.lamp, self.said = False, []
        return {}

    def call(self, name, arguments, by="assistant"):
        self.said.append((by, name))
        if name == "die":
            print("I leave", file=sys.stderr, flush=True)
            os._exit(3)
        if name == "set_lamp" and by == "assistant":
            self.lamp = arguments["on"]
            return {"content": f"on: {self.lamp}", "failed": False}
        if name in ("look", "press", "transfer_to_human_agents"):
            return {"content": f"on: {self.lamp}", "failed": False}
        return {"content": f"Error: no {name}", "failed": True}

    def say(self, text, by="assistant"):
        self.said.append((by, text))
        return {}

    def score(self):
        return {"parts": {"DB": float(self.lamp)}, "assertions": ["The agent was kind."] if len(self.said) > 6 else []}


def begin():
    world = World()
    return {
        name: getattr(world, name) for name in ("describe", "plan", "begin", "call", "say", "score")
    }
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """τ²-bench on the engine in small; gives the options to load it."""
    path = tmp_path / "small.py"
    path.write_text(ENGINE, encoding="utf-8")
    monkeypatch.setattr(tau2, "ENGINE", path)
    tau2.read_domain.cache_clear()
    yield {"python": sys.executable, "timeout": 20.0}
    tau2.read_domain.cache_clear()
