"""Row: one evaluated episode as `results.jsonl` has it, and what counts as solved.

Always holds: an episode that an infrastructure error ended, or whose outcome nobody knows, is never counted as a
failure of the task; one that a budget ended is never counted as solved; where a task was tried several times, the
attempts stand for one row, and what all of them used is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from seasoned.types import Usage

EpisodeKey = tuple[int, int, int, str]
"""(seed, fold, run of the test, task id): what makes two episodes of two conditions a pair.

The id alone, its last part, tells which task it is.
"""


class Row(BaseModel):
    """One episode: where it belongs, how it ended, what it used.

    `trained_on` is the number of training cases whose lessons were in force (0 for baselines); `trial` is 0 for the
    first attempt at a task and counts up where it is tried again, `repeat` where the whole test is run again with
    other seeds of the model; `gold` is for display alone; `reason` is that of `seasoned.types.Outcome`; `aside` is the
    part of `usage` that recalled and reflected beside the agent; `others` are what other models that take part used,
    such as a simulated user's, which is no part of `usage`; `judged` is what a model took a training attempt to be
    that had to judge it itself, where one had to; `familiar` is whether the goal of a test task, as the benchmark tells
    it from the rest of the task, is that of a training task too: null where a benchmark has no such goals.
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
    familiar: bool | None = None
    success: bool | None = None
    judged: bool | None = None
    reward: float | None = None
    reason: str = "unfinished"
    answer: str = ""
    gold: str = ""
    trajectory_id: str = ""
    usage: Usage = Usage()
    aside: Usage = Usage()
    others: dict[str, Usage] = {}
    trained_on: int = 0
    trial: int = Field(default=0, ge=0)
    repeat: int = Field(default=0, ge=0)
    turns: int = 0
    lesson_ids: tuple[str, ...] = ()

    @property
    def key(self) -> EpisodeKey:
        """(seed, fold, repeat, task id)."""
        return (self.seed, self.fold, self.repeat, self.task_id)

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

    Episodes are told apart by condition, split, number of training cases, seed, fold, task, repeat and trial; order is
    that of the first appearance.
    """
    return list({(_judged_once(row), row.trial): row for row in rows}.values())


def judged(rows: Iterable[Row]) -> list[Row]:
    """Each task once per condition, split, number of training cases and run, however often it was tried.

    What its attempts come to is said by `until_solved`.
    """
    by_case: dict[tuple[str, str, int, EpisodeKey], list[Row]] = {}
    for row in latest(rows):
        by_case.setdefault(_judged_once(row), []).append(row)
    return [until_solved(attempts) for attempts in by_case.values()]


def until_solved(attempts: Sequence[Row]) -> Row:
    """What the attempts at one task come to: the first that solved it, else the last; usages are those of all."""
    if len(attempts) == 1:
        return attempts[0]
    ordered = sorted(attempts, key=lambda row: row.trial)
    stands = next((row for row in ordered if row.solved), ordered[-1])
    used, aside = (sum(parts, Usage()) for parts in ((row.usage for row in ordered), (row.aside for row in ordered)))
    return stands.model_copy(update={"usage": used, "aside": aside, "others": sum_others(ordered)})


def sum_others(rows: Iterable[Row]) -> dict[str, Usage]:
    """What other models that take part used in these episodes, by their part."""
    sums: dict[str, Usage] = {}
    for row in rows:
        for part, usage in row.others.items():
            sums[part] = sums.get(part, Usage()) + usage
    return sums


def final_attempts(rows: Iterable[Row]) -> list[Row]:
    """The test rows that a condition is judged by: those with the most training cases, per condition, seed and fold.

    The others are earlier points of a learning curve. A task that was tried several times has several rows.
    """
    test = [row for row in latest(rows) if row.split == "test"]
    most: dict[tuple[str, int, int], int] = {}
    for row in test:
        pool = (row.condition, row.seed, row.fold)
        most[pool] = max(most.get(pool, 0), row.trained_on)
    return [row for row in test if row.trained_on == most[(row.condition, row.seed, row.fold)]]


def final(rows: Iterable[Row]) -> list[Row]:
    """`final_attempts`, each task once a run."""
    return judged(final_attempts(rows))


def _judged_once(row: Row) -> tuple[str, str, int, EpisodeKey]:
    return (row.condition, row.split, row.trained_on, row.key)


def outcomes(rows: Iterable[Row]) -> dict[EpisodeKey, bool]:
    """Solved or not, by (seed, fold, repeat, task id), for the rows that count."""
    return {row.key: row.solved for row in rows if row.counted}
