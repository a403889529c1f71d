"""Row: one evaluated episode of `results.jsonl`, and whether it counts as solved.

Always holds: an episode that an infrastructure error ended, or whose outcome is unknown, never counts as a failure of
the task; one that a budget ended never counts as solved; several attempts at a task count as one row with the usage of
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from seasoned.types import Usage

EpisodeKey = tuple[int, int, int, str]
"""(seed, fold, run of the test, task id); episodes of two conditions with the same key are a pair.

The last part alone identifies the task.
"""


class Row(BaseModel):
    """One episode: its place in the run, its outcome and its usage.

    `trained_on` is the number of training cases that lessons came from (0 for baselines); `trial` is 0 for the first
    attempt at a task and counts its retries; `repeat` counts repetitions of the whole test with other seeds of the
    model; `gold` is only for display; `reason` is as in `seasoned.types.Outcome`; `aside` is the part of `usage` for
    recall and reflection; `others` is the usage of partners, such as a simulated user, which is not part of `usage`;
    `judged` is the verdict on a training attempt of a model that did not know the outcome, if there is one; `familiar`
    is whether a test task shares its goal with a training task, null if the benchmark defines no goals.
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
        """Whether it counts in the success rate: no infrastructure error, and a known outcome."""
        if self.reason == "budget":
            return True
        return self.reason != "error" and self.success is not None

    @property
    def solved(self) -> bool:
        """Whether it counts as solved."""
        return self.counted and self.success is True and self.reason != "budget"


def latest(rows: Iterable[Row]) -> list[Row]:
    """Each episode once: if a run was resumed or redone, the later row replaces the earlier one.

    Episodes differ by condition, split, number of training cases, seed, fold, task, repeat or trial; they are in the
    order of their first appearance.
    """
    return list({(_judged_once(row), row.trial): row for row in rows}.values())


def judged(rows: Iterable[Row]) -> list[Row]:
    """Each task once per condition, split, number of training cases and run; `until_solved` combines its attempts."""
    by_case: dict[tuple[str, str, int, EpisodeKey], list[Row]] = {}
    for row in latest(rows):
        by_case.setdefault(_judged_once(row), []).append(row)
    return [until_solved(attempts) for attempts in by_case.values()]


def until_solved(attempts: Sequence[Row]) -> Row:
    """The attempts at a task as one row: the first that solved it, else the last, with the usage of all."""
    if len(attempts) == 1:
        return attempts[0]
    ordered = sorted(attempts, key=lambda row: row.trial)
    deciding = next((row for row in ordered if row.solved), ordered[-1])
    used, aside = (sum(parts, Usage()) for parts in ((row.usage for row in ordered), (row.aside for row in ordered)))
    return deciding.model_copy(update={"usage": used, "aside": aside, "others": sum_others(ordered)})


def sum_others(rows: Iterable[Row]) -> dict[str, Usage]:
    """The usage of partners in these episodes, by part."""
    sums: dict[str, Usage] = {}
    for row in rows:
        for part, usage in row.others.items():
            sums[part] = sums.get(part, Usage()) + usage
    return sums


def final_attempts(rows: Iterable[Row]) -> list[Row]:
    """The test rows with the most training cases, per condition, seed and fold, which decide a condition's result.

    The others are earlier points of a learning curve. A task that was tried several times has several rows.
    """
    test = [row for row in latest(rows) if row.split == "test"]
    most: dict[tuple[str, int, int], int] = {}
    for row in test:
        pool = (row.condition, row.seed, row.fold)
        most[pool] = max(most.get(pool, 0), row.trained_on)
    return [row for row in test if row.trained_on == most[(row.condition, row.seed, row.fold)]]


def final(rows: Iterable[Row]) -> list[Row]:
    """As `final_attempts`, but each task once per run of the test."""
    return judged(final_attempts(rows))


def _judged_once(row: Row) -> tuple[str, str, int, EpisodeKey]:
    return (row.condition, row.split, row.trained_on, row.key)


def outcomes(rows: Iterable[Row]) -> dict[EpisodeKey, bool]:
    """Solved or not, by (seed, fold, repeat, task id), for the rows that count."""
    return {row.key: row.solved for row in rows if row.counted}
