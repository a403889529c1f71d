"""Two methods as one: both learn from the same attempts, and their guidance is combined.

Always holds: each writes lessons of its own kind into the shared pool, and neither knows the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.protocols import Method
from seasoned.types import Guidance, Task, Trajectory

if TYPE_CHECKING:
    from seasoned.pool import ExperiencePool


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
