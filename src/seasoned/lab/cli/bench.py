"""`seasoned bench`: lists benchmarks, installs their engines, and checks their data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from seasoned.cli.shared import JsonOption, UnsafeOption, many, show
from seasoned.errors import ConfigError

app = typer.Typer(help="List the benchmarks, install what they need, check their data.", no_args_is_help=True)
PROBLEMS = 10
"""The most problems printed; the JSON has all."""
OptionOption = Annotated[
    list[str] | None,
    typer.Option("-c", "--set", metavar="KEY=VALUE", help="An option of the benchmark: -c data=FILE. Repeatable."),
]


@app.command("list")
def list_benchmarks(as_json: JsonOption = False) -> None:
    """List the benchmarks, including those of plugins."""
    import sys
    from importlib import import_module

    from seasoned.lab.benchmarks import NAMES
    from seasoned.plugins import loaded

    benchmarks = {name: import_module(f"seasoned.lab.benchmarks.{name}") for name in NAMES}
    benchmarks |= {name: plugin for name, plugin in loaded("benchmarks") if name not in NAMES}
    descriptions = {
        name: _description(name, sys.modules.get(getattr(one, "__module__", ""), one))
        for name, one in benchmarks.items()
    }
    listed = [{"name": name, "about": text} for name, text in descriptions.items()]
    show(as_json, listed, (f"{name:<8} {text}" for name, text in descriptions.items()))


def _description(name: str, module: object) -> str:
    """The first paragraph of a module's docstring, without the benchmark's name before it."""
    text = " ".join((module.__doc__ or "").split("\n\n")[0].split())
    return text[len(name) + 2 :] if text.lower().startswith(f"{name}: ") else text


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(help="The benchmark.")],
    data: Annotated[str, typer.Option(help="The data: a file or a folder. The same as -c data=..")] = "",
    setting: OptionOption = None,
    upstream_colors: Annotated[
        bool,
        typer.Option(
            "--upstream-colors", help="WebShop: compare colours as the released code does (its bug included)."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="The seed for drawing tasks.")] = 0,
    unsafe: UnsafeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a benchmark's data.

    Solves every task with its known solution, and lists what is wrong. Exit code 1 if anything is wrong, or if there is
    no task.
    """
    from seasoned.lab.benchmarks import find_check

    options = benchmark_options(setting or [])
    if data:
        options["data"] = data
    if upstream_colors:
        options["upstream_colors"] = True
    checks = find_check(name)
    if checks is None:
        _check_answers(name, options, seed, as_json)
        return
    typer.echo(f"checking {name}", err=True)
    result = checks(options, seed=seed)
    source = [f"the data: {result.source}"] if result.source else []
    more = [f"and {len(result.problems) - PROBLEMS} more"] if len(result.problems) > PROBLEMS else []
    lines = [*source, *result.facts, *result.problems[:PROBLEMS], *more, _solved(result.good, result.total)]
    show(as_json, {"benchmark": name, **vars(result)}, lines)
    wrong = bool(result.problems) and not result.unwinnable
    if wrong or not result.total or result.good + result.unwinnable < result.total:
        raise typer.Exit(1)


