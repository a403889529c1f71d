"""The simple alternative to notes: show the most similar earlier cases with their right answers or outcomes.

Always holds: nothing is stored; an attempt is shown for its own task only with `same_task`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from seasoned.methods.attempts import last_word
from seasoned.text import prompt_line, transcript
from seasoned.types import Block, Entry, Guidance, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool

_MAX_CHARS = 800  # characters of a case's steps
_ENDED = {True: "this went well", False: "this failed", None: "how it ended is not known"}


@dataclass(frozen=True)
class NearestCases:
    """Recalls the k training cases whose texts are nearest to the task's, by the pool's embedder.

    `same_task` also shows attempts at the task itself: for recurring work, never in an evaluation.
    """

    name: ClassVar[str] = "nearestcases"  # the name in stores from before methods had names
    k: int = 3
    same_task: bool = False

    def learn(self, trajectories: Sequence[Trajectory], pool: ExperiencePool) -> None:
        """Do nothing: recall shows the recorded attempts themselves."""

    def recall(self, task: Task, pool: ExperiencePool, progress: Trajectory | None = None) -> Guidance:
        """The nearest cases with the verdicts on their answers, nearest first."""
        del progress
        candidates = [t for t, _ in pool.nearest_trajectories(task.text, self.k if self.same_task else self.k + 1)]
        near = [t for t in candidates if self.same_task or t.task_id != task.id][: self.k]
        if not near:
            return Guidance()
        return Guidance(demonstrations=tuple(near), blocks=(case_block(near),))


def case_block(cases: Sequence[Trajectory]) -> Block:
    """Cases as guidance, each on one line with the verdict on its answer."""
    entries = tuple(Entry(text=f"- {_case_line(case)}", demonstration_ids=(case.id,)) for case in cases)
    return Block(heading="Earlier cases like this one:", entries=entries)


def _case_line(case: Trajectory) -> str:
    """The case on one line: its answer, or else its steps, and the verdict or outcome."""
    outcome = f"({_ENDED[case.outcome.success]})"
    if case.outcome.answer:
        return f"{prompt_line(case.task)} You answered {prompt_line(case.outcome.answer)}. {last_word(case) or outcome}"
    steps = "; ".join(transcript(case, limit=_MAX_CHARS, task=False).splitlines())
    return f"{prompt_line(case.task)} {steps} {outcome}"
