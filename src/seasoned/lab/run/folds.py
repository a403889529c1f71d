"""Folds of tasks.

Always holds: every task is in exactly one fold; the seed alone draws the folds; each category is spread over them as
equally as possible.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from seasoned.errors import ConfigError
from seasoned.files import read_text
from seasoned.lab.report.rows import Row
from seasoned.types import Task


def stratified_folds(
    tasks: Sequence[Task], folds: int, seed: int, ended: Mapping[str, str] | None = None
) -> list[list[Task]]:
    """Deal the tasks into folds, category by category, in an order drawn by the seed.

    Args:
        tasks: tasks with distinct ids.
        folds: the number of folds, from 2 to the number of tasks.
        seed: decides the order.
        ended: how gathering ended, by task id; folds are then balanced by category and outcome. See `outcomes_of`.

    Raises:
        ConfigError: there are fewer than 2 folds or more folds than tasks, or a task has no outcome in `ended`.
    """
    if not 2 <= folds <= len(tasks):
        raise ConfigError(f"expected between 2 and {len(tasks)} folds, as many as there are tasks, but got {folds}")
    if ended and (unknown := [task.id for task in tasks if task.id not in ended]):
        raise ConfigError(
            f"fold_outcomes: that run gathered nothing at {len(unknown)} of the {len(tasks)} tasks, such as "
            f"{unknown[0]}: gather all of them with the same benchmark, seeds and folds first"
        )
    by_category: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        by_category[task.category, (ended or {}).get(task.id, "")].append(task)
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
        # The first cases of a fold would otherwise all be of one category.
        rng.shuffle(fold)
    return dealt


def outcomes_of(run: str) -> dict[str, str]:
    """How gathering ended at each task of a complete run: solved, solved after failing, or never.

    ExpeL's code folds by these outcomes. They tell which tasks are easy before the folds are drawn, so each fold gets
    equally many of them. No lesson crosses folds, but the folds are more alike than random ones, and the error over
    folds is too small. Only attempts without lessons may give the outcomes.

    Args:
        run: the run's folder, with its results.jsonl.

    Raises:
        ConfigError: there are no such results, or folding by them would leak, as they come from attempts with lessons
            or only from test attempts.
    """
    file = Path(run) / "results.jsonl"
    if not file.is_file():
        raise ConfigError(f"fold_outcomes names {run}, which has no results.jsonl: name the folder of a complete run")
    try:
        rows = [Row.model_validate_json(line) for line in read_text(file).split("\n") if line.strip()]
    except ValueError as error:
        raise ConfigError(f"{file} holds a line that is not a row of results: was the file changed?") from error
    training = [row for row in rows if row.split == "train"]
    if not training:
        raise ConfigError(
            f"folding by the outcomes of {run} would leak: it has test attempts alone, and how a condition ended at "
            "a test task may not decide which tasks it learns from; name a run that gathered attempts at all tasks"
        )
    guided = sum(bool(row.lesson_ids) for row in training if not row.trial)
    if guided:
        raise ConfigError(
            f"folding by the outcomes of {run} would leak: lessons guided {guided} of its first training attempts, "
            "so what was learned at some tasks decides the folds of others; gather without gather.iterate first"
        )
    solved = {row.task_id: row.trial for row in training if row.success}
    names = {row.task_id: "never" for row in training}
    return names | {task: "solved after failing" if trial else "solved" for task, trial in solved.items()}
