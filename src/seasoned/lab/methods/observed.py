"""Notes that a rule reads off what attempts observed, and another shows at the turn where they help (ours).

No model writes a note, so a note is as true as the observations it counts. Always holds: notes are learned and found as
`ExpNote` does it; a note whose line is empty at a turn is not recalled at that turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from seasoned.methods.expnote import ExpNote
from seasoned.types import Block, Guidance, Step, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

Line = Callable[[str, Sequence[Step], str, Mapping[str, int]], str]
"""Of the task's text, the steps so far, a note's key and its counted values, the line to show; "" for none."""


@dataclass(frozen=True)
class Observed:
    """Counts what attempts observed under keys, and shows the counts as the benchmark's rule says.

    Args:
        notes: reads the observations, and finds the notes for a task.
        line: writes what is shown of a note at a turn.
    """

    name: ClassVar[str] = "observed"
    notes: ExpNote
    line: Line

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Count what the trajectories observed."""
        self.notes.learn(trajectories, pool)

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The notes that help at this turn, before the first one without `progress`."""
        found = self.notes.recall(task, pool).lessons
        steps = progress.steps if progress else ()
        lines = [self.line(task.text, steps, note.key, note.data.get("values", {})) for note in found]
        shown = [(note, line) for note, line in zip(found, lines, strict=True) if line]
        if not shown:
            return Guidance()
        notes = tuple(note for note, _ in shown)
        return Guidance(lessons=notes, blocks=(Block.listing(self.notes.heading, notes, [line for _, line in shown]),))
