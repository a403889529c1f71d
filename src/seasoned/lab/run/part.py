"""A part of a run: one seed and fold of its plan, what its steps share, its episodes, and how often a task is tried.

Always holds: a part is a value, and its steps write their results to the session's store; each episode and each recall
makes its own agent and method, with a model whose calls are journalled and counted. A stored episode is not made again,
except after an infrastructure error or a refused prompt, which is recorded, shown, and tried again when the run is
resumed; model replies are on disk before they are used; the limits of an episode apply to all its calls together, and
reaching them does not stop the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from seasoned.embed import shared_embedder
from seasoned.errors import InfrastructureError
from seasoned.jobs import run_jobs
from seasoned.lab.benchmarks.base import Benchmark
from seasoned.lab.run.condition import Condition, MakeAgent
from seasoned.lab.run.keys import TRAINING, EpisodeKey, label
from seasoned.lab.run.offer import Offering, needed, relevant
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.settings import Limits
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.journal import Journaled
from seasoned.llm.seeds import seed_shifted
from seasoned.loop import attempt
from seasoned.pool import ExperiencePool
from seasoned.protocols import LLM, Environment, Method
from seasoned.store.sql import Store
from seasoned.types import Guidance, Task, Trajectory, Usage

T = TypeVar("T")
Result = TypeVar("Result")
Split = Literal["test", "gate", "probe"]
COINS_META = "coins"
"""The key in a trajectory's `meta`: which recalled lessons a probe showed (True) and withheld (False)."""
OTHERS_META = "others"
"""The key in a trajectory's `meta` for the usage of the partners, by part."""
_MAX_ERRORS = 5
_TRIAL = 1000  # more than the repeats of any test, so that no trial gets the seed of another repeat


@dataclass
class Session:
    """The state that a run's episodes share: store, directory, models, the limits of an episode, and finished episodes.

    `llm`, the `learner` (if another model learns) and the `others` count against the run's limits. After five errors in
    a row the run stops, since every further episode would probably fail, too. A task whose prompt is refused counts as
    one error for all conditions. `jobs` runs several episodes at once.
    """

    store: Store
    directory: Path
    llm: LLM
    limits: Limits
    done: dict[EpisodeKey, Trajectory]
    learner: LLM | None = None
    others: Mapping[str, LLM] = field(default_factory=dict)
    errors_in_a_row: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    jobs: Callable[[Callable[[Any], Any], Sequence[Any], int], list[Any]] = run_jobs

    @property
    def run_id(self) -> str:
        """The run's id: the name of its directory."""
        return self.directory.name

    def meter(self) -> Metered:
        """The meter of one episode, for the calls of the agent, of recall and of reflection."""
        return Metered(self.llm, Budget(**self.limits.model_dump()), scope="episode")

    def journaled(self, journal: str, meter: Metered | None = None, *, turns: bool = False, ranks: bool = False) -> LLM:
        """The model, with its replies stored in this journal; a meter counts and limits its calls.

        Prompts are stored, too, except for an agent's `turns`, which are in its trajectory. With `ranks`, the model is
        the ranker, if there is one.
        """
        ranker = self.others.get("ranker") if ranks else None
        kept = self.kept(ranker or self.llm, journal, prompts=not turns)
        return kept if meter is None else Metered(kept, parent=meter)

    def kept(self, llm: LLM, journal: str, *, prompts: bool = False) -> LLM:
        """A model that stores its replies in this journal."""
        return Journaled(llm, self.store, f"{self.run_id}/{journal}", prompts=prompts)

    def learning(self, journal: str, before: Callable[[], None]) -> LLM:
        """The learning model, which stores its replies in this journal and calls `before` each request or replay."""
        return Metered(Journaled(self.learner or self.llm, self.store, f"{self.run_id}/{journal}"), before=before)

    def record(self, key: EpisodeKey, scope: str, trajectory: Trajectory) -> None:
        """Store an episode under its key and in a pool; an InfrastructureError after too many errors in a row."""
        self.store.save_episode(self.run_id, str(key), scope, trajectory)
        self.count(trajectory)

    def count(self, trajectory: Trajectory) -> None:
        """Count errors in a row; raises as `record`."""
        with self.lock:
            if trajectory.outcome.reason != "error":
                self.errors_in_a_row.clear()
                return
            self.errors_in_a_row.add(trajectory.task_id if trajectory.meta.get("refused") else trajectory.id)
            if len(self.errors_in_a_row) >= _MAX_ERRORS:
                raise InfrastructureError(
                    f"{len(self.errors_in_a_row)} episodes in a row ended in a server error, so the run stops here; "
                    f"the last: {trajectory.outcome.detail}"
                )


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

    def pool(
        self, scope: str, *, searches: bool, read_only: bool = False, tasks: frozenset[str] | None = None
    ) -> ExperiencePool:
        """A pool of lessons over the part's training attempts; if it `searches`, it finds them by meaning."""
        embedder = shared_embedder(self.recipe.embedder) if searches else None
        shared: dict[str, Any] = {"run_id": self.session.run_id, "embedder": embedder, "experience": self.experience}
        return ExperiencePool(self.session.store, scope, read_only=read_only, tasks=tasks, **shared)

    def jobs(self, work: Callable[[T], Result], each: Sequence[T]) -> list[Result]:
        """Call `work` for each item, as many at once as the recipe says; the results keep the order."""
        return self.session.jobs(work, each, self.recipe.at_once)

    def method(self, condition: Condition, llm: LLM, *, learns: bool = False) -> Method:
        """A condition's method with this model, set up to recall or to learn."""
        assert condition.method is not None
        return condition.method(self.recipe.for_learning if learns else self.recipe, self.benchmark, llm)

    @cached_property
    def _needed(self) -> dict[str, frozenset[str]]:
        """The tools that successful training attempts called, by family; read only after training."""
        return needed(self.session.store.trajectories(self.experience))

    def _env(self, task: Task, training: bool, partners: Mapping[str, LLM]) -> Environment:
        """An environment of the benchmark with its partners, which offers the tools of the recipe's settings."""
        benchmark, settings = self.benchmark, self.recipe.tools
        env = benchmark.with_models(training, partners) if benchmark.with_models else benchmark.make_env(training)
        if settings.offer == "all":
            return env
        demonstrations = benchmark.trajectories
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
            recall: recalls; the meter that it gets counts its calls of the model. They are added to the attempt's
                usage, and stored separately in its meta under "aside".
            trained_on: how many training cases the lessons were learned from.
            split: the purpose of an attempt that is not a training attempt.
            coins: which lessons a probe showed; `recall` fills it, and the trajectory's meta keeps it.
            temperature: the agent's, instead of the recipe's.

        Raises:
            InfrastructureError: this was the fifth episode in a row that ended in a server error.
        """
        session, stage = self.session, label(key.condition, key.trained_on)
        if key.trial:
            self.watch.more(stage)
        trajectory = session.done.get(key)
        if trajectory is None:
            training = key.condition == TRAINING
            recipe = self.recipe if temperature is None else self.recipe.at_temperature(temperature)
            alike = recipe.llm.temperature == 0
            journal, meter = key.turns(alike), session.meter()
            aside = Metered(session.llm, parent=meter)
            partners = {part: Metered(session.kept(llm, journal)) for part, llm in session.others.items()}
            # An attempt that may be retried must not see the right answer.
            reveals = training and (self.plan.acts or not recipe.gather.answers)
            with seed_shifted(seed_shift(key, alike)):
                llm = session.journaled(journal, meter, turns=True)
                actor = agent(recipe, self.benchmark, llm, self.block.train)
                with closing(self._env(task, reveals, partners)) as env:
                    made = attempt(actor, env, task, partial(recall, aside), once=training)
            meta = {**made.meta, **self._about(key, split, trained_on, coins), **_used_by(partners, aside)}
            news = {"meta": meta, "usage": made.usage + aside.usage, "benchmark": self.benchmark.name}
            trajectory = made.model_copy(update=news)
            session.record(key, self.scope(key.scope), trajectory)
        self.watch.ended(stage, trajectory)
        return trajectory

    def _about(
        self, key: EpisodeKey, split: Split, trained_on: int, coins: Mapping[str, object] | None
    ) -> dict[str, object]:
        """The facts about an attempt that its meta keeps."""
        return {
            "benchmark": self.benchmark.name,
            "condition": key.condition,
            "seed": self.block.seed,
            "fold": self.block.fold,
            "split": "train" if key.condition == TRAINING else split,
            "trained_on": trained_on,
            "trial": key.trial,
            "repeat": key.repeat,
            **({} if coins is None else {COINS_META: coins}),
        }


def _used_by(partners: Mapping[str, Metered], aside: Metered) -> dict[str, object]:
    """The usage of the partners, and of recall and reflection, for an attempt's meta; none without any."""
    others = {part: one.usage.model_dump() for part, one in partners.items() if one.usage != Usage()}
    used: dict[str, object] = {OTHERS_META: others} if others else {}
    return used if aside.usage == Usage() else {**used, "aside": aside.usage.model_dump()}


