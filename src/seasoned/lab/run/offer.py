"""The tools offered to an agent: all tools of its environment, or those that its task seems to need.

Relevant are the tools that successful training attempts, or worked attempts, called at tasks of the same family, and
the tools whose descriptions are most similar to the task. Always holds: the choice depends only on the task, its
family's recorded attempts and the embedder; the environment itself is unchanged and executes any call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seasoned.protocols import Embedder, Environment
from seasoned.types import Task, Trajectory

Tool = Mapping[str, Any]
Choose = Callable[[Task, Sequence[Tool]], list[Tool]]


@dataclass
class Offering:
    """An environment that offers only some of its tools."""

    env: Environment
    choose: Choose
    _task: Task | None = field(default=None, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Reset the environment, and offer the chosen tools."""
        self._task = task
        observation, info = self.env.reset(task, seed=seed)
        return observation, self._offered(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Step the environment, and offer the chosen tools."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, self._offered(info)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _offered(self, info: dict[str, Any]) -> dict[str, Any]:
        if not info.get("tools") or self._task is None:
            return info
        return {**info, "tools": self.choose(self._task, info["tools"])}


def needed(attempts: Iterable[Trajectory]) -> dict[str, frozenset[str]]:
    """The tools that successful attempts called, by the family of their task."""
    names_of: dict[str, set[str]] = {}
    for attempt in attempts:
        if attempt.outcome.success:
            calls = {step.call.name for step in attempt.steps if step.call is not None}
            names_of.setdefault(attempt.category, set()).update(calls)
    return {family: frozenset(names) for family, names in names_of.items()}


def relevant(family: Collection[str], embedder: Embedder, k: int) -> Choose:
    """Choose the tools of a family, and the `k` others whose descriptions are most similar to the task's text."""

    def choose(task: Task, tools: Sequence[Tool]) -> list[Tool]:
        others = [tool for tool in tools if tool["name"] not in family]
        nearest = _nearest(task.text, others, embedder)[:k]
        names = {*family, *(tool["name"] for tool in nearest)}
        return [tool for tool in tools if tool["name"] in names]  # in the order of the environment

    return choose


def _nearest(text: str, tools: Sequence[Tool], embedder: Embedder) -> list[Tool]:
    if not tools:
        return []
    descriptions = [f"{str(tool['name']).replace('_', ' ')}: {tool.get('description', '')}" for tool in tools]
    rows = embedder.embed([text, *descriptions])
    order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")
    return [tools[int(place)] for place in order]
