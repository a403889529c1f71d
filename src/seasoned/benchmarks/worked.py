"""The words of the HotpotQA and FEVER prompts: instruction, worked attempts, failed ones with a reflection.

The files hold thoughts and actions alone; the observations are what the environment says to them, over a few made-up
pages (`prompts/search_pages.jsonl`). Always holds: a worked attempt reads exactly as a real one, and its pages and
answers are in no benchmark.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.benchmarks.docstore import Docstore, make_page
from seasoned.benchmarks.rows import read_jsonl
from seasoned.benchmarks.search_env import Judge, SearchEnvironment
from seasoned.types import Outcome, Step, Task, Trajectory

PROMPTS = Path(__file__).parent / "prompts"
PAGES = PROMPTS / "search_pages.jsonl"
_WRITTEN = "2026-01-01T00:00:00.000+00:00"


class Worked(NamedTuple):
    """What a benchmark's TOML file holds, played."""

    instruction: str
    about: str
    trajectories: tuple[Trajectory, ...]
    reflections: tuple[tuple[Trajectory, str], ...]


@cache
def worked(benchmark: str, judge: Judge) -> Worked:
    """Reads `prompts/<benchmark>.toml` and plays its attempts; those with a `reflection` are the failed ones."""
    raw = tomllib.loads((PROMPTS / f"{benchmark}.toml").read_text(encoding="utf-8"))
    docstore = Docstore(make_page(row.values["title"], row.values["text"]) for row in read_jsonl(PAGES, ("title",)))
    env = SearchEnvironment(docstore.search, judge, reveal=True)
    played = [(_played(env, benchmark, place, attempt), attempt) for place, attempt in enumerate(raw["attempt"], 1)]
    return Worked(
        instruction=" ".join(raw["instruction"].split()),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(trajectory for trajectory, attempt in played if "reflection" not in attempt),
        reflections=tuple((t, " ".join(a["reflection"].split())) for t, a in played if "reflection" in a),
    )


def _played(env: SearchEnvironment, benchmark: str, place: int, attempt: dict[str, Any]) -> Trajectory:
    name = f"{benchmark}-worked-{place}"
    env.reset(Task(id=name, text=attempt["task"], data={"answer": attempt["answer"]}))
    steps: list[Step] = []
    info: dict[str, Any] = {}
    for thought, action in attempt["steps"]:
        observation, reward, _, _, info = env.step(action)
        steps.append(Step(thought=thought, action=action, observation=observation, reward=reward))
    success, answer = info["success"], info["answer"]
    return Trajectory(
        id=f"tra-{name}",
        task_id=name,
        task=attempt["task"],
        category=attempt.get("category", ""),
        benchmark=benchmark,
        agent="worked",
        steps=tuple(steps),
        outcome=Outcome(success=success, reward=info["reward"], reason="answered", answer=answer),
        meta={"trial": 0},
        created=_WRITTEN,
    )