@app.command("install")
def install(
    name: Annotated[str, typer.Argument(help="The benchmark.")],
    python: Annotated[
        str, typer.Option(help="The Python for the environment, such as python3.12. Default: the current one.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Install a benchmark's engine into an environment of its own."""
    import sys

    from seasoned.lab.benchmarks.install import install as make

    python_path = make(name, progress=lambda words: typer.echo(words, err=True), python=python or sys.executable)
    show(as_json, {"benchmark": name, "python": str(python_path)}, str(python_path))


@app.command("generate")
def generate(
    name: Annotated[str, typer.Argument(help="The benchmark: alfworld.")],
    out: Annotated[Path, typer.Option(help="The folder for the games.")],
    games: Annotated[int, typer.Option(min=1, help="The number of games.")] = 60,
    seed: Annotated[int, typer.Option(help="The seed of the games.")] = 0,
    python: Annotated[
        str, typer.Option(help="A Python that has the engine. Default: the one of `bench install`.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Generate new games, and prove each by playing it to the end."""
    if name != "alfworld":
        raise ConfigError(
            f"games are generated for alfworld, not for {name!r}; other benchmarks have data or generate their tasks"
        )
    from seasoned.lab.benchmarks.alfworld.games import generate as make

    made = make(games, seed, out, python=python or None, progress=_counted)
    show(as_json, {"folder": str(out), "games": len(made)}, f"{many(len(made), 'game')} in {out}")


def _counted(done: int, total: int) -> None:
    if done == total or done % 10 == 0:
        typer.echo(f"{done} of {total} games", err=True)


@app.command("attack")
def attack(
    scene: Annotated[str, typer.Argument(help="The scene: emoji, hotpotqa or shop. Default: all.")] = "",
    defence: Annotated[
        list[str] | None,
        typer.Option(help="clean, off, patterns or on; repeatable. Default: off, patterns and on."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="The model: gullible (scripted, believes everything), local, or a server's.")
    ] = "gullible",
    store: Annotated[
        str, typer.Option(help="A store for the model's replies, so that a stopped command can resume.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Plant attacks in training attempts.

    Counts how often the test attempt obeys them.
    """
    import tempfile
    from contextlib import ExitStack

    from seasoned.lab.attacks import DEFENCES, attack_all, load_attacks, summary
    from seasoned.memory.opening import LateModel
    from seasoned.store.sql import Store

    chosen = [each for each in DEFENCES if each in (defence or ["off", "patterns", "on"])]
    if unknown := set(defence or ()) - set(DEFENCES):
        raise ConfigError(f"a defence is one of {', '.join(DEFENCES)}, but got {min(unknown)!r}")
    attacks = load_attacks(scene)
    with ExitStack() as stack:
        llm = replies = None
        if model != "gullible":
            folder = store or f"{stack.enter_context(tempfile.TemporaryDirectory())}/replies.db"
            llm, replies = stack.enter_context(closing(LateModel(model))), stack.enter_context(Store(folder))
        tried = attack_all(attacks, chosen, llm, lambda words: typer.echo(words, err=True), replies)
    results = {"model": model, **summary(tried)}
    each = [
        {"attack": one.attack.name, "scene": one.attack.scene, "defence": one.defence, "succeeded": one.succeeded}
        for one in tried
    ]
    counts = f"{results['attacks']} attacks, of which the patterns flag {results['flagged_by_patterns']}"
    by_defence = (
        f"{name:<9} {result['succeeded']} of {result['n']} succeed" for name, result in results["defences"].items()
    )
    show(as_json, {**results, "each": each}, [f"{counts}; model: {model}", *by_defence])


def benchmark_options(settings: Sequence[str]) -> dict[str, Any]:
    """The options of a benchmark from `key=value` settings (else a ConfigError); a key may begin with `benchmark.`."""
    from seasoned.lab.run.recipe import settings_of

    named = []
    for setting in settings:
        option = setting.strip().removeprefix("benchmark.")
        key, sign, _ = option.partition("=")
        if not sign or not key:
            raise ConfigError(f"expected an option of the benchmark as key=value, such as data=FILE; got {setting!r}")
        if "." in key:
            raise ConfigError(
                f"-c sets options of the benchmark here, such as data=FILE, but {key.strip()} belongs to the section "
                f"{key.partition('.')[0].strip()!r} of a recipe"
            )
        named.append(f"benchmark.{option}")
    named_options: dict[str, Any] = settings_of(named).get("benchmark", {})
    return named_options


def _solved(good: int, total: int) -> str:
    return f"{good}/{total} tasks are solved by what is known to solve them"


def _check_answers(name: str, options: dict[str, Any], seed: int, as_json: bool) -> None:
    """Load a benchmark that takes one answer, give every task its gold answer, and show one task."""
    from seasoned.contracts import check_environment
    from seasoned.lab.benchmarks import load_benchmark

    benchmark = load_benchmark(name, options, seed=seed)
    check_environment(lambda: benchmark.make_env(True), benchmark.train[0])
    solved = 0
    tasks = [*benchmark.train, *benchmark.test]
    for task in tasks:
        with closing(benchmark.make_env(False)) as env:
            env.reset(task)
            solved += bool(env.step(f"ANSWER[{task.data['answer']}]")[4].get("success"))
    result = {
        "benchmark": name,
        "source": benchmark.source,
        "training": len(benchmark.train),
        "test": len(benchmark.test),
        "solved_with_gold": solved,
    }
    counts = f"{len(benchmark.train)} training and {len(benchmark.test)} test cases"
    lines = [f"{name}: {counts} from {benchmark.source}", f"a case:\n{benchmark.train[0].text}"]
    show(as_json, result, [*lines, _solved(solved, len(tasks))])
    if solved < len(tasks):
        raise typer.Exit(1)
