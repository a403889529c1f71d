"""A part of a run: one seed and fold of its plan, and what all its steps share.

Always holds: a part is a value; what its steps make is in the session's store.
"""

from __future__ import annotations

from dataclasses import dataclass

from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.episode import Session
from seasoned.lab.run.plan import TRAINING, Block, Plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe

_TRIAL = 1000  # more than a test is run times, so that no trial has the seed of another run


@dataclass(frozen=True)
class Part:
    """One block of a plan in a session, watched by a person."""

    plan: Plan
    block: Block
    session: Session
    watch: Watch

    @property
    def recipe(self) -> Recipe:
        """The recipe with the block's seed."""
        return self.plan.recipe.for_seed(self.block.seed)

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark, as the block's seed has it."""
        return self.block.benchmark

    @property
    def experience(self) -> str:
        """The pool that the training attempts are in."""
        return self.scope(f"{self.block.name}/{TRAINING}")

    def scope(self, name: str) -> str:
        """A pool of the run."""
        return f"{self.session.run_id}/{name}"

    def seed_shift(self, trial: int, turn: int = 0) -> int:
        """Which seeds an attempt draws with: a number for each trial of each run; 0, the model's, where none draws."""
        return 1 + turn + _TRIAL * trial if self.recipe.llm.temperature else 0
