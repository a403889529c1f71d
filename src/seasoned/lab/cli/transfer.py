"""`seasoned transfer`: adapts the insights of a run to another family of tasks (ExpeL, section 4.4).

Always holds: the run and its lessons stay as they are; the insights come from one pool, that of one fold after all its
training; the result is a file of lessons that a person can read and change before a run uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    JsonOption,
    RunsOption,
    StoreOption,
    check_output,
    find_run,
    many,
    open_store,
    show,
    write_out,
)
from seasoned.errors import ConfigError, ParseError
from seasoned.lab.cli.run import SettingOption

if TYPE_CHECKING:
    from seasoned.lab.run.recipe import Recipe
    from seasoned.store.sql import Store
    from seasoned.types import Lesson, Trajectory


def transfer(
    source: Annotated[str, typer.Option("--from", metavar="RUN", help="The run that learned insights.")],
    target: Annotated[str, typer.Option("--to", metavar="BENCHMARK", help="The benchmark to adapt them to.")],
    output: Annotated[Path | None, typer.Option(help="The file to write. Default: in the run's directory.")] = None,
    examples: Annotated[
        bool, typer.Option("--examples/--no-examples", help="Show the model worked attempts at the new tasks.")
    ] = True,
    scope: Annotated[
        str | None, typer.Option(help="The pool of the insights. Default: that of the first seed and fold.")
    ] = None,
    setting: SettingOption = None,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Adapt the insights of a run to another benchmark. Settings as for `run`: -c llm.model=gpt-5-mini.

    Settings of the benchmark, -c benchmark.data=FILE, are for the new one. -c agent.examples=6 shows the model six
    worked attempts, at least one of each kind; use the same number in the new run.

    Use the result in a run with: -c 'conditions=["react","given"]' -c method.given=FILE
    """
    from seasoned.lab.benchmarks import load_benchmark
    from seasoned.lab.methods.transfer import transfer as adapt
    from seasoned.lab.run.recipe import load_recipe, settings_of
    from seasoned.llm.opening import open_llm

    directory = find_run(source, runs)
    file = output or directory / f"lessons-for-{target}.jsonl"
    check_output(file)  # before paying for a model
    run_settings = [one for one in setting or [] if one.partition("=")[0].partition(".")[0].strip() != "benchmark"]
    recipe = load_recipe(directory / "config.toml", run_settings)
    new = load_benchmark(target, settings_of(setting or []).get("benchmark", {}), seed=0)
    old = load_benchmark(recipe.benchmark.name, recipe.benchmark.options, seed=recipe.seeds[0])
    if new.manner != "act" or old.manner != "act":
        raise ConfigError(f"insights are for tasks of several steps: {old.name} or {new.name} is answered at once")
    with open_store(store, must_exist=True) as opened:
        pool, insights = _insights(opened, recipe, directory.name, scope)
    with open_llm(recipe.learner or recipe.llm) as llm:
        shown = _shown(new.trajectories, recipe.agent.examples) if examples else ()
        adapted = adapt(llm, insights, source_about=old.about, target_about=new.about, examples=shown)
    if not adapted:
        raise ParseError(
            f"the model adapted none of {many(len(insights), 'insight')} of {pool}, so no file is written: try a "
            "stronger model (-c learner.model=..), or another pool (--scope)"
        )
    write_out((lesson.model_dump_json() + "\n" for lesson in adapted), file)
    lessons = [lesson.model_dump(mode="json") for lesson in adapted]
    counts = f"{many(len(adapted), 'lesson')} from {many(len(insights), 'insight')} of {pool}, in {file}"
    value = {"path": str(file), "scope": pool, "from": len(insights), "lessons": lessons}
    show(as_json, value, [*(f"- {lesson.text}" for lesson in adapted), counts])


def _shown(worked: Sequence[Trajectory], wanted: int) -> tuple[Trajectory, ...]:
    """Worked attempts for the prompt, first one of each category (or answer, without categories), then others.

    One of each kind is always shown, even beyond `wanted`, since insights would miss a kind that is left out.
    """
    kinds: dict[str, Trajectory] = {}
    for each in worked:
        kinds.setdefault(each.category or each.outcome.answer, each)
    firsts = list(kinds.values())
    return tuple([*firsts, *(each for each in worked if each not in firsts)][: max(wanted, len(firsts))])


def _insights(store: Store, recipe: Recipe, run: str, scope: str | None) -> tuple[str, list[Lesson]]:
    """A pool of a run and its insights: the pool `scope`, or the first one after all training that has insights."""
    blocks = [f"{run}/s{seed}f{fold}/" for seed in recipe.seeds for fold in range(max(recipe.folds, 1))]
    pools = [name for block in blocks for name in store.scopes() if name.startswith(block)]
    # The pool of an earlier point of a learning curve has "@" and the number of training tasks in its name.
    for name in [scope] if scope else [name for name in pools if "@" not in name.rsplit("/", 1)[-1]]:
        if insights := store.lessons(name, kind="insight", status="active"):
            return name, insights
    what = f"the pool {scope}" if scope else f"the run {run}"
    raise ConfigError(
        f"{what} has no insights in {store.where}: it needs a condition such as expel, a training task that was "
        f"solved, and to have learned from it (seasoned run --resume {run})"
    )
