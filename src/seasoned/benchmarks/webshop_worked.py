"""The words of the WebShop prompts: instruction, worked attempts, failed ones with a reflection.

`prompts/webshop.toml` holds goals, small shops, thoughts and actions; the observations are what the environment says to
them. Always holds: a worked attempt reads exactly as a real one.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.benchmarks.webshop_catalogue import read_products
from seasoned.benchmarks.webshop_goals import Goal, as_task
from seasoned.benchmarks.webshop_search import make_search
from seasoned.benchmarks.webshop_shop import Shop, ShopEnvironment
from seasoned.types import Outcome, Step, Trajectory

_FILE = Path(__file__).parent / "prompts" / "webshop.toml"
_WRITTEN = "2026-01-01T00:00:00.000+00:00"


class Worked(NamedTuple):
    """What the file holds, played."""

    instruction: str
    about: str
    trajectories: tuple[Trajectory, ...]
    reflections: tuple[tuple[Trajectory, str], ...]


@cache
def worked() -> Worked:
    """Reads the file and plays its attempts; those with a `reflection` are the failed ones.

    Raises:
        MissingExtraError: A library of the extra `webshop` is not installed.
    """
    raw = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    played = [(_played(attempt, place), attempt) for place, attempt in enumerate(raw["attempt"], 1)]
    return Worked(
        instruction=" ".join(raw["instruction"].split()),
        about=" ".join(raw["about"].split()),
        trajectories=tuple(trajectory for trajectory, attempt in played if "reflection" not in attempt),
        reflections=tuple((t, " ".join(a["reflection"].split())) for t, a in played if "reflection" in a),
    )


def _played(attempt: dict[str, Any], place: int) -> Trajectory:
    products, _ = read_products(attempt["product"], {})
    options = tuple((name, value) for name, value in attempt["options"])
    goal = Goal(attempt["asin"], attempt["instruction"], tuple(attempt["attributes"]), options, attempt["limit"])
    env = ShopEnvironment(Shop(products, make_search(products)), reveal=True)
    task, _ = env.reset(as_task(0, goal, ""))
    steps: list[Step] = []
    info: dict[str, Any] = {}
    for thought, action in attempt["steps"]:
        observation, reward, _, _, info = env.step(action)
        steps.append(Step(thought=thought, action=action, observation=observation, reward=reward))
    success, name = info["success"], f"webshop-worked-{place}"
    return Trajectory(
        id=f"tra-{name}",
        task_id=name,
        task=task,
        benchmark="webshop",
        agent="worked",
        steps=tuple(steps),
        outcome=Outcome(success=success, reward=info["reward"], reason="won" if success else "halted"),
        meta={"trial": 0},
        created=_WRITTEN,
    )
