"""Row: one evaluated episode as `results.jsonl` has it, and what counts as solved.

Always holds: an episode that an infrastructure error ended, or whose outcome nobody knows, is never counted as a
failure of the task; one that a budget ended is never counted as solved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from seasoned.types import Usage

TaskKey = tuple[int, int, str]
"""(seed, fold, task id): what makes two episodes of two conditions a pair."""


class Row(BaseModel):
    """One episode: where it belongs, how it ended, what it used.

    `trained_on` is the number of training cases whose lessons were in force (0 for baselines); `gold` is for display
    alone; `reason` is the outcome's (`answered`, `step_limit`, `loop`, `budget`, `error`, `unfinished`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    run_id: str
    benchmark: str
    condition: str
    seed: int
    fold: int = 0
    split: Literal["train", "test"]
    task_id: str
    task: str
    category: str = ""
    success: bool | None = None
    reward: float | None = None
    reason: str = "unfinished"
    answer: str = ""
    gold: str = ""
    trajectory_id: str = ""
    usage: Usage = Usage()
    trained_on: int = 0
    turns: int = 0
    lesson_ids: tuple[str, ...] = ()

    @property
    def key(self) -> TaskKey:
        """(seed, fold, task id)."""
        return (self.seed, self.fold, self.task_id)

    @property
    def counted(self) -> bool:
        """Whether it belongs in the success rate: no infrastructure error, and an outcome that is known."""
        if self.reason == "budget":
            return True
        return self.reason != "error" and self.success is not None

    @property
    def solved(self) -> bool:
        """Whether it counts as solved."""
        return self.counted and self.success is True and self.reason != "budget"


def latest(rows: Iterable[Row]) -> list[Row]:
    """Each episode once: where a run was resumed or redone, the later row stands for the earlier one.

    Episodes are told apart by condition, split, number of training cases, seed, fold and task; order is that of the
    first appearance.
    """
    found: dict[tuple[str, str, int, TaskKey], Row] = {}
    for row in rows:
        found[(row.condition, row.split, row.trained_on, row.key)] = row
    return list(found.values())


def final(rows: Iterable[Row]) -> list[Row]:
    """The test rows that a condition is judged by: those with the most training cases, per condition, seed and fold.

    The others are earlier points of a learning curve.
    """
    test = [row for row in latest(rows) if row.split == "test"]
    most: dict[tuple[str, int, int], int] = {}
    for row in test:
        pool = (row.condition, row.seed, row.fold)
        most[pool] = max(most.get(pool, 0), row.trained_on)
    return [row for row in test if row.trained_on == most[(row.condition, row.seed, row.fold)]]


def outcomes(rows: Iterable[Row]) -> dict[TaskKey, bool]:
    """Solved or not, by (seed, fold, task id), for the rows that count."""
    return {row.key: row.solved for row in rows if row.counted}
