"""A part of a run: one seed and fold of its plan, what all its steps share, and the episodes in it.

Always holds: a part is a value, and what its steps make is in the session's store; agents and methods are made anew for
each episode and each recall, with the model whose calls are journalled and counted there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, TypeVar

from seasoned.embed import shared_embedder
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.condition import Condition, MakeAgent
from seasoned.lab.run.episode import Session, episode
from seasoned.lab.run.keys import TRAINING, EpisodeKey, label
from seasoned.lab.run.offer import Offering, needed, relevant
from seasoned.lab.run.partners import META, environment, partners_in, used
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe
from seasoned.llm.budget import Metered
from seasoned.llm.seeds import seed_shifted
from seasoned.loop import attempt
from seasoned.protocols import LLM, Environment, Method
from seasoned.types import Guidance, Task, Trajectory

T = TypeVar("T")
Result = TypeVar("Result")
Split = Literal["test", "gate", "probe"]
COINS_META = "coins"
"""The key in a trajectory's `meta`: which recalled lessons a probe showed (True) and withheld (False)."""
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

    def jobs(self, work: Callable[[T], Result], each: Sequence[T]) -> list[Result]:
        """Do something for each, as many at once as the recipe says; the results are in the same order."""
        return self.session.jobs(work, each, self.recipe.at_once)

    def method(self, condition: Condition, llm: LLM, *, learns: bool = False) -> Method:
        """A condition's method with this model, which recalls or learns by the recipe."""
        assert condition.method is not None
        return condition.method(self.recipe.for_learning if learns else self.recipe, self.benchmark, llm)

    def seed_shift(self, key: EpisodeKey) -> int:
        """Which seeds an attempt draws with: a number for each trial of each run; 0, the model's, where none draws."""
        return 0 if self.alike else 1 + key.repeat + _TRIAL * key.trial

    @cached_property
    def _needed(self) -> dict[str, frozenset[str]]:
        """The tools that successful training attempts called, by family; asked for once these are made."""
        return needed(self.session.store.trajectories(self.experience))

    def _env(self, task: Task, training: bool, partners: Mapping[str, LLM]) -> Environment:
        """An environment of the benchmark, which offers the tools that the recipe says."""
        env, settings = environment(self.benchmark, training, partners), self.recipe.tools
        if settings.offer == "all":
            return env
        worked = self.benchmark.trajectories
        alike = [one for one in worked if one.category == task.category] or worked
        family = frozenset[str]().union(*needed(alike).values())
        family |= frozenset() if training else self._needed.get(task.category, frozenset())
        return Offering(env, relevant(family, shared_embedder(self.recipe.embedder), settings.k))

    def episode(
        self,
        key: EpisodeKey,
        task: Task,
        agent: MakeAgent,
        recall: Callable[[Metered, Trajectory | None], Guidance],
        trained_on: int = 0,
        split: Split = "test",
        coins: Mapping[str, object] | None = None,
        temperature: float | None = None,
    ) -> Trajectory:
        """Make one attempt and record it, or give the one that was made.

        Args:
            key: names it. Training attempts are told how they end, and recall nothing on the way.
            task: what has to be solved.
            agent: makes the agent.
            recall: recalls with a model that the meter counts the calls of.
            trained_on: how many training cases were learned from.
            split: what the attempt is for, where it is no training.
            coins: kept in the trajectory's meta as recall has left it: of a probe, which lessons were shown.
            temperature: of the agent, where it is not the recipe's.
        """
        session, training = self.session, key.condition == TRAINING
        stage = label(key.condition, key.trained_on)
        spent = session.meter()
        aside = Metered(session.llm, parent=spent)
        if key.trial:
            self.watch.more(stage)

        alike = self.alike if temperature is None else temperature == 0
        recipe = self.recipe if temperature is None else self.recipe.at_temperature(temperature)
        # An attempt that may be made again is not told the right answer.
        reveals = training and (self.plan.acts or not recipe.gather.answers)

        def make() -> Trajectory:
            llm = session.journaled(key.turns(alike), spent, turns=True)
            acting = agent(recipe, self.benchmark, llm, self.block.train)
            partners = partners_in(session, key.turns(alike))
            with closing(self._env(task, reveals, partners)) as env:
                attempted = attempt(acting, env, task, partial(recall, aside), once=training)
            meta = {META: others} if (others := used(partners)) else {}
            return attempted.model_copy(update={"meta": {**attempted.meta, **meta}})

        about = {
            "benchmark": self.benchmark.name,
            "condition": key.condition,
            "seed": self.block.seed,
            "fold": self.block.fold,
            "split": "train" if training else split,
            "trained_on": trained_on,
            "trial": key.trial,
            "repeat": key.repeat,
            **({} if coins is None else {COINS_META: coins}),
        }
        with seed_shifted(0 if alike else self.seed_shift(key) or 1 + _TRIAL * key.trial):
            trajectory = episode(session, key, self.scope(key.scope), make, about, aside)
        self.watch.ended(stage, trajectory)
        return trajectory
