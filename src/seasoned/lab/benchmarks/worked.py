"""The words of the prompts for an agent that acts: instruction, worked attempts, failed ones with a reflection.

A TOML file holds thoughts and actions; the observations are what the benchmark's own environment says to them. Always
holds: a worked attempt reads exactly as a real one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from seasoned.lab.benchmarks.base import PROMPTS, Benchmark, Retrieval
from seasoned.protocols import Environment
from seasoned.types import Outcome, Step, Task, Trajectory

WRITTEN = "2026-01-01T00:00:00.000+00:00"

Begin = Callable[[Mapping[str, Any]], tuple[Environment, Task]]
"""The environment and the task of an attempt in the file."""

Ended = Callable[[Mapping[str, Any]], Outcome]
"""The outcome that the last step's info tells of."""


class Worked(NamedTuple):
    """What the file holds, played."""

    instruction: str
    about: str
    trajectories: tuple[Trajectory, ...]
    reflections: tuple[tuple[Trajectory, str], ...]
    heuristic: tuple[str, str]
    retried: Trajectory | None = None


def play_worked(benchmark: str, begin: Begin, ended: Ended) -> Worked:
    """Reads `prompts/<benchmark>.toml` and plays its attempts; those with a `reflection` are the failed ones.

    Such a one may say under `again` how its task was won afterwards; the first that does is what `retried` holds.
    """
    raw = tomllib.loads((PROMPTS / f"{benchmark}.toml").read_text(encoding="utf-8"))
    played = [
        (_played(benchmark, f"{benchmark}-worked-{place}", attempt, begin, ended), attempt)
        for place, attempt in enumerate(raw["attempt"], 1)
    ]
    return Worked(
        instruction=" ".join(raw["instruction"].split()),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(trajectory for trajectory, attempt in played if "reflection" not in attempt),
        reflections=tuple((t, " ".join(a["reflection"].split())) for t, a in played if "reflection" in a),
        heuristic=tuple(raw["heuristic"]),
        retried=next((_again(t, a, benchmark, begin, ended) for t, a in played if "again" in a), None),
    )


def acting(
    name: str,
    words: Worked,
    *,
    pools: tuple[tuple[Task, ...], tuple[Task, ...]],
    max_turns: int,
    make_env: Callable[[bool], Environment],
    source: str,
    goal: Callable[[str], str] | None = None,
) -> Benchmark:
    """A benchmark whose agent acts in several steps, with these words and pools (training, test)."""
    train, test = pools
    return Benchmark(
        name=name,
        instruction=words.instruction,
        train=train,
        test=test,
        examples=(),
        retrieval=Retrieval(),
        max_turns=max_turns,
        think_hint="",
        note_hint="",
        make_env=make_env,
        source=source,
        manner="act",
        trajectories=words.trajectories,
        reflections=words.reflections,
        about=words.about,
        heuristic=words.heuristic,
        retried=words.retried,
        goal=goal,
    )


def _again(failed: Trajectory, attempt: Mapping[str, Any], benchmark: str, begin: Begin, ended: Ended) -> Trajectory:
    """The success at the task of a failed attempt."""
    won = _played(benchmark, f"{failed.task_id}-again", {**attempt, "steps": attempt["again"]}, begin, ended)
    return won.model_copy(update={"task_id": failed.task_id, "meta": {"trial": 1}})


def _played(benchmark: str, name: str, attempt: Mapping[str, Any], begin: Begin, ended: Ended) -> Trajectory:
    env, task = begin(attempt)
    text, info = env.reset(task)
    steps: list[Step] = []
    for thought, action in attempt["steps"]:
        observation, reward, _, _, info = env.step(action)
        steps.append(Step(thought=thought, action=action, observation=observation, reward=reward))
    return Trajectory(
        id=f"tra-{name}",
        task_id=name,
        task=text,
        category=attempt.get("category", ""),
        benchmark=benchmark,
        agent="worked",
        steps=tuple(steps),
        outcome=ended(info),
        meta={"trial": 0},
        created=WRITTEN,
    )
