"""The words of the ALFWorld prompts: instruction, worked attempts, failed ones with a reflection.

`prompts/alfworld.toml` holds them with their observations, as the engine is not always there to play them. Always
holds: each step can be done after those before it, and shows what the engine would show.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.alfworld.notebook import noted
from seasoned.lab.benchmarks.base import PROMPTS
from seasoned.lab.benchmarks.worked import Worked
from seasoned.types import Outcome, Step, Trajectory

_WRITTEN = "2025-01-01T00:00:00.000+00:00"


@cache
def worked(notebook: bool, focus: bool = False) -> Worked:
    """The words of the prompts; with `notebook`, the worked attempts show what an agent with a notebook sees."""
    raw = tomllib.loads((PROMPTS / "alfworld.toml").read_text(encoding="utf-8"))
    won = tuple(_trajectory(one, f"{n}-{one['category']}") for n, one in enumerate(raw["trajectory"], 1))
    failed = [(_trajectory(one, f"reflection-{n}"), one) for n, one in enumerate(raw["reflection"], 1)]
    return Worked(
        instruction=raw["instruction"].strip(),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(noted(one, focus) for one in won) if notebook else won,
        reflections=tuple((trajectory, " ".join(one["text"].split())) for trajectory, one in failed),
        heuristic=tuple(raw["heuristic"]),
        retried=next((_again(trajectory, one) for trajectory, one in failed if "again" in one), None),
    )


def _again(failed: Trajectory, raw: Mapping[str, Any]) -> Trajectory:
    """The success at the task of a failed attempt."""
    won = _trajectory({**raw, "steps": raw["again"], "won": True, "reason": "won"}, f"{failed.category}-again")
    return won.model_copy(update={"task_id": failed.task_id, "meta": {"trial": 1}})


def _trajectory(raw: Mapping[str, Any], name: str) -> Trajectory:
    won = bool(raw.get("won", True))
    steps = [Step(thought=thought, action=action, observation=said) for thought, action, said in raw["steps"]]
    steps[-1] = steps[-1].model_copy(update={"reward": float(won)})
    return Trajectory(
        id=f"worked-alfworld-{name}",
        task_id=f"worked-alfworld-{name}",
        task=raw["task"].strip(),
        category=raw["category"],
        benchmark="alfworld",
        agent="author",
        steps=tuple(steps),
        outcome=Outcome(success=won, reward=float(won), reason=raw.get("reason", "won")),
        meta={"trial": 0},
        created=_WRITTEN,
    )
