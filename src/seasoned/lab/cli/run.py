"""`seasoned run`: an experiment from a recipe, new or resumed, complete or up to a stage; `seasoned demo`."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    CasesOption,
    JsonOption,
    QuietOption,
    RunsOption,
    StoreOption,
    UnsafeOption,
    all_runs,
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
    from seasoned.lab.run.plan import Plan
    from seasoned.lab.run.recipe import Recipe

Profile = Literal["paper", "small"]
Stage = Literal["gather", "learn", "evaluate"]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "-c",
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting: -c llm.model=gpt-5-mini; docs/file-formats.md lists them. Repeatable. "
        "Several numbers make several runs: -c train=20,40,80.",
    ),
]
# Only numbers and true or false are split, so a text with a comma stays a text.
_VALUES = re.compile(r"\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false)(?:\s*,\s*(?:[+-]?\d[\d_]*(?:\.\d+)?|true|false))+\s*")
_NEXT = {"gather": "learn", "learn": "evaluate"}


def run(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe: a file, or a name such as emoji.")] = None,
    setting: SettingOption = None,
    profile: Annotated[
        Profile | None,
        typer.Option(help="Settings of the papers, or for a small model; overrides the recipe."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model that acts: the same as -c llm.model=NAME.")] = None,
    resume: Annotated[str | None, typer.Option(help="Resume this run: its directory, its name, or 'last'.")] = None,
    until: Annotated[
        Stage,
        typer.Option(help="The last stage: gather makes training attempts, learn writes lessons, evaluate judges."),
    ] = "evaluate",
    limit: CasesOption = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            help="With --resume: a condition (or 'training') to run again; the run's limits start again. Repeatable."
        ),
    ] = None,
    cost_limit: Annotated[
        float | None, typer.Option(min=0, help="Stop when the run has cost this many dollars.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the cost: episodes, and model calls at most.")
    ] = False,
    on: Annotated[
        str, typer.Option(help="Run the episodes on Ray: ray (this machine, or its cluster), or ray://HOST.")
    ] = "",
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment and report the results.

    Stop it at any time with Ctrl-C and continue with --resume; no model call is paid for twice. With --until you can
    read and correct the lessons (`seasoned lessons`) before they are judged.
    """
    directory = None if resume is None else find_run(resume, runs)
    options = {"limit": limit, "run_limits.cost": cost_limit, "llm.model": model}
    settings = [*(setting or []), *(f"{key}={value}" for key, value in options.items() if value is not None)]
    shared: dict[str, Any] = {"store": store, "runs": runs, "until": until, "quiet": quiet, "on": on}
    if len(sweep := combinations(settings)) > 1:
        if directory is not None or as_json:
            raise ConfigError("a setting with several values makes several runs: without --resume, and without --json")
        swept = [(chosen_recipe(recipe, chosen, None, profile or ""), label(chosen, settings)) for chosen in sweep]
        _run_each(swept, dry_run, shared)
        return
    chosen = chosen_recipe(recipe, settings, directory, profile or "")
    if redo and directory is None:
        raise ConfigError("--redo needs --resume RUN: it runs a part of an earlier run again")
    if dry_run:
        _count(chosen, as_json)
        return
    execute(chosen, directory, redo=redo or (), as_json=as_json, **shared)


def _run_each(swept: Sequence[tuple[Recipe, str]], dry_run: bool, shared: dict[str, Any]) -> None:
    """Run the recipes of a sweep, each under its label, or only estimate their costs."""
    for recipe, name in swept:
        tell(f"{name}:", err=True)
        if dry_run:
            _count(recipe, False)
        else:
            execute(recipe.model_copy(update={"name": f"{recipe.name}-{name}"}), None, **shared)


