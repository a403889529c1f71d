"""A whole experiment: for every seed and fold gather attempts, learn from them, evaluate the conditions, and report.

Always holds: the training attempts of a seed and fold are made once and shared by all conditions that learn; evaluation
writes nothing but its record and is checked for leaks; a run that was stopped goes on where it was and pays for no
model call twice; files are a view of the store and can be written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seasoned.errors import BudgetExceeded, InfrastructureError, StoreError
from seasoned.llm.budget import Budget, Metered
from seasoned.pool import ExperiencePool
from seasoned.protocols import LLM, Agent, Embedder, Method
from seasoned.runner.conditions import Condition, dialogue
from seasoned.runner.episode import Session, episode
from seasoned.runner.executors import run_jobs
from seasoned.runner.folds import check_no_leak
from seasoned.runner.models import open_llm
from seasoned.runner.outputs import write_outputs
from seasoned.runner.plan import TRAINING, Block, Plan, make_plan
from seasoned.runner.progress import Watch
from seasoned.runner.recipe import Recipe
from seasoned.runner.redo import check_resume, finished, forget, shared_key
from seasoned.runner.rundir import hold, make_run_dir, manifest, write_json
from seasoned.store.sql import Store
from seasoned.types import Guidance, Task, Trajectory, now


def run(
    recipe: Recipe,
    *,
    store: Store,
    runs_dir: str | Path = "runs",
    resume: Path | None = None,
    limit: int | None = None,
    redo: Sequence[str] = (),
    quiet: bool = False,
    llm: LLM | None = None,
) -> Path:
    """Run an experiment, or go on with one, and return its directory, complete with summary and report.

    Args:
        recipe: the experiment; when resuming, the one of the run's directory.
        store: holds trajectories, lessons and the journal.
        runs_dir: where a new run's directory is made.
        resume: the directory of the run to go on with.
        limit: at most this many training and test cases a block, kept in the run's recipe.
        redo: conditions (or "training") whose episodes are made again.
        quiet: show no progress.
        llm: a model to use instead of the recipe's.

    Raises:
        BudgetExceeded: if a limit of the whole run was crossed.
        ConfigError: if the run cannot be resumed with this recipe and store.
        SeasonedError: as the parts raise it. What was done is kept, and a note on the error says how to go on.
    """
    if limit is not None:
        recipe = recipe.model_copy(update={"limit": limit})
    plan = make_plan(recipe)
    _check_parts(plan)
    with ExitStack() as stack:
        if resume is not None:
            stack.enter_context(hold(resume))
            check_resume(resume, recipe, store)
        # The model first: where it cannot be opened, no half-made directory is left.
        model = stack.enter_context(nullcontext(llm) if llm is not None else open_llm(recipe.llm))
        directory = resume or make_run_dir(Path(runs_dir), recipe)
        if resume is None:
            stack.enter_context(hold(directory))
        try:
            _run_in(directory, plan, store, model, redo, quiet)
        except BaseException as error:
            error.add_note(f"What was done is kept. Go on with: seasoned run --resume {directory}")
            raise
    return directory


def _check_parts(plan: Plan) -> None:
    """Make each method and embedder once: what a setting gets wrong is told before anything is spent."""
    for condition in plan.conditions:
        if condition.method is not None:
            condition.method(plan.recipe, plan.blocks[0].benchmark)
        if not condition.own_pool:
            _embedder(plan.recipe.embedder)


def _run_in(directory: Path, plan: Plan, store: Store, model: LLM, redo: Sequence[str], quiet: bool) -> None:
    """Run what is left of a plan, in a directory that is held."""
    recipe, run_id, started = plan.recipe, directory.name, now()
    forget(store, plan, run_id, redo)
    store.add_run(run_id, recipe.name, str(directory), recipe.model_dump(mode="json"))
    try:
        with Watch(plan.episodes, quiet=quiet) as watch:
            watch.say(f"{recipe.name}: {plan.episodes} episodes with {model.name}; the run is {directory}")
            source = plan.blocks[0].benchmark.source
            tasks = (f"{b.name} {t.id} {t.text}" for b in plan.blocks for t in (*b.train, *b.test))
            write_json(
                directory / "manifest.json",
                manifest(recipe, run_id=run_id, model=model.name, source=source, tasks=tasks),
            )
            session = Session(
                store, run_id, _metered(recipe, store, run_id, model), recipe.episode_limits, finished(store, run_id)
            )
            for block in plan.blocks:
                _run_block(plan, block, session, watch)
            summary = write_outputs(directory, plan, store, model=model.name, started=started)
    except BaseException as error:
        foreseen = isinstance(error, (BudgetExceeded, InfrastructureError, KeyboardInterrupt))
        with suppress(StoreError):
            store.finish_run(run_id, "stopped" if foreseen else "failed")
        raise
    store.finish_run(run_id, "complete", summary)


def _metered(recipe: Recipe, store: Store, run_id: str, model: LLM) -> Metered:
    """The model under the limits of the run; what earlier parts of a resumed run used counts."""
    limits = recipe.run_limits.model_dump()
    limited = any(limit is not None for limit in limits.values())
    return Metered(model, Budget(**limits), scope="run", used=store.journal_usage(f"{run_id}/") if limited else None)


@dataclass(frozen=True)
class Entrant:
    """A condition at one point of its learning curve, ready to be evaluated on one block."""

    condition: Condition
    label: str
    trained_on: int
    agent: Agent
    method: Method | None
    pool: ExperiencePool | None


def _run_block(plan: Plan, block: Block, session: Session, watch: Watch) -> None:
    training = _gather(plan, block, session, watch) if plan.trains else []
    entrants = [
        _enter(plan, block, condition, n, training, session)
        for condition in plan.conditions
        for n in plan.points(condition, block)
    ]
    # Those of one agent take each task in turn: what their prompts share is still in the server's prefix cache.
    for agent in dict.fromkeys(entrant.condition.agent for entrant in entrants):
        _evaluate(plan, block, [e for e in entrants if e.condition.agent is agent], training, session, watch)


def _workers(plan: Plan) -> int:
    recipe = plan.recipe
    return recipe.workers or (recipe.llm.slots if recipe.llm.base_url is None else 8)


def _gather(plan: Plan, block: Block, session: Session, watch: Watch) -> list[Trajectory]:
    """The training attempts, in the order of the tasks."""
    recipe, benchmark = plan.recipe, block.benchmark
    agent = dialogue(recipe, benchmark, session.llm, block.train)
    scope = f"{session.run_id}/{block.name}/{TRAINING}"
    pool = ExperiencePool(session.store, scope, run_id=session.run_id)
    watch.stage(TRAINING, len(block.train))

    def one(task: Task) -> Trajectory:
        with closing(benchmark.make_env(True)) as env:
            made = episode(
                session,
                f"{block.name}/{TRAINING}/{task.id}",
                pool.scope,
                agent,
                env,
                task,
                Guidance(),
                _meta(block, TRAINING, "train", 0),
            )
        watch.ended(TRAINING, made)
        return made

    return run_jobs(one, block.train, _workers(plan))


def _enter(
    plan: Plan, block: Block, condition: Condition, trained_on: int, training: Sequence[Trajectory], session: Session
) -> Entrant:
    """Make a condition ready; one that learns does so from the first `trained_on` training attempts, once."""
    recipe, benchmark = plan.recipe, block.benchmark
    label = plan.label(condition, block, trained_on)
    agent = condition.agent(recipe, benchmark, session.llm, block.train)
    method = condition.method(recipe, benchmark) if condition.method else None
    scope = f"{session.run_id}/{block.name}/{label if condition.own_pool else TRAINING}"
    if method is not None and condition.learns and condition.own_pool:
        pool = ExperiencePool(session.store, scope, run_id=session.run_id)
        if not pool.lessons(status=None):
            method.learn([t for t in training[:trained_on] if t.outcome.reason != "error"], pool)
    made = None if condition.own_pool else _embedder(recipe.embedder)
    pool = ExperiencePool(session.store, scope, run_id=session.run_id, embedder=made, read_only=True)
    return Entrant(condition, label, trained_on, agent, method, pool if method else None)


def _evaluate(
    plan: Plan,
    block: Block,
    entrants: Sequence[Entrant],
    training: Sequence[Trajectory],
    session: Session,
    watch: Watch,
) -> None:
    """Evaluate entrants of one agent on the test tasks, task by task."""
    test_ids = frozenset(task.id for task in block.test)
    for entrant in entrants:
        watch.stage(entrant.label, len(block.test))

    def one(task: Task) -> None:
        for entrant in entrants:
            made = _attempt(plan, block, entrant, task, training[: entrant.trained_on], test_ids, session)
            watch.ended(entrant.label, made)

    run_jobs(one, block.test, _workers(plan))


def _attempt(
    plan: Plan,
    block: Block,
    entrant: Entrant,
    task: Task,
    training: Sequence[Trajectory],
    test_ids: frozenset[str],
    session: Session,
) -> Trajectory:
    """One test episode; whatever is recalled for it is checked for leaks."""

    def recall(progress: Trajectory | None = None) -> Guidance:
        if entrant.method is None or entrant.pool is None:
            return Guidance()
        guidance = entrant.method.recall(task, entrant.pool, progress)
        check_no_leak(guidance, training, test_ids)
        return guidance

    with closing(block.benchmark.make_env(False)) as env:
        return episode(
            session,
            f"{block.name}/{entrant.label}/{task.id}",
            f"{session.run_id}/{block.name}/{entrant.label}/test",
            entrant.agent,
            env,
            task,
            recall(),
            _meta(block, entrant.condition.name, "test", entrant.trained_on),
            advise=recall,
            # The same request at temperature 0 has the same answer: asked for one condition, it is known for all.
            shares=shared_key(block.name, task.id) if plan.recipe.llm.temperature == 0 else None,
        )


@cache
def _embedder(name: str) -> Embedder:
    from seasoned.embed import embedder

    return embedder(name)


def _meta(block: Block, condition: str, split: str, trained_on: int) -> dict[str, Any]:
    return {
        "benchmark": block.benchmark.name,
        "condition": condition,
        "seed": block.seed,
        "fold": block.fold,
        "split": split,
        "trained_on": trained_on,
    }
