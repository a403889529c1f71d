"""`seasoned transfer`: what a run learned on one family of tasks, adapted to another (ExpeL, section 4.4).

Always holds: the run and its lessons stay as they are; what is written is a file of lessons that a person can read and
change before a run is given it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seasoned.cli.run import SettingOption
from seasoned.cli.shared import RUNS, STORE, JsonOption, RunsOption, StoreOption, find_run, open_store, print_json
from seasoned.errors import ConfigError


def transfer(
    source: Annotated[str, typer.Option("--from", metavar="RUN", help="The run that learned insights.")],
    target: Annotated[str, typer.Option("--to", metavar="BENCHMARK", help="The benchmark they are to serve.")],
    output: Annotated[Path | None, typer.Option(help="Where they go; without it, into the run's directory.")] = None,
    examples: Annotated[
        bool, typer.Option("--examples/--no-examples", help="Show the model worked attempts at the new tasks.")
    ] = True,
    setting: SettingOption = None,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Adapt the insights of a run to another benchmark. Settings as for `run`: -c llm.model=gpt-5-mini.

    A run is given them with: -c 'conditions=["react","given"]' -c method.given=FILE
    """
    from seasoned.benchmarks import load_benchmark
    from seasoned.methods.transfer import transfer as adapt
    from seasoned.runner.models import open_llm
    from seasoned.runner.recipe import load_recipe, settings_of

    directory = find_run(source, runs)
    recipe = load_recipe(directory / "config.toml", setting or [])
    new = load_benchmark(target, settings_of(setting or []).get("benchmark", {}), seed=0)
    old = load_benchmark(recipe.benchmark.name, recipe.benchmark.options, seed=recipe.seeds[0])
    if new.manner != "act" or old.manner != "act":
        raise ConfigError(f"insights are for tasks of several steps: {old.name} or {new.name} is answered at once")
    with open_store(store, must_exist=True) as opened:
        insights = [
            lesson
            for lesson in opened.lessons(kind="insight", status="active")
            if (opened.scope_of(lesson.id) or "").startswith(f"{directory.name}/")
        ]
    if not insights:
        raise ConfigError(f"the run {directory.name} has no insights in {store}: it needs a condition such as expel")
    with open_llm(recipe.llm) as llm:
        shown = new.trajectories[:2] if examples else ()
        adapted = adapt(llm, insights, source_about=old.about, target_about=new.about, examples=shown)
    file = output or directory / f"lessons-for-{target}.jsonl"
    file.write_text("".join(lesson.model_dump_json() + "\n" for lesson in adapted), encoding="utf-8")
    if as_json:
        print_json({"path": str(file), "from": len(insights), "lessons": [x.model_dump(mode="json") for x in adapted]})
        return
    for lesson in adapted:
        typer.echo(f"- {lesson.text}")
    typer.echo(f"{len(adapted)} lessons from {len(insights)} insights are in {file}")