def execute(
    recipe: Recipe,
    directory: Path | None,
    *,
    store: str,
    runs: Path,
    redo: Sequence[str] = (),
    quiet: bool = False,
    as_json: bool = False,
    until: Stage = "evaluate",
    on: str = "",
) -> None:
    """Run up to a stage, and print the result, or how to resume if the run is stopped."""
    from seasoned.lab.report.stats import require
    from seasoned.lab.run.experiment import check_start
    from seasoned.lab.run.experiment import run as run_experiment
    from seasoned.lab.run.plan import make_plan
    from seasoned.lab.run.redo import not_held
    from seasoned.lab.run.rundir import MANIFEST

    require()
    changed = 0
    if directory is not None:
        if (directory / MANIFEST).is_file() and is_missing(store):  # else an empty store would be made
            raise not_held(directory, str(Path(store).expanduser().absolute()))
        changed = _changed_since_judged(directory, store) if until == "evaluate" and not redo else 0
    plan = make_plan(recipe)
    if is_missing(store):
        check_start(plan)
    with open_store(store) as opened:
        options: dict[str, Any] = {"resume": directory, "redo": redo, "quiet": quiet, "until": until, "on": on}
        try:
            with _sigterm_as_ctrl_c():
                directory = run_experiment(plan, store=opened, runs_dir=runs, **options)
        except (SeasonedError, KeyboardInterrupt) as error:
            raise typer.Exit(_stopped(error, store)) from None
    again = f"seasoned run --resume {shlex.quote(str(directory))}{named_store(store)}"
    if until == "evaluate":
        show_run(directory, as_json)
    elif as_json:
        print_json({"path": str(directory), "done": until, "next": _NEXT[until]})
    else:
        typer.echo(f"{directory}\nGo on with: {again}{' --until learn' if until == 'gather' else ''}")
    if changed:
        typer.echo(
            f"{many(changed, 'lesson')} of this run changed after its tasks were judged; to judge a condition with the "
            f"lessons as they are now: {again} --redo CONDITION",
            err=True,
        )


def _changed_since_judged(directory: Path, store: str) -> int:
    """How many lessons a person wrote, changed or removed after the newest attempt of a complete run."""
    from seasoned.lab.run.rundir import SUMMARY
    from seasoned.store.pages import attempt_page
    from seasoned.types import by_person

    if not (directory / SUMMARY).is_file():
        return 0
    with open_store(store, must_exist=True) as opened:
        newest = attempt_page(opened, run_id=directory.name, limit=1)
        scopes = [scope for scope in opened.scopes() if scope.startswith(f"{directory.name}/")]
        since = [
            lesson.id
            for scope in scopes
            for lesson in opened.lessons(scope, status=None)
            if newest and lesson.updated > newest[0].created
        ]
        return sum(by_person(opened.history(lesson_id)[-1].who) for lesson_id in since)


def show_run(directory: Path, as_json: bool) -> None:
    """Print a complete run: its tables and the paths of its files."""
    from seasoned.lab.run.rundir import read_summary

    summary = read_summary(directory)
    files = {name: str(directory / file) for name, file in (("summary", "summary.json"), ("report", "report.html"))}
    if as_json:
        fields = summary.to_json()
        names = ("headline", "conditions", "pairs", "gates", "training", "cached_share")
        print_json({"path": str(directory), **files, **{name: fields[name] for name in names}})
        return
    from rich.console import Console

    from seasoned.lab.report.attempt_tables import show

    console = Console()
    show(summary, console)
    tell(f"\nreport:  {files['report']}\nsummary: {files['summary']}")


def chosen_recipe(path: Path | None, settings: list[str], directory: Path | None, profile: str = "") -> Recipe:
    """The recipe of a file with settings applied, or of a run to resume with no other settings, else a ConfigError."""
    from seasoned.lab.run.recipe import load_recipe
    from seasoned.lab.run.rundir import check_resumable

    if (path is None) == (directory is None):
        raise ConfigError("expected either a recipe or --resume RUN: seasoned run emoji")
    recipe = load_recipe(directory / "config.toml" if directory else path or "", settings, profile)
    if directory:
        check_resumable(directory, recipe)
    return recipe


