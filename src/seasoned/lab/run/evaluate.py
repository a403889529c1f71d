"""Evaluation: each condition learns once from the training attempts and is judged once on the test tasks.

Always holds: the pool of an evaluation is read-only and every recall is checked for leaks; a retry at a test task sees
what its own earlier attempts came to, and nothing of any other test task.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from seasoned.embed import shared_embedder
from seasoned.errors import ConfigError, SeasonedError
from seasoned.jobs import run_jobs
from seasoned.lab.run.condition import Condition
from seasoned.lab.run.episode import episode, meta, with_llm
from seasoned.lab.run.folds import check_no_leak
from seasoned.lab.run.gather import (
    guided_by_failures,
    is_open,
    learning,
    trial_by_trial,
    trial_key,
    without_errors,
)
from seasoned.lab.run.marks import is_learned, left_out, mark_learned, replaced, unlearn
from seasoned.lab.run.part import Part
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.redo import drop_outdated, shared_key, turn_label
from seasoned.llm.budget import Metered
from seasoned.llm.scripted import ScriptedModel
from seasoned.llm.seeds import seed_shifted
from seasoned.pool import ExperiencePool
from seasoned.protocols import LLM, Agent, Method
from seasoned.types import Guidance, Task, Trajectory


@dataclass(frozen=True)
class Entrant:
    """A condition at one point of its learning curve, ready to be evaluated on one block."""

    condition: Condition
    label: str
    trained_on: int
    agent: Agent
    method: Method | None
    pool: ExperiencePool | None
    training: tuple[Trajectory, ...]
    besides: frozenset[str]  # attempts that lessons may come from as well


def enter(part: Part, training: Sequence[Trajectory]) -> list[Entrant]:
    """Make every condition ready; one that learns does so from the first attempts of its point of the curve, once.

    Where a training attempt was made again since, it learns anew, and what was judged without it is judged again.
    """
    plan, block, session = part.plan, part.block, part.session
    if again := drop_outdated(session.store, plan, session.directory, block, training, session.done):
        part.watch.say(
            f"{block.name}: training attempts that had ended in a server's error were made again, so the conditions "
            f"that learn do so anew; test episodes to be made again: {again}, with what did not change replayed"
        )
    return [
        _enter(part, condition, n, training) for condition in plan.conditions for n in plan.points(condition, block)
    ]


def evaluate(part: Part, entrants: Sequence[Entrant]) -> None:
    """Evaluate on the test tasks, those of one agent task by task."""
    plan, tasks, watch = part.plan, part.block.test, part.watch
    # Those of one agent take each task in turn: what their prompts share is still in the server's prefix cache.
    for agent in dict.fromkeys(entrant.condition.agent for entrant in entrants):
        group = [entrant for entrant in entrants if entrant.condition.agent is agent]
        every = [(entrant, turn) for entrant in group for turn in range(plan.repeats(part.block, entrant.trained_on))]
        by_trials = plan.recipe.method.order == "trial-first"
        runs = [run for run in every if not (by_trials and run[0].condition.retries)]
        for entrant in group:
            watch.stage(entrant.label, len(tasks) * plan.repeats(part.block, entrant.trained_on))

        def one(task: Task, runs: Sequence[tuple[Entrant, int]] = runs) -> None:
            for entrant, turn in runs:
                for trial, made in enumerate(_attempts(part, entrant, task, turn)):
                    if trial:
                        watch.more(entrant.label)
                    watch.ended(entrant.label, made)

        run_jobs(one, tasks, plan.workers)
        for entrant, turn in every:
            if (entrant, turn) not in runs:
                _trial_by_trial(part, entrant, turn)


def _trial_by_trial(part: Part, entrant: Entrant, turn: int) -> None:
    """One run of a condition that tries again, all open tasks once a trial."""
    made: dict[str, list[Trajectory]] = {task.id: [] for task in part.block.test}

    def again(task: Task) -> None:
        trial = len(made[task.id])
        if trial:
            part.watch.more(entrant.label)
        with seed_shifted(part.seed_shift(trial, turn)):
            made[task.id].append(_attempt(part, entrant, task, turn, trial))
        part.watch.ended(entrant.label, made[task.id][-1])

    settings = part.recipe.method
    trial_by_trial(again, part.block.test, made, settings.trials, settings.patience, part.plan.workers)


def check_parts(plan: Plan, *, dry: bool = False) -> None:
    """Make each agent, method and embedder once: what a setting gets wrong is told before anything is spent.

    With `dry`, no embedder is made that would ask a server.

    Raises:
        ConfigError: there is a learner, and no condition for it; else as methods and embedders raise it.
    """
    asked, model = False, ScriptedModel([])  # for none of them to call
    for condition in plan.conditions:
        _, method = _parts(plan, plan.blocks[0], condition, model)
        asked = asked or (condition.writes and hasattr(method, "llm"))
        if _searches(condition) and not (dry and plan.recipe.embedder.startswith("openai:")):
            shared_embedder(plan.recipe.embedder)
    if plan.recipe.learner is not None and not asked:
        raise ConfigError(
            "the recipe names a learner, and none of its conditions learns by asking a model (the notes of ExpNote are "
            "its agent's own): leave the section learner out, or add a condition such as expel, erl or autoguide"
        )


def _parts(plan: Plan, block: Block, condition: Condition, llm: LLM) -> tuple[Agent, Method | None]:
    """The agent and the method of a condition.

    Raises:
        ConfigError: they cannot be made, are something else, or have a model that cannot be exchanged.
    """
    recipe, benchmark = plan.recipe.for_seed(block.seed), block.benchmark
    try:
        agent = condition.agent(recipe, benchmark, llm, block.train)
        method = condition.method(recipe, benchmark, llm) if condition.method else None
    except SeasonedError:
        raise
    except Exception as error:  # whatever somebody's condition may raise
        raise ConfigError(f"the condition {condition.name} cannot be made: {type(error).__name__}: {error}") from error
    for part, kind, needs in (
        (agent, Agent, "run(task, env, guidance, advise)"),
        (method, Method, "learn(trajectories, pool) and recall(task, pool, progress)"),
    ):
        if part is not None and (isinstance(part, type) or not isinstance(part, kind)):
            raise ConfigError(f"the condition {condition.name} makes a {part!r:.80}, which has no {needs}")
        with_llm(part, llm)
    return agent, method


def _enter(part: Part, condition: Condition, trained_on: int, training: Sequence[Trajectory]) -> Entrant:
    plan, block, session = part.plan, part.block, part.session
    recipe, benchmark = part.recipe, part.benchmark
    label = plan.label(condition, block, trained_on)
    agent, method = _parts(plan, block, condition, session.llm)
    first = {task.id for task in block.train[:trained_on]}
    own = tuple(t for t in training if t.task_id in first) if condition.learns else tuple(training)
    name, experience = plan.pool(condition, block, trained_on), part.experience
    scope = part.scope(name) if condition.own_pool else experience
    made = shared_embedder(recipe.embedder) if _searches(condition) else None
    every = benchmark.trajectories if condition.worked else own
    shown = without_errors(every)
    learned = is_learned(session.store, scope) and not left_out(session.store, scope, shown)
    if method is not None and condition.writes and not learned:
        unlearn(session.store, scope, "learning was interrupted, or an attempt was made again, and it begins anew")
        pool = ExperiencePool(session.store, scope, run_id=session.run_id, embedder=made, experience=experience)
        with part.watch.learns(label, len(shown)) as told:
            learning(part, condition, name, told).learn(shown, pool)
        mark_learned(session.store, scope, shown, pool.problems)
    pool = ExperiencePool(
        session.store,
        scope,
        run_id=session.run_id,
        embedder=made,
        experience=experience,
        read_only=True,
        # At an earlier point of the curve, successes at later tasks are not to be shown.
        tasks=frozenset(first) if 0 < trained_on < len(block.train) else None,
    )
    besides = replaced(session.store, experience) | {example.id for example in benchmark.trajectories}
    return Entrant(condition, label, trained_on, agent, method, pool if method else None, own, besides)


def _searches(condition: Condition) -> bool:
    """Whether it finds trajectories or lessons by meaning: all but the notes of ExpNote and facts do."""
    by_meaning = condition.acts is not False or bool(condition.pool)
    return not condition.own_pool or (condition.method is not None and by_meaning)


def _attempts(part: Part, entrant: Entrant, task: Task, turn: int) -> list[Trajectory]:
    """The attempts of a test episode: one, and where the condition tries again, one more after each failure."""
    retries = part.recipe.method.trials if entrant.condition.retries else 0
    trials: list[Trajectory] = []
    while is_open(trials, retries):
        with seed_shifted(part.seed_shift(len(trials), turn)):
            trials.append(_attempt(part, entrant, task, turn, len(trials)))
    return trials


def _attempt(part: Part, entrant: Entrant, task: Task, turn: int, trial: int) -> Trajectory:
    """One test attempt; whatever is recalled for it is checked for leaks."""
    block, session = part.block, part.session
    test_ids = frozenset(task.id for task in block.test)
    label = turn_label(entrant.label, turn)
    scope = part.scope(f"{block.name}/{label}/test")
    key = f"{block.name}/{label}/{task.id}"
    shares = shared_key(block.name, task.id)
    alike = part.recipe.llm.temperature == 0
    spent = session.meter()
    aside = Metered(session.llm, parent=spent)

    def recall(progress: Trajectory | None = None) -> Guidance:
        if entrant.method is None or entrant.pool is None:
            return Guidance()
        # Recall asks at temperature 0, whatever the agent does: what one run or condition asked is known for all.
        method = with_llm(entrant.method, session.journaled(shares, aside))
        with seed_shifted(0):
            guidance: Guidance = method.recall(task, entrant.pool, progress)
        check_no_leak(guidance, entrant.training, test_ids, entrant.besides)
        return guidance

    def guided() -> Guidance:
        strategy = entrant.condition.retries
        named = shares if alike else key
        own = guided_by_failures(part, task, trial, scope, named, aside, strategy)
        return recall() + own

    with closing(part.benchmark.make_env(False)) as env:
        return episode(
            session,
            trial_key(key, trial),
            scope,
            entrant.agent,
            env,
            task,
            guided,
            meta(block, entrant.condition.name, "test", entrant.trained_on, trial, turn),
            advise=recall,
            # The same request at temperature 0 has the same answer: asked once, it is known for all conditions and
            # trials, so that trying again without being told anything costs nothing.
            shares=shares if alike else None,
            spent=spent,
            aside=aside,
        )
