"""Folds and splits of tasks, and the check that an evaluation never sees its own tasks.

Always holds: every task is in exactly one fold; folds are drawn by the seed alone and are as equal as can be, category
by category.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from seasoned.errors import ConfigError, LeakError
from seasoned.types import Guidance, Task, Trajectory


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


def check_no_leak(
    guidance: Guidance,
    training: Iterable[Trajectory],
    test_ids: frozenset[str],
    besides: frozenset[str] = frozenset(),
) -> None:
    """Assert that what was recalled comes from training tasks alone.

    Args:
        guidance: what was recalled.
        training: the attempts that may be learned from.
        test_ids: the tasks that are to be evaluated.
        besides: the ids of further attempts that are of no test task: the benchmark's worked examples, and training
            attempts that were made again since, which a lesson that a person kept may name.

    Raises:
        LeakError: if a lesson has a source outside the training trajectories, or anything comes from a test task.
    """
    task_of = {trajectory.id: trajectory.task_id for trajectory in training}
    for lesson in guidance.lessons:
        for source in set(lesson.sources) - besides:
            if source not in task_of:
                raise LeakError(f"lesson {lesson.id} comes from {source}, which is no training attempt of this fold")
            if task_of[source] in test_ids:
                raise LeakError(f"lesson {lesson.id} comes from the task {task_of[source]}, which is to be evaluated")
    for demonstration in guidance.demonstrations:
        if demonstration.task_id in test_ids or demonstration.id not in (task_of.keys() | besides):
            raise LeakError(f"demonstration {demonstration.id} is no training attempt of this fold")
