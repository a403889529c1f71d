"""`seasoned run`: an experiment from a recipe, new or resumed."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    CasesOption,
    JsonOption,
    QuietOption,
    RunsOption,
    StoreOption,
    fail,
    find_run,
    is_missing,
    many,
    named_store,
    open_store,
    print_json,
    tell,
)
from seasoned.errors import ConfigError, SeasonedError

if TYPE_CHECKING:
    from seasoned.lab.run.experiment import Stage
    from seasoned.lab.run.recipe import Recipe

RecipeArgument = Annotated[Path, typer.Argument(help="A recipe, such as experiments/emoji.toml.")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "-c",
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting: -c llm.model=gpt-5-mini; docs/file-formats.md lists them. Repeatable.",
    ),
]
_NEXT = {"gather": "learn", "learn": "evaluate"}


def run(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe, such as experiments/emoji.toml.")] = None,
    setting: SettingOption = None,
    resume: Annotated[str | None, typer.Option(help="Go on with this run: its directory, its name, or 'last'.")] = None,
    limit: CasesOption = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            help="With --resume: a condition (or 'training') to run again; the run's limits begin anew with it. "
            "Repeatable."
        ),
    ] = None,
    cost_limit: Annotated[
        float | None, typer.Option(min=0, help="Stop when the run has cost this many dollars.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count episodes, and model calls at most, and run nothing.")
    ] = False,
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment: gather attempts, learn from them, evaluate, and report.

    It can be stopped at any time (Ctrl-C) and goes on with --resume where it was; no model call is paid for twice.
    """
    directory = None if resume is None else find_run(resume, runs)
    given = {"limit": limit, "run_limits.cost": cost_limit}
    settings = [*(setting or []), *(f"{key}={value}" for key, value in given.items() if value is not None)]
    chosen = chosen_recipe(recipe, settings, directory)
    if redo and directory is None:
        raise ConfigError("--redo needs --resume RUN: it runs a part of an earlier run again")
    if dry_run:
        _count(chosen, as_json)
        return
    execute(chosen, directory, store=store, runs=runs, redo=redo or [], quiet=quiet, as_json=as_json)


def execute(
    recipe: Recipe,
    directory: Path | None,
    *,
    store: str,
    runs: Path,
    redo: list[str] | None = None,
    quiet: bool = False,
    as_json: bool = False,
    until: Stage = "evaluate",
) -> None:
    """Run, up to a stage, and print the result; say how to go on when it is stopped."""
    from seasoned.lab.report.stats import require
    from seasoned.lab.run.experiment import check_start
    from seasoned.lab.run.experiment import run as run_experiment
    from seasoned.lab.run.plan import make_plan

    require()
    if directory is not None:
        check_store(directory, store)
    plan = make_plan(recipe)
    if is_missing(store):
        check_start(plan)
    with open_store(store) as opened:
        try:
            with _stops_when_told():
                directory = run_experiment(
                    plan,
                    store=opened,
                    runs_dir=runs,
                    resume=directory,
                    redo=redo or [],
                    quiet=quiet,
                    until=until,
                )
        except (SeasonedError, KeyboardInterrupt) as error:
            raise typer.Exit(_stopped(error, store)) from None
    if until == "evaluate":
        show_run(directory, as_json)
    elif as_json:
        print_json({"path": str(directory), "done": until, "next": _NEXT[until]})
    else:
        typer.echo(
            f"{directory}\nGo on with: seasoned {_NEXT[until]} {shlex.quote(str(directory))}{named_store(store)}"
        )


def check_store(directory: Path, store: str) -> None:
    """See that there is a store to go on with, before one is made that holds nothing of the run.

    Raises:
        ConfigError: there is none; the one the run was begun with is named.
    """
    from seasoned.lab.run.redo import not_held
    from seasoned.lab.run.rundir import MANIFEST

    if (directory / MANIFEST).is_file() and is_missing(store):
        raise not_held(directory, str(Path(store).expanduser().absolute()))


def show_run(directory: Path, as_json: bool) -> None:
    """Print a complete run: its tables and where its files are."""
    from seasoned.lab.run.outputs import read_summary

    summary = read_summary(directory)
    if as_json:
        print_json(brief(directory, summary))
        return
    from rich.console import Console

    from seasoned.lab.report.tables import show

    console = Console()
    with known_form(directory), console.capture() as said:  # all of it, or nothing
        show(summary, console)
    typer.echo(said.get(), nl=False)
    tell(f"\nreport:  {directory / 'report.html'}\nsummary: {directory / 'summary.json'}")


@contextmanager
def known_form(*directories: Path) -> Iterator[None]:
    """Read the summaries of runs as this version writes them.

    Raises:
        ConfigError: if one has another form.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        names = " or ".join(directory.name for directory in directories)
        raise ConfigError(
            f"the summary of {names} has another form than this version writes ({type(error).__name__}: {error}): "
            f"write it again with seasoned run --resume {directories[0].name}"
        ) from error


def brief(directory: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """The path of a run and the heart of its summary."""
    wanted = ("headline", "conditions", "pairs", "training", "cached_share")
    files = {
        "path": str(directory),
        "summary": str(directory / "summary.json"),
        "report": str(directory / "report.html"),
    }
    return {**files, **{key: summary.get(key) for key in wanted}}


def chosen_recipe(path: Path | None, settings: list[str], directory: Path | None) -> Recipe:
    """The recipe of a file with settings over it, or the one of a run that goes on.

    Raises:
        ConfigError: if neither or both are given, or a run would go on under other settings.
    """
    from seasoned.lab.run.recipe import load_recipe
    from seasoned.lab.run.rundir import check_resumable

    if (path is None) == (directory is None):
        raise ConfigError("expected either a recipe or --resume RUN: seasoned run experiments/emoji.toml")
    recipe = load_recipe(directory / "config.toml" if directory else path or "", settings)
    if directory:
        check_resumable(directory, recipe)
    return recipe


def _count(recipe: Recipe, as_json: bool) -> None:
    from seasoned.lab.run.experiment import check_start
    from seasoned.lab.run.plan import make_plan

    plan = make_plan(recipe)
    check_start(plan, dry=True)
    for said in plan.idle:
        tell(said, err=True)
    counts = {
        "benchmark": recipe.benchmark.name,
        "source": plan.source,
        "conditions": [condition.name for condition in plan.conditions],
        "episodes": plan.episodes,
        "model_calls": plan.most_calls,
    }
    if as_json:
        print_json(counts)
    else:
        counted = f"{many(plan.episodes, 'episode')}, at most {many(plan.most_calls, 'model call')}"
        typer.echo(f"{counted}; nothing was run.")


@contextmanager
def _stops_when_told() -> Iterator[None]:
    """Makes SIGTERM, which schedulers and containers send before they kill, the same as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stopped(error: BaseException, store: str) -> int:
    """Print why a run stopped and, where anything was done, how to go on; returns the exit code."""
    from seasoned.jobs import jobs_at_work

    if isinstance(error, KeyboardInterrupt):
        typer.echo("\nStopped.", err=True)
    else:
        fail(error)
    for note in getattr(error, "__notes__", ()):
        typer.echo(f"{note}{named_store(store)}", err=True)
    if isinstance(error, KeyboardInterrupt) and jobs_at_work():
        # Python would wait for the threads' replies before it ends; what has come is on disk.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
