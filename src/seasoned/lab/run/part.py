"""A part of a run: one seed and fold of its plan, what all its steps share, and the episodes in it.

Always holds: a part is a value, and what its steps make is in the session's store; agents and methods are made anew for
each episode and each recall, with the model whose calls are journalled and counted there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.condition import Condition, MakeAgent
from seasoned.lab.run.episode import Session, episode
from seasoned.lab.run.keys import TRAINING, EpisodeKey, label
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe
from seasoned.llm.budget import Metered
from seasoned.llm.seeds import seed_shifted
from seasoned.loop import attempt
from seasoned.protocols import LLM, Method
from seasoned.types import Guidance, Task, Trajectory

Split = Literal["test", "gate"]
_TRIAL = 1000  # more than a test is run times, so that no trial has the seed of another run


@dataclass(frozen=True)
class Part:
    """One block of a plan in a session, watched by a person."""

    plan: Plan
    block: Block
    session: Session
    watch: Watch

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe with the block's seed."""
        return self.plan.recipe.for_seed(self.block.seed)

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark, as the block's seed has it."""
        return self.block.benchmark

    @property
    def alike(self) -> bool:
        """Whether the same request has the same answer, so that it is asked once."""
        return self.recipe.llm.temperature == 0

    @property
    def experience(self) -> str:
        """The pool that the training attempts are in."""
        return self.scope(f"{self.block.name}/{TRAINING}")

    def scope(self, name: str) -> str:
        """A pool of the run."""
        return f"{self.session.run_id}/{name}"

    def method(self, condition: Condition, llm: LLM, *, learns: bool = False) -> Method:
        """A condition's method with this model, which recalls or learns by the recipe."""
        assert condition.method is not None
        return condition.method(self.recipe.for_learning if learns else self.recipe, self.benchmark, llm)

    def seed_shift(self, key: EpisodeKey) -> int:
        """Which seeds an attempt draws with: a number for each trial of each run; 0, the model's, where none draws."""
        return 0 if self.alike else 1 + key.repeat + _TRIAL * key.trial

    def episode(
        self,
        key: EpisodeKey,
        task: Task,
        agent: MakeAgent,
        recall: Callable[[Metered, Trajectory | None], Guidance],
        trained_on: int = 0,
        split: Split = "test",
    ) -> Trajectory:
        """Make one attempt and record it, or give the one that was made.

        Args:
            key: names it. Training attempts are told how they end, and recall nothing on the way.
            task: what has to be solved.
            agent: makes the agent.
            recall: recalls with a model that the meter counts the calls of.
            trained_on: how many training cases were learned from.
            split: what the attempt is for, where it is no training.
        """
        session, training = self.session, key.condition == TRAINING
        stage = label(key.condition, key.trained_on)
        spent = session.meter()
        aside = Metered(session.llm, parent=spent)
        if key.trial:
            self.watch.more(stage)

        def make() -> Trajectory:
            llm = session.journaled(key.turns(self.alike), spent, turns=True)
            acting = agent(self.recipe, self.benchmark, llm, self.block.train)
            with closing(self.benchmark.make_env(training)) as env:
                return attempt(acting, env, task, partial(recall, aside), once=training)

        about = {
            "benchmark": self.benchmark.name,
            "condition": key.condition,
            "seed": self.block.seed,
            "fold": self.block.fold,
            "split": "train" if training else split,
            "trained_on": trained_on,
            "trial": key.trial,
            "repeat": key.repeat,
        }
        with seed_shifted(self.seed_shift(key)):
            made = episode(session, key, self.scope(key.scope), make, about, aside)
        self.watch.ended(stage, made)
        return made
