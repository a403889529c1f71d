"""Folds of tasks.

Always holds: every task is in exactly one fold; folds are drawn by the seed alone and are as equal as can be, category
by category.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from seasoned.errors import ConfigError
from seasoned.types import Task


def stratified_folds(tasks: Sequence[Task], folds: int, seed: int) -> list[list[Task]]:
    """Deal the tasks into folds, category by category, in an order drawn by the seed.

    Args:
        tasks: with distinct ids.
        folds: how many, at least 2 and at most as many as there are tasks.
        seed: decides the order.

    Raises:
        ConfigError: if there are fewer folds than 2 or more than tasks.
    """
    if not 2 <= folds <= len(tasks):
        raise ConfigError(f"expected between 2 and {len(tasks)} folds, as many as there are tasks, but got {folds}")
    by_category: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        by_category[task.category].append(task)
    rng = random.Random(f"folds-{seed}")
    dealt: list[list[Task]] = [[] for _ in range(folds)]
    turn = 0
    for category in sorted(by_category):
        group = by_category[category]
        rng.shuffle(group)
        for task in group:
            dealt[turn % folds].append(task)
            turn += 1
    for fold in dealt:
        # Dealt category by category; without this the first cases of a fold would all be of one category.
        rng.shuffle(fold)
    return dealt
