"""`seasoned runs`: lists, shows, compares and exports runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from seasoned.cli.shared import (
    RUNS,
    JsonOption,
    RunArgument,
    RunsOption,
    all_runs,
    check_output,
    find_run,
    many,
    print_json,
    tell,
    write_out,
)
from seasoned.cli.shared import show as show_lines
from seasoned.errors import ConfigError
from seasoned.text import one_line

app = typer.Typer(help="List, show and compare the runs of this folder.", no_args_is_help=True)


@app.command("list")
def list_runs(runs: RunsOption = RUNS, as_json: JsonOption = False) -> None:
    """List the runs, the latest last."""
    from seasoned.lab.run.rundir import SUMMARY, read_summary

    rows = []
    for directory in all_runs(runs):
        complete = (directory / SUMMARY).is_file()
        model, headline = "", "not complete"
        try:
            if complete:
                summary = read_summary(directory)
                model, headline = summary.run.model, summary.headline
        except ConfigError:
            complete, headline = False, f"its {SUMMARY} is damaged"
        rows.append({"run": directory.name, "complete": complete, "model": model, "headline": headline})
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    columns = Column("run", overflow="fold"), Column("done", no_wrap=True), Column("found", overflow="fold")
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        cells = (one_line(row["run"], 200), "yes" if row["complete"] else "no", one_line(row["headline"], 1000))
        table.add_row(*map(Text, cells))
    none = f"There are no runs in {runs} yet: `seasoned run emoji` makes one."
    Console().print(table if rows else Text(one_line(none, 1000)))


@app.command("show")
def show(run: RunArgument, runs: RunsOption = RUNS, as_json: JsonOption = False) -> None:
    """Show the results of a run."""
    from seasoned.lab.cli.run import show_run
    from seasoned.lab.run.rundir import read_summary

    directory = find_run(run, runs)
    if as_json:
        print_json({"path": str(directory), **read_summary(directory).to_json()})
    else:
        show_run(directory, False)


@app.command("compare")
def compare(
    run: Annotated[list[str], typer.Argument(metavar="RUN...", help="Two or more runs.")],
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Compare the conditions of several runs.

    Paired tests are shown where the runs share tasks.
    """
    from seasoned.lab.report.tables import comparison_table, to_json, to_rich
    from seasoned.lab.run.rundir import read_rows, read_summary

    if len(run) < 2:
        raise ConfigError(f"expected two runs or more to compare, but got one: seasoned runs compare {run[0]} OTHER")
    places = [find_run(name, runs) for name in run]
    summaries, rows = [read_summary(p) for p in places], [read_rows(p) for p in places]
    table = comparison_table(summaries, rows)
    if as_json:
        print_json(to_json(table))
        return
    from rich.console import Console

    console = Console()
    console.print(to_rich(table, console.width))


@app.command("table")
def table(
    run: RunArgument,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one row per episode.")] = False,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Print the table of a run. --csv or --json print all its episodes as rows."""
    from seasoned.lab.report.tables import main_table, to_rich
    from seasoned.lab.run.rundir import flat_rows, read_summary, to_csv

    directory = find_run(run, runs)
    if as_json:
        print_json(flat_rows(directory))
    elif as_csv:
        write_out([to_csv(flat_rows(directory))], None)
    else:
        from rich.console import Console

        console = Console()
        console.print(to_rich(main_table(read_summary(directory)), console.width))


@app.command("export")
def export(
    run: RunArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The log; of several conditions, each log gets its name too.")
    ],
    form: Annotated[
        Literal["eval"], typer.Option("--format", help="The format: eval, the log of inspect-ai.")
    ] = "eval",
    condition: Annotated[list[str] | None, typer.Option("--condition", help="Only this one. Repeatable.")] = None,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Write the test attempts of a run as logs of inspect-ai, one for each condition."""
    from seasoned.lab.report.inspect_log import write_log
    from seasoned.lab.report.measures import final
    from seasoned.lab.run.rundir import read_rows, read_summary, read_trajectories

    directory = find_run(run, runs)
    description = read_summary(directory).run
    rows = read_rows(directory)
    tested = final(rows)
    tested_conditions = list(dict.fromkeys(row.condition for row in tested))
    chosen = condition or tested_conditions
    if unknown := [name for name in chosen if name not in tested_conditions]:
        raise ConfigError(
            f"the run {directory.name} tested no condition {unknown[0]!r}; it tested {', '.join(tested_conditions)}"
        )
    attempts = read_trajectories(directory, {row.trajectory_id for row in tested if row.condition in chosen})
    logs = []
    for name in dict.fromkeys(chosen):
        alone = len(tested_conditions) == 1 or condition == [name]
        path = output if alone else output.with_stem(f"{output.stem}-{_plain(name)}")
        check_output(path)
        count = write_log(path, description, name, rows, attempts)
        logs.append({"condition": name, "file": str(path), "samples": count})
        if not as_json:
            tell(f"{path}: {many(count, 'sample')} of {name}")
    if as_json:
        print_json({"run": directory.name, "logs": logs})


def _plain(condition: str) -> str:
    """A condition's name for use in a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_=" else "-" for letter in condition).strip("-")


@app.command("path")
def path(run: RunArgument, runs: RunsOption = RUNS, as_json: JsonOption = False) -> None:
    """Print the directory of a run."""
    folder = find_run(run, runs).resolve()
    show_lines(as_json, {"path": str(folder)}, str(folder))


def check(folder: Path) -> tuple[str, bool, str]:
    """A line of `seasoned doctor`: whether the summaries of the complete runs can be read."""
    from seasoned.lab.run.rundir import SUMMARY, read_summary

    directories = all_runs(folder)
    complete = [directory for directory in directories if (directory / SUMMARY).is_file()]
    for directory in complete:
        try:
            read_summary(directory)
        except ConfigError as error:
            return "runs", False, str(error)
    return "runs", True, f"{len(directories)} in {folder}, {len(complete)} complete"
