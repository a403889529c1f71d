"""`seasoned gather|learn|evaluate`: the stages of an experiment one by one, so that a person can look in between.

Always holds: each stage makes what it needs of the earlier ones, and none of what is there is made again.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    CasesOption,
    JsonOption,
    QuietOption,
    RunArgument,
    RunsOption,
    StoreOption,
    find_run,
    many,
    named_store,
    open_store,
)
from seasoned.lab.cli.run import RecipeArgument, SettingOption, check_store, chosen_recipe, execute

if TYPE_CHECKING:
    from seasoned.lab.run.experiment import Stage


def gather(
    recipe: RecipeArgument,
    setting: SettingOption = None,
    limit: CasesOption = None,
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Make the training attempts of a recipe, and nothing else."""
    settings = [*(setting or []), *([f"limit={limit}"] if limit else [])]
    chosen = chosen_recipe(recipe, settings, None)
    execute(chosen, None, store=store, runs=runs, quiet=quiet, as_json=as_json, until="gather")


def learn(
    run: RunArgument,
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Learn from the attempts of a run. `seasoned lessons` shows and changes what was learned."""
    _go_on(run, "learn", quiet, store, runs, as_json)


def evaluate(
    run: RunArgument,
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Judge a run's conditions on its test tasks, with the lessons as they are now, and report.

    What was judged before is not judged again; where a person has changed lessons since, that is said.
    """
    directory = find_run(run, runs)
    check_store(directory, store)
    changed = _changed_since_judged(directory, store)
    _go_on(run, "evaluate", quiet, store, runs, as_json)
    if changed:
        typer.echo(
            f"{many(changed, 'lesson')} of this run changed after its tasks were judged; to judge a condition with the "
            f"lessons as they are now: seasoned run --resume {shlex.quote(str(directory))}{named_store(store)}"
            " --redo CONDITION",
            err=True,
        )


def _changed_since_judged(directory: Path, store: str) -> int:
    """How many lessons a person wrote, changed or removed after the newest attempt of a run that was judged."""
    from seasoned.lab.run.outputs import SUMMARY
    from seasoned.store.pages import attempt_page

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
        return sum(opened.history(lesson_id)[-1].who == "person" for lesson_id in since)


def _go_on(run: str, until: Stage, quiet: bool, store: str, runs: Path, as_json: bool) -> None:
    directory = find_run(run, runs)
    recipe = chosen_recipe(None, [], directory)
    execute(recipe, directory, store=store, runs=runs, quiet=quiet, as_json=as_json, until=until)
