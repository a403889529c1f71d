"""The plain alternative to notes: show the most similar earlier cases with their right answers.

Always holds: nothing is written; a task is never shown its own attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seasoned.methods.expnote import last_word
from seasoned.pool import ExperiencePool
from seasoned.retrieve.render import clean, render_prompt
from seasoned.types import Guidance, Task, Trajectory


@dataclass(frozen=True)
class NearestCases:
    """The k training cases whose texts are nearest to the task's, by the pool's embedder."""

    k: int = 3

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Nothing: the recorded attempts themselves are what is shown."""

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The nearest cases with what was said of their answers, nearest first."""
        del progress
        near = [t for t, _ in pool.nearest_trajectories(task.text, self.k + 1) if t.task_id != task.id][: self.k]
        if not near:
            return Guidance()
        cases = [{"text": f"{clean(t.task)} You answered {clean(t.outcome.answer)}. {last_word(t)}"} for t in near]
        text = render_prompt("seasoned.methods", "expnote_case.j2", notes=cases)
        return Guidance(demonstrations=tuple(near), text=text)
