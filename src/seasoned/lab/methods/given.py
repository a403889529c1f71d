"""Lessons from a file: from another run, adapted from other tasks, or written by a person.

Always holds: nothing is learned; every active lesson of the file is shown, in the order of the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from seasoned.errors import ConfigError, DataError
from seasoned.files import read_text
from seasoned.text import prompt_line
from seasoned.types import Block, Guidance, Lesson, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

HEAD = "Lessons from earlier tasks:"


@dataclass(frozen=True)
class Given:
    """Shows the same lessons for every task (ExpeL: human-written ones in table 3, transfer in section 4.4)."""

    name: ClassVar[str] = "given"
    lessons: tuple[Lesson, ...]

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Learn nothing."""
        del trajectories, pool

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """All lessons of the file."""
        del task, pool, progress
        active = tuple(lesson for lesson in self.lessons if lesson.status == "active")
        block = Block.listing(HEAD, active, (prompt_line(lesson.text) for lesson in active))
        return Guidance(lessons=active, blocks=(block,) if active else ())


def read_lessons(path: str | Path) -> tuple[Lesson, ...]:
    """Lessons from a file of JSON lines, as `seasoned lessons export` and `seasoned transfer` write it.

    A line may have only a text: {"text": "Look into closed places too."}. The sources of a lesson are moved into its
    data, since they are not attempts of this run.

    Raises:
        ConfigError: no file is named.
        DataError: the file cannot be read, or a line is not a lesson; the message has its number.
    """
    if not str(path):
        raise ConfigError("the condition given needs a file of lessons: -c method.given=FILE.jsonl")
    lessons = []
    for number, line in enumerate(read_text(Path(path)).split("\n"), 1):
        if line.strip():
            try:
                raw = {"kind": "insight", **json.loads(line)}
                raw.pop("schema_version", None)
                lesson = Lesson.model_validate(raw)
            except (ValueError, TypeError, RecursionError) as error:
                reason = str(error).splitlines()[0]
                raise DataError(f"line {number} of {path} is not a lesson: {reason}") from error
            origin = {"from": lesson.sources} if lesson.sources else {}
            lessons.append(lesson.model_copy(update={"sources": (), "data": {**lesson.data, **origin}}))
    return tuple(lessons)
