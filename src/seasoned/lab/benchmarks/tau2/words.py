"""The words of the τ²-bench prompts: instruction, worked attempts, failed ones with a reflection.

`prompts/tau2.toml` holds them with their observations, as the engine is not always there to play them. Always holds:
worked attempts are at faults that no task of the splits has; an action that is a call is one in its step, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from seasoned.lab.benchmarks.act import WRITTEN, Words
from seasoned.lab.benchmarks.base import PROMPTS, read_toml
from seasoned.replies.calls import read_call
from seasoned.types import Outcome, Step, Trajectory


@cache
def read_words(solo: bool, policy: str) -> Words:
    """The words for work with or without a customer; `policy` stands at the end of the instruction."""
    raw = read_toml(PROMPTS / "tau2.toml")
    instruction = " ".join(raw["alone" if solo else "instruction"].split())
    whole = f"{instruction}\n\nThe policy:\n\n{policy.strip()}" if policy else instruction
    about = " ".join(raw["about_alone" if solo else "about"].split())
    if not solo:
        return Words(whole, about, (), (), ("", ""))
    failed = [(_trajectory(one, f"reflection-{n}"), one) for n, one in enumerate(raw["reflection"], 1)]
    tried, again = next((trajectory, one) for trajectory, one in failed if "again" in one)
    won = {**again, "steps": again["again"], "won": True, "reason": "won"}
    retried = _trajectory(won, f"{tried.category}-again")
    return Words(
        instruction=whole,
        about=about,
        trajectories=tuple(_trajectory(one, f"{n}-{one['category']}") for n, one in enumerate(raw["trajectory"], 1)),
        reflections=tuple((trajectory, " ".join(one["text"].split())) for trajectory, one in failed),
        heuristic=tuple(raw["heuristic"]),
        retried=retried.model_copy(update={"task_id": tried.task_id, "meta": {"trial": 1}}),
    )


def brief() -> str:
    """What the policy of telecom comes to, in few words."""
    return str(read_toml(PROMPTS / "tau2.toml")["brief"])


def _trajectory(raw: Mapping[str, Any], name: str) -> Trajectory:
    won = bool(raw.get("won", True))
    steps = [
        Step(thought=thought, action=action, observation=seen, call=read_call(action))
        for thought, action, seen in raw["steps"]
    ]
    steps[-1] = steps[-1].model_copy(update={"reward": float(won)})
    return Trajectory(
        id=f"worked-tau2-{name}",
        task_id=f"worked-tau2-{name}",
        task=raw["task"].strip(),
        category=raw["category"],
        benchmark="tau2",
        agent="author",
        steps=tuple(steps),
        outcome=Outcome(success=won, reward=float(won), reason=raw.get("reason", "won")),
        meta={"trial": 0},
        created=WRITTEN,
    )