def _count(recipe: Recipe, as_json: bool) -> None:
    from seasoned.lab.run.costs import estimated_cost, estimated_tokens
    from seasoned.lab.run.experiment import check_start
    from seasoned.lab.run.plan import make_plan

    plan = make_plan(recipe, dry=True)
    check_start(plan, dry=True)
    for sentence in plan.idle:
        tell(sentence, err=True)
    tokens = estimated_tokens(plan)
    dollars = estimated_cost(recipe, tokens)
    gate = _gate_power(plan) if plan.gated else None
    counts: dict[str, Any] = {
        "benchmark": recipe.benchmark.name,
        "source": plan.source,
        "conditions": [condition.name for condition in plan.conditions],
        "episodes": plan.episodes,
        "model_calls": plan.most_calls,
        "tokens": tokens,
        "dollars": dollars,
        **({"gate": gate} if gate else {}),
    }
    if as_json:
        print_json(counts)
        return
    about = " tokens in and ".join(f"{count:,}" for count in tokens.values())
    price = "the price is unknown" if dollars is None else f"about ${dollars:,.2f}"
    counted = (
        f"{many(plan.episodes, 'episode')}, at most {many(plan.most_calls, 'model call')}, about {about} out "
        f"if every attempt takes half of its turns; {price}"
    )
    typer.echo(f"{counted}; nothing was run.")
    if gate:
        chances = ", ".join(f"{one['won']:.0%} / {one['lost']:.0%}: {one['promoted']:.2f}" for one in gate["power"])
        typer.echo(
            f"The probability that a gate of {gate['tasks']} tasks promotes lessons, by tasks won / lost: {chances}."
        )


def _gate_power(plan: Plan) -> dict[str, Any]:
    """The power of a plan's gate: the probability that lessons are promoted, by their shares of won and lost tasks."""
    from seasoned.proof.gate import power

    tasks, candidates = len(plan.blocks[0].gate), len(plan.gated)
    effects = ((0.45, 0.15), (0.25, 0.05), (0.15, 0.05), (0.1, 0.1))
    power_rows = [
        {"won": won, "lost": lost, "promoted": round(power(tasks, won, lost, candidates=candidates), 3)}
        for won, lost in effects
    ]
    return {"tasks": tasks, "candidates": candidates, "power": power_rows}


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM, which schedulers and containers send before they kill, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stopped(error: BaseException, store: str) -> int:
    """Print why a run stopped and, if anything is done, how to resume; returns the exit code."""
    from seasoned.jobs import jobs_at_work

    if isinstance(error, KeyboardInterrupt):
        typer.echo("\nStopped.", err=True)
    else:
        fail(error)
    for note in getattr(error, "__notes__", ()):
        typer.echo(f"{note}{named_store(store)}", err=True)
    if isinstance(error, KeyboardInterrupt) and jobs_at_work():
        # Python would wait for the threads' replies before it ends; finished work is on disk.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def combinations(settings: Sequence[str]) -> list[list[str]]:
    """The settings of each run of a sweep, such as `train=20,40`; one list if no setting has several values."""
    choices = []
    for setting in settings:
        key, sign, values = setting.partition("=")
        swept = sign and _VALUES.fullmatch(values)
        choices.append([f"{key}={value.strip()}" for value in values.split(",")] if swept else [setting])
    return [list(chosen) for chosen in itertools.product(*choices)]


def label(chosen: Sequence[str], settings: Sequence[str]) -> str:
    """The label that distinguishes a run of a sweep: "train20-seeds2"."""
    changed = (one.partition("=") for one, given in zip(chosen, settings, strict=True) if one != given)
    return "-".join(key.rpartition(".")[2].strip() + value for key, _, value in changed)


def demo(store: StoreOption = STORE, runs: RunsOption = RUNS, as_json: JsonOption = False) -> None:
    """Watch an agent learn.

    It meets made-up codes that it cannot know, takes notes, and then solves more cases with them.

    The model is downloaded once (1.1 GB) and runs on this machine, without account or key. A stopped demo resumes; a
    finished one is shown again.
    """
    from seasoned.cli.model import pull_with_progress
    from seasoned.lab.run.recipe import load_recipe
    from seasoned.lab.run.rundir import SUMMARY

    pull_with_progress("qwen")
    with resources.as_file(resources.files("seasoned.lab.run") / "demo.toml") as file:
        recipe = load_recipe(file)
    mine = [p for p in all_runs(runs, "*-demo-*") if load_recipe(p / "config.toml").digest == recipe.digest]
    if mine and (mine[-1] / SUMMARY).is_file():
        typer.echo(f"This demo has been run; here is what it found. For a fresh one, delete {mine[-1]}.", err=True)
        show_run(mine[-1], as_json)
        return
    execute(recipe, mine[-1] if mine else None, store=store, runs=runs, as_json=as_json)
