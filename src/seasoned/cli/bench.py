"""`seasoned bench`: the benchmarks, and whether their data is fit."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.shared import JsonOption, print_json
from seasoned.errors import ConfigError

app = typer.Typer(help="List the benchmarks and check their data.", no_args_is_help=True)


@app.command("list")
def list_benchmarks(as_json: JsonOption = False) -> None:
    """List the benchmarks."""
    from importlib import import_module

    from seasoned.benchmarks import NAMES

    docs = {name: import_module(f"seasoned.benchmarks.{name}").__doc__ or "" for name in NAMES}
    about = {name: " ".join(doc.split("\n\n")[0].split()) for name, doc in docs.items()}
    if as_json:
        print_json([{"name": name, "about": text} for name, text in about.items()])
        return
    for name, text in about.items():
        typer.echo(f"{name:<8} {text.removeprefix(f'{name.upper()}: ')}")


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(help="The benchmark.")],
    setting: Annotated[
        list[str] | None,
        typer.Option("-c", "--set", metavar="KEY=VALUE", help="An option of the benchmark: -c data=FILE. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed the tasks are drawn by.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Load a benchmark's data, solve every task with its gold answer, and show one task."""
    import tomllib

    from seasoned.benchmarks import load_benchmark
    from seasoned.contracts import check_environment

    options = {}
    for one in setting or []:
        key, sign, text = one.partition("=")
        if not sign:
            raise ConfigError(f"expected an option as key=value, but got {one!r}")
        try:
            options[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            options[key] = text
    benchmark = load_benchmark(name, options, seed=seed)
    check_environment(lambda: benchmark.make_env(True), benchmark.train[0])
    solved = 0
    tasks = [*benchmark.train, *benchmark.test]
    for task in tasks:
        env = benchmark.make_env(False)
        env.reset(task)
        solved += bool(env.step(f"ANSWER[{task.data['answer']}]")[4].get("success"))
        env.close()
    result = {
        "benchmark": name,
        "source": benchmark.source,
        "training": len(benchmark.train),
        "test": len(benchmark.test),
        "solved_with_gold": solved,
    }
    if as_json:
        print_json(result)
    else:
        typer.echo(
            f"{name}: {len(benchmark.train)} training and {len(benchmark.test)} test cases from {benchmark.source}"
        )
        typer.echo(f"a case:\n{benchmark.train[0].text}\n{solved}/{len(tasks)}")
    if solved < len(tasks):
        raise typer.Exit(1)
