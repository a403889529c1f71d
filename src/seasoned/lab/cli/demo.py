"""`seasoned demo`: an agent learns in front of the user, with the local model."""

from __future__ import annotations

from importlib import resources

import typer

from seasoned.cli.shared import RUNS, STORE, JsonOption, RunsOption, StoreOption, all_runs
from seasoned.lab.cli.run import execute, show_run


def demo(store: StoreOption = STORE, runs: RunsOption = RUNS, as_json: JsonOption = False) -> None:
    """Watch an agent learn.

    It meets made-up codes that it cannot know, takes notes, and then solves more cases with them.

    The model is downloaded once (1.1 GB) and runs on this machine, without account or key. A stopped demo resumes; a
    finished one is shown again.
    """
    from seasoned.cli.model import pull_with_progress
    from seasoned.lab.run.outputs import SUMMARY
    from seasoned.lab.run.recipe import load_recipe

    pull_with_progress("qwen")
    with resources.as_file(resources.files("seasoned.lab.run") / "demo.toml") as file:
        recipe = load_recipe(file)
    mine = [p for p in all_runs(runs, "*-demo-*") if load_recipe(p / "config.toml").digest == recipe.digest]
    if mine and (mine[-1] / SUMMARY).is_file():
        typer.echo(f"This demo has been run; here is what it found. For a fresh one, delete {mine[-1]}.", err=True)
        show_run(mine[-1], as_json)
        return
    execute(recipe, mine[-1] if mine else None, store=store, runs=runs, as_json=as_json)
