"""A whole experiment: for every seed and fold, gather attempts, learn from them, and evaluate the conditions; report.

Always holds: the training attempts of a seed and fold are made once and shared by all conditions that learn; evaluation
writes only its record and is checked for leaks; a stopped run continues where it was and never pays twice for a model
call; files are a view of the store and can be written again.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from seasoned.errors import BudgetExceeded, ConfigError, InfrastructureError, NotFoundError, StoreError
from seasoned.jobs import heed_ctrl_c
from seasoned.lab.report import stats
from seasoned.lab.run.evaluate import check_given, check_parts, enter, evaluate
from seasoned.lab.run.gate import decide, probe
from seasoned.lab.run.gather import gather
from seasoned.lab.run.outputs import write_outputs
from seasoned.lab.run.part import Part, Session
from seasoned.lab.run.partners import open_models, partners_of
from seasoned.lab.run.plan import Plan, make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.recipe import Recipe
from seasoned.lab.run.redo import check_resume, finished, forget
from seasoned.lab.run.rundir import MANIFEST, SUMMARY, hold, make_run_dir, manifest, write_json
from seasoned.llm.budget import Budget, Metered
from seasoned.llm.opening import check_llm
from seasoned.protocols import LLM
from seasoned.store.sql import Store
from seasoned.types import now

if TYPE_CHECKING:
    from seasoned.lab.run.on_ray import Cluster

Stage = Literal["gather", "learn", "evaluate"]


def run(
    recipe: Recipe | Plan,
    *,
    store: Store,
    runs_dir: str | Path = "runs",
    resume: Path | None = None,
    limit: int | None = None,
    redo: Sequence[str] = (),
    quiet: bool = False,
    llm: LLM | None = None,
    until: Stage = "evaluate",
    learner: LLM | None = None,
    on: str = "",
) -> Path:
    """Run or resume an experiment, and return its directory with summary and report.

    Args:
        recipe: the experiment, or its plan; when resuming, the recipe of the run's directory.
        store: holds trajectories, lessons and the journal.
        runs_dir: where a new run's directory is made.
        resume: the directory of the run to resume.
        limit: the maximum of training and test cases per seed and fold, kept in the run's recipe; a plan has its own.
        redo: conditions (or "training") whose episodes are repeated.
        quiet: show no progress.
        llm: a model to use instead of the recipe's.
        until: the last stage; only a complete run has a summary and a report.
        learner: a model for learning, instead of the recipe's `learner`.
        on: where the episodes run: "" in this process, "ray" or "ray://HOST" on Ray, with the recipe's models only.

    Raises:
        BudgetExceeded: a limit of the whole run was crossed.
        ConfigError: the run cannot be resumed with this recipe, data and store, or `limit` is given with a plan.
        MissingExtraError: SciPy, which the summary needs, is not installed; no model was called.
        SeasonedError: any other error. Finished work is kept, and a note on the error says how to resume.
    """
    plan = _planned(recipe, limit)
    recipe = plan.recipe
    if until == "evaluate":
        stats.require()
    with ExitStack() as stack:
        if resume is not None:
            stack.enter_context(hold(resume))
            check_resume(resume, plan, store)
        check_parts(plan)
        check_given(plan, store)
        cluster = stack.enter_context(_connected(on, llm, store))
        # The model first: if it cannot be opened, no incomplete directory is left.
        opens = None if cluster is None else cluster.open_llm
        models = open_models(recipe, stack, llm=llm, learner=learner, opens=opens)
        directory = resume or make_run_dir(Path(runs_dir), recipe)
        if resume is None:
            stack.enter_context(hold(directory))
        try:
            _run_in(directory, plan, store, models, redo, quiet, until, cluster)
        except BaseException as error:
            error.add_note(_how_to_go_on(error, directory))
            raise
    return directory


def _planned(recipe: Recipe | Plan, limit: int | None) -> Plan:
    if isinstance(recipe, Plan):
        if limit is not None:
            raise ConfigError("a limit belongs to the recipe of the plan: expected none with a plan")
        return recipe
    return make_plan(recipe if limit is None else recipe.model_copy(update={"limit": limit}))


def _connected(on: str, llm: LLM | None, store: Store) -> AbstractContextManager[Cluster | None]:
    """The Ray cluster if episodes run there, else None."""
    if not on:
        return nullcontext()
    if llm is not None:
        raise ConfigError("on Ray each process opens the model itself: name it in the recipe, and leave out llm=")
    from seasoned.lab.run.on_ray import connect

    return connect(on, store)


def check_start(plan: Plan, *, dry: bool = False) -> None:
    """Check that a run can begin, before it gets a store: its methods, embedder and models.

    With `dry`, for a plan that does not run now, no server is asked, and a key or the bundled model may be missing.

    Raises:
        SeasonedError: as in `check_parts` and `check_llm`.
    """
    check_parts(plan, dry=dry)
    recipe = plan.recipe
    named = (recipe.llm, recipe.learner, recipe.ranker, recipe.longer)
    for settings in (*named, *partners_of(recipe).values()):
        if settings is not None:
            check_llm(settings, dry=dry)


def _how_to_go_on(error: BaseException, directory: Path) -> str:
    command = f"seasoned run --resume {shlex.quote(str(directory))}"
    if isinstance(error, NotFoundError):
        return (
            "What was done is kept. A run keeps its model and its server: if they are the wrong ones, begin anew with "
            f"the right ones (-c llm.model=NAME); else go on with: {command}"
        )
    return f"What was done is kept. Go on with: {command}"


def _run_in(
    directory: Path,
    plan: Plan,
    store: Store,
    models: Mapping[str, LLM],
    redo: Sequence[str],
    quiet: bool,
    until: Stage,
    cluster: Cluster | None,
) -> None:
    """Run the rest of a plan in a locked directory, with `models` by part."""
    recipe, run_id, started = plan.recipe, directory.name, now()
    forget(store, plan, directory, redo)
    before = store.get_run(run_id)
    store.add_run(run_id, recipe.name, str(directory), recipe.model_dump(mode="json"))
    try:
        with Watch(plan.episodes, quiet=quiet) as watch, ExitStack() as stack:
            names = {part: llm.name for part, llm in models.items()}
            model_names = " and ".join(dict.fromkeys(names.values()))
            watch.say(f"{recipe.name}: {plan.episodes} episodes with {model_names}; the run is {directory}")
            for sentence in plan.idle:
                watch.say(sentence)
            write_json(
                directory / MANIFEST,
                manifest(recipe, run_id=run_id, model=names["model"], source=plan.source, tasks=plan.tasks)
                | names
                | {"store": store.where},
            )
            session = open_session(directory, recipe, store, models)
            if cluster is not None:
                stack.enter_context(cluster.at_work(plan, session, open_session))
            entered = []
            for block in plan.blocks:
                part = Part(plan, block, session, watch)
                training = gather(part)
                entrants = enter(part, training) if until != "gather" else []
                if until == "evaluate":
                    entered.append((part, decide(part, probe(part, entrants))))
            evaluate(entered)
            if until != "evaluate":
                if before is not None and before.status == "complete" and (directory / SUMMARY).is_file():
                    store.finish_run(run_id, before.status, before.summary)
                else:
                    store.finish_run(run_id, "stopped")
                return
            model, learner = names["model"], names["learner"]
            summary = write_outputs(directory, plan, store, model=model, learner=learner, started=started)
    except BaseException as error:
        expected = isinstance(error, (BudgetExceeded, InfrastructureError, KeyboardInterrupt))
        with suppress(StoreError):
            store.finish_run(run_id, "stopped" if expected else "failed")
        raise
    store.finish_run(run_id, "complete", summary.to_json())


def open_session(directory: Path, recipe: Recipe, store: Store, models: Mapping[str, LLM]) -> Session:
    """The session of a run with its models by part; earlier usage of the run counts against its limits."""
    run_id, limits = directory.name, recipe.run_limits.model_dump()
    limited = any(limit is not None for limit in limits.values())
    used = store.journal_usage(f"{run_id}/") if limited else None
    metered = Metered(models["model"], Budget(**limits), scope="run", used=used, before=heed_ctrl_c)
    done = finished(store, run_id)
    others = {part: Metered(llm, parent=metered) for part, llm in models.items() if part != "model"}
    learner = others.pop("learner")
    return Session(store, directory, metered, recipe.episode_limits, done, learner=learner, others=others)
