"""The words of the Gaia2 prompts: instruction, worked attempts, failed ones with a reflection.

`prompts/gaia2.toml` holds them with their observations, as the engine is not always there to play them. They are of a
universe that is in no pool. Always holds: each step shows what ARE shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.act import Words
from seasoned.lab.benchmarks.base import PROMPTS, read_toml
from seasoned.replies.calls import read_call
from seasoned.types import Outcome, Step, Trajectory

_WRITTEN = "2026-01-01T00:00:00.000+00:00"


@cache
def read_words() -> Words:
    """The words of the prompts."""
    raw = read_toml(PROMPTS / "gaia2.toml")
    won = [_trajectory(one, f"{n}", one["steps"], True) for n, one in enumerate(raw["trajectory"], 1)]
    failed = [
        (_trajectory(one, f"reflection-{n}", one["steps"], False), one) for n, one in enumerate(raw["reflection"], 1)
    ]
    tried, again = next((trajectory, one) for trajectory, one in failed if "again" in one)
    retried = _trajectory(again, "again", again["again"], True)
    return Words(
        instruction=" ".join(raw["instruction"].split()),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(won),
        reflections=tuple((trajectory, " ".join(one["text"].split())) for trajectory, one in failed),
        heuristic=tuple(raw["heuristic"]),
        retried=retried.model_copy(update={"task_id": tried.task_id, "meta": {"trial": 1}}),
    )


def _trajectory(raw: Mapping[str, Any], name: str, steps: list[list[str]], won: bool) -> Trajectory:
    made = [
        Step(thought=thought, action=action, observation=seen, call=read_call(action))
        for thought, action, seen in steps
    ]
    made[-1] = made[-1].model_copy(update={"reward": float(won)})
    call = made[-1].call
    answer = str(call.arguments.get("content", "")) if call else ""
    return Trajectory(
        id=f"worked-gaia2-{name}",
        task_id=f"worked-gaia2-{name}",
        task=raw["task"].strip(),
        category=raw["category"],
        benchmark="gaia2",
        agent="author",
        steps=tuple(made),
        outcome=Outcome(success=won, reward=float(won), reason="answered", answer=answer),
        meta={"trial": 0},
        created=_WRITTEN,
    )
