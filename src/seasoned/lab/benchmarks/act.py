"""Benchmarks whose agent acts in several steps: the texts of their prompts, with worked attempts.

`prompts/<name>.toml` has thoughts and actions. The observations come from the benchmark's environment; if its engine
may be missing, the file has them, too. Always holds: a worked attempt reads exactly like a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from seasoned.lab.benchmarks.action import Calls
from seasoned.lab.benchmarks.base import PROMPTS, Benchmark, read_toml
from seasoned.protocols import Environment
from seasoned.replies.calls import read_call
from seasoned.types import Outcome, Step, Task, Trajectory

WRITTEN = "2026-01-01T00:00:00.000+00:00"

Begin = Callable[[Mapping[str, Any]], tuple[Environment, Task]]
"""The environment and the task of an attempt in the file."""

Ended = Callable[[Mapping[str, Any]], Outcome]
"""The outcome from the info of the last step."""


class Words(NamedTuple):
    """The content of the file: its texts, the successful attempts, and the failed ones with their reflections."""

    instruction: str
    about: str
    trajectories: tuple[Trajectory, ...]
    reflections: tuple[tuple[Trajectory, str], ...]
    heuristic: tuple[str, str] | None
    retried: Trajectory | None = None


def play_words(benchmark: str, begin: Begin, ended: Ended) -> Words:
    """Read `prompts/<benchmark>.toml` and play its attempts; those with a `reflection` are the failed ones.

    A failed attempt may have a successful retry under `again`; `retried` is the first such retry.
    """
    raw = read_toml(PROMPTS / f"{benchmark}.toml")
    won: list[Trajectory] = []
    failed: list[tuple[Trajectory, str]] = []
    retried: Trajectory | None = None
    for place, attempt in enumerate(raw["attempt"], 1):
        played = _play(benchmark, f"{benchmark}-worked-{place}", attempt, attempt["steps"], begin, ended)
        if "reflection" not in attempt:
            won.append(played)
            continue
        failed.append((played, _line(attempt["reflection"])))
        if "again" in attempt and retried is None:
            again = _play(benchmark, f"{played.task_id}-again", attempt, attempt["again"], begin, ended)
            retried = _retry(again, played)
    return Words(*_texts(raw), tuple(won), tuple(failed), tuple(raw["heuristic"]), retried)


@cache
def recorded_words(benchmark: str, *, reason: str = "won", kinds: bool = True) -> Words:
    """Read `prompts/<benchmark>.toml`, whose attempts contain their observations, since the engine may be missing.

    `reason` is the reason of attempts that name none; `kinds`: the ids of worked attempts name their category.
    """
    raw = read_toml(PROMPTS / f"{benchmark}.toml")
    attempt = partial(_recorded, benchmark, reason)
    won = [
        attempt(one, f"{n}-{one['category']}" if kinds else str(n), one["steps"], True)
        for n, one in enumerate(raw["trajectory"], 1)
    ]
    failed = [
        (attempt(one, f"reflection-{n}", one["steps"], False), _line(one["text"]))
        for n, one in enumerate(raw["reflection"], 1)
    ]
    place, again = next((n, one) for n, one in enumerate(raw["reflection"]) if "again" in one)
    first = failed[place][0]
    retried = attempt(again, f"{first.category}-again" if kinds else "again", again["again"], True)
    return Words(*_texts(raw), tuple(won), tuple(failed), tuple(raw["heuristic"]), _retry(retried, first))


def _texts(raw: Mapping[str, Any]) -> tuple[str, str]:
    return _line(raw["instruction"]), _line(raw["about"])


def _line(text: str) -> str:
    return " ".join(text.split())


def _retry(again: Trajectory, first: Trajectory) -> Trajectory:
    return again.model_copy(update={"task_id": first.task_id, "meta": {"trial": 1}})


def _recorded(
    benchmark: str, reason: str, raw: Mapping[str, Any], name: str, rows: list[list[str]], won: bool
) -> Trajectory:
    steps = [
        Step(thought=thought, action=action, observation=seen, call=read_call(action)) for thought, action, seen in rows
    ]
    steps[-1] = steps[-1].model_copy(update={"reward": float(won)})
    answer = steps[-1].call.arguments.get("content", "") if steps[-1].call else ""
    ended = reason if won else raw.get("reason", reason)
    return Trajectory(
        id=f"worked-{benchmark}-{name}",
        task_id=f"worked-{benchmark}-{name}",
        task=raw["task"].strip(),
        category=raw["category"],
        benchmark=benchmark,
        agent="author",
        steps=tuple(steps),
        outcome=Outcome(success=won, reward=float(won), reason=ended, answer=str(answer)),
        meta={"trial": 0},
        created=WRITTEN,
    )


def act_benchmark(
    name: str, words: Words, pools: tuple[tuple[Task, ...], tuple[Task, ...]], calls: Calls | None = None, **fields: Any
) -> Benchmark:
    """A benchmark whose agent acts in several steps, with these texts, pools (training, test) and further fields.

    With `calls`, the actions of the worked attempts are calls, too.
    """
    if calls is not None:
        words = words._replace(trajectories=tuple(map(calls.called, words.trajectories)))
    return Benchmark(name=name, train=pools[0], test=pools[1], manner="act", **words._asdict(), **fields)


def _play(
    benchmark: str, name: str, attempt: Mapping[str, Any], actions: list[list[str]], begin: Begin, ended: Ended
) -> Trajectory:
    env, task = begin(attempt)
    text, info = env.reset(task)
    steps: list[Step] = []
    for thought, action in actions:
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
