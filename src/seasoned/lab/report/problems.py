"""What learning could not use, in the summary of a run: counted for each condition, listed for each pool.

Always holds: a condition that learned nothing is named in the remarks, with the reason where one is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seasoned.text import label


@dataclass(frozen=True)
class LearnedPool:
    """A pool after its learning: who shares it, its seed and fold, how many lessons it has, what was passed over."""

    conditions: tuple[str, ...]
    seed: int
    fold: int
    lessons: int
    problems: tuple[str, ...] = ()


def with_problems(summary: Mapping[str, Any], pools: Sequence[LearnedPool]) -> dict[str, Any]:
    """The summary with the problems of learning.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
        pools: All pools that were learned from all training attempts of their seed and fold.

    Returns:
        It with `problems` (list of {conditions, seed, fold, problems} of the pools that have any), with the number of
        problems in each condition's `learning`, and with a remark on each pool that holds no lesson.
    """
    counts = {
        block["name"]: sum(len(pool.problems) for pool in pools if block["name"] in pool.conditions)
        for block in summary["conditions"]
    }
    blocks = [
        {**block, "learning": block["learning"] and {**block["learning"], "problems": counts[block["name"]]}}
        for block in summary["conditions"]
    ]
    listed = [
        {"conditions": list(pool.conditions), "seed": pool.seed, "fold": pool.fold, "problems": list(pool.problems)}
        for pool in pools
        if pool.problems
    ]
    remarks = [_empty(pool, pools) for pool in pools if not pool.lessons]
    return {**summary, "conditions": blocks, "remarks": [*summary["remarks"], *remarks], "problems": listed}


def _empty(pool: LearnedPool, pools: Sequence[LearnedPool]) -> str:
    where = place(pool.seed, pool.fold, [(each.seed, each.fold) for each in pools])
    reason = pool.problems[0] if pool.problems else "nothing that could be used came back"
    return (
        f"{', '.join(map(label, pool.conditions))} learned no lesson{where and f' in {where}'}: {reason.rstrip('.')}."
    )


def place(seed: int, fold: int, among: Sequence[tuple[int, int]]) -> str:
    """Which seed and fold this is, as far as there are others: "seed 1, fold 0", "fold 0", or ""."""
    seeds, folds = ({one[i] for one in among} for i in (0, 1))
    return ", ".join([*([f"seed {seed}"] if len(seeds) > 1 else []), *([f"fold {fold}"] if len(folds) > 1 else [])])