def until_solved(again: Callable[[int], Trajectory], retries: int) -> list[Trajectory]:
    """Try a task until it is solved, with at most `retries` retries; `again` gets the number of the trial."""
    trials: list[Trajectory] = []
    while _is_open(trials, retries):
        trials.append(again(len(trials)))
    return trials


def trial_by_trial(
    again: Callable[[Task, int], Trajectory],
    tasks: Sequence[Task],
    retries: int,
    patience: int,
    jobs: Callable[[Callable[[int], Trajectory], Sequence[int]], list[Trajectory]],
) -> list[list[Trajectory]]:
    """Try all open tasks once per trial, until `patience` trials in a row solved nothing more (Reflexion, 4).

    `again` makes an attempt at a task, given the number of the trial; `retries` are the most after the first; `jobs`
    makes several at once. Returns the attempts at each task.
    """
    by_task: list[list[Trajectory]] = [[] for _ in tasks]
    idle = 0
    while idle < patience and (left := [place for place in range(len(tasks)) if _is_open(by_task[place], retries)]):
        for place, new in zip(left, jobs(lambda p: again(tasks[p], len(by_task[p])), left), strict=True):
            by_task[place].append(new)
        idle = 0 if any(by_task[place][-1].outcome.success for place in left) else idle + 1
    return by_task


def _is_open(trials: Sequence[Trajectory], retries: int) -> bool:
    """Whether a task may be tried (again): it failed, but not by a server error, and retries are left."""
    return not trials or (len(trials) <= retries and trials[-1].outcome.success is False)


def seed_shift(key: EpisodeKey, alike: bool) -> int:
    """The shift of the model's seeds: another one for each trial of each repeat; 0 if all replies are alike."""
    return 0 if alike else 1 + key.repeat + _TRIAL * key.trial
