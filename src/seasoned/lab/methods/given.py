"""Methods around others: lessons from a file, notes that a rule reads off observations, and several methods as one.

Always holds: `Given` learns nothing and shows every active lesson, in the order of its file; no model writes an
`Observed` note, and one whose line is empty at a turn is not recalled at that turn; the methods of `Both` do not know
each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from seasoned.errors import ConfigError, DataError
from seasoned.files import read_text
from seasoned.methods.expnote import ExpNote
from seasoned.protocols import Method
from seasoned.text import prompt_line
from seasoned.types import Block, Guidance, Lesson, Step, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

HEAD = "Lessons from earlier tasks:"

Line = Callable[[str, Sequence[Step], str, Mapping[str, int]], str]
"""From the task's text, the steps so far, a note's key and its counted values: the line to show, or "" for none."""


@dataclass(frozen=True)
class Given:
    """Shows the same lessons for every task (ExpeL: human-written ones in table 3, transfer in section 4.4)."""

    name: ClassVar[str] = "given"
    lessons: tuple[Lesson, ...]

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Learn nothing."""

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """All lessons of the file."""
        active = tuple(lesson for lesson in self.lessons if lesson.status == "active")
        block = Block.listing(HEAD, active, (prompt_line(lesson.text) for lesson in active))
        return Guidance(lessons=active, blocks=(block,) if active else ())


def read_lessons(path: str | Path) -> tuple[Lesson, ...]:
    """Lessons from a file of JSON lines, as `seasoned lessons export` and `seasoned transfer` write it.

    A line may have only a text. The sources of a lesson are moved into its data: they are no attempts of this run.

    Raises:
        ConfigError: no file is named.
        DataError: the file cannot be read, or a line is not a lesson; the message has its number.
    """
    if not str(path):
        raise ConfigError("the condition given needs a file of lessons: -c method.given=FILE.jsonl")
    lessons = []
    for number, line in enumerate(read_text(Path(path)).split("\n"), 1):
        if not line.strip():
            continue
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


@dataclass(frozen=True)
class Observed:
    """Counts observations under keys, and shows the counts by the benchmark's rule.

    `notes` reads the observations and finds the notes for a task; `line` writes the line for a note at a turn.
    """

    name: ClassVar[str] = "observed"
    notes: ExpNote
    line: Line

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Count the observations of the trajectories."""
        self.notes.learn(trajectories, pool)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The notes that help at this turn; without `progress`, at the first turn."""
        candidates = self.notes.recall(task, pool).lessons
        steps = progress.steps if progress else ()
        lines = [self.line(task.text, steps, note.key, note.data.get("values", {})) for note in candidates]
        shown = [(note, line) for note, line in zip(candidates, lines, strict=True) if line]
        if not shown:
            return Guidance()
        notes = tuple(note for note, _ in shown)
        return Guidance(lessons=notes, blocks=(Block.listing(self.notes.heading, notes, [line for _, line in shown]),))


@dataclass(frozen=True)
class Both:
    """Methods that learn and recall together, in this order."""

    methods: tuple[Method, ...]

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Let each method learn."""
        for method in self.methods:
            method.learn(trajectories, pool)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The guidance of all methods."""
        recalled = Guidance()
        for method in self.methods:
            recalled += method.recall(task, pool, progress)
        return recalled
