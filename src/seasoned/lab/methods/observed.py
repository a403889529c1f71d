"""Notes that a rule reads off observations, and another rule shows at the turns where they help (ours).

No model writes a note, so a note is as reliable as the observations it counts. Always holds: notes are learned and
found as in `ExpNote`; a note whose line is empty at a turn is not recalled at that turn.
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
"""From the task's text, the steps so far, a note's key and its counted values: the line to show, or "" for none."""


@dataclass(frozen=True)
class Observed:
    """Counts observations under keys, and shows the counts by the benchmark's rule.

    Args:
        notes: reads the observations, and finds the notes for a task.
        line: writes the line for a note at a turn.
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
