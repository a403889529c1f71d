"""A part of a run: one seed and fold of its plan, what its steps share, and its episodes.

Always holds: a part is a value, and its steps write their results to the session's store; each episode and each recall
makes its own agent and method, with a model whose calls are journalled and counted.
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
_TRIAL = 1000  # more than the repeats of any test, so that no trial gets the seed of another repeat


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
        """The benchmark, loaded with the block's seed."""
        return self.block.benchmark

    @property
    def alike(self) -> bool:
        """Whether the same request always gets the same reply, so that it is sent only once."""
        return self.recipe.llm.temperature == 0

    @property
    def experience(self) -> str:
        """The scope of the training attempts."""
        return self.scope(f"{self.block.name}/{TRAINING}")

    def scope(self, name: str) -> str:
        """The scope of one of the run's pools."""
        return f"{self.session.run_id}/{name}"

    def jobs(self, work: Callable[[T], Result], each: Sequence[T]) -> list[Result]:
        """Call `work` for each item, as many at once as the recipe says; the results keep the order."""
        return self.session.jobs(work, each, self.recipe.at_once)

    def method(self, condition: Condition, llm: LLM, *, learns: bool = False) -> Method:
        """A condition's method with this model, set up to recall or to learn."""
        assert condition.method is not None
        return condition.method(self.recipe.for_learning if learns else self.recipe, self.benchmark, llm)

    def seed_shift(self, key: EpisodeKey) -> int:
        """The shift of the model's seeds: another one for each trial of each repeat; 0 at temperature 0."""
        return 0 if self.alike else 1 + key.repeat + _TRIAL * key.trial

    @cached_property
    def _needed(self) -> dict[str, frozenset[str]]:
        """The tools that successful training attempts called, by family; read only after training."""
        return needed(self.session.store.trajectories(self.experience))

    def _env(self, task: Task, training: bool, partners: Mapping[str, LLM]) -> Environment:
        """An environment of the benchmark that offers the tools of the recipe's settings."""
        env, settings = environment(self.benchmark, training, partners), self.recipe.tools
        if settings.offer == "all":
            return env
        demonstrations = self.benchmark.trajectories
        similar = [one for one in demonstrations if one.category == task.category] or demonstrations
        family = frozenset[str]().union(*needed(similar).values())
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
        """Make one attempt and record it, or return the recorded one.

        Args:
            key: names the attempt. Training attempts see their outcome, and do not recall on the way.
            task: the task to solve.
            agent: makes the agent.
            recall: recalls; the meter that it gets counts its calls of the model.
            trained_on: how many training cases the lessons were learned from.
            split: the purpose of an attempt that is not a training attempt.
            coins: which lessons a probe showed; `recall` fills it, and the trajectory's meta keeps it.
            temperature: the agent's, instead of the recipe's.
        """
        session, training = self.session, key.condition == TRAINING
        stage = label(key.condition, key.trained_on)
        meter = session.meter()
        recall_meter = Metered(session.llm, parent=meter)
        if key.trial:
            self.watch.more(stage)

        alike = self.alike if temperature is None else temperature == 0
        recipe = self.recipe if temperature is None else self.recipe.at_temperature(temperature)
        # An attempt that may be retried must not see the right answer.
        reveals = training and (self.plan.acts or not recipe.gather.answers)

        def make() -> Trajectory:
            llm = session.journaled(key.turns(alike), meter, turns=True)
            actor = agent(recipe, self.benchmark, llm, self.block.train)
            partners = partners_in(session, key.turns(alike))
            with closing(self._env(task, reveals, partners)) as env:
                made = attempt(actor, env, task, partial(recall, recall_meter), once=training)
            meta = {META: partner_usage} if (partner_usage := used(partners)) else {}
            return made.model_copy(update={"meta": {**made.meta, **meta}})

        values = {
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
            trajectory = episode(session, key, self.scope(key.scope), make, values, recall_meter)
        self.watch.ended(stage, trajectory)
        return trajectory
