"""The words of the ALFWorld prompts: instruction, worked attempts, failed ones with a reflection.

`prompts/alfworld.toml` holds them with their observations, as the engine is not always there to play them. Always
holds: each step can be done after those before it, and shows what the engine would show.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.act import Words
from seasoned.lab.benchmarks.alfworld.choices import noted
from seasoned.lab.benchmarks.base import PROMPTS, read_toml
from seasoned.types import Outcome, Step, Trajectory

_WRITTEN = "2025-01-01T00:00:00.000+00:00"


@cache
def read_words(notebook: bool, focus: bool = False) -> Words:
    """The words of the prompts; with `notebook`, the worked attempts show what an agent with a notebook sees."""
    raw = read_toml(PROMPTS / "alfworld.toml")
    won = [_trajectory(one, f"{n}-{one['category']}") for n, one in enumerate(raw["trajectory"], 1)]
    failed = [(_trajectory(one, f"reflection-{n}"), one) for n, one in enumerate(raw["reflection"], 1)]
    tried, again = next((trajectory, one) for trajectory, one in failed if "again" in one)
    retried = _trajectory({**again, "steps": again["again"], "won": True, "reason": "won"}, f"{tried.category}-again")
    return Words(
        instruction=raw["instruction"].strip(),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(noted(one, focus) if notebook else one for one in won),
        reflections=tuple((trajectory, " ".join(one["text"].split())) for trajectory, one in failed),
        heuristic=tuple(raw["heuristic"]),
        retried=retried.model_copy(update={"task_id": tried.task_id, "meta": {"trial": 1}}),
    )


def _trajectory(raw: Mapping[str, Any], name: str) -> Trajectory:
    won = bool(raw.get("won", True))
    steps = [Step(thought=thought, action=action, observation=seen) for thought, action, seen in raw["steps"]]
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
