"""The laboratory's part of the command line: runs, their stages, benchmarks, the demo.

Always holds: heavy libraries are imported by the command that needs them.
"""

from __future__ import annotations

import typer

from seasoned.errors import ConfigError
from seasoned.lab.cli import bench, certify, play, run, runs, transfer

_REPLACEMENTS = {
    "gather": "seasoned run RECIPE --until gather",
    "evaluate": "seasoned run --resume RUN",
}
"""Commands of earlier versions, with their replacements."""


def add(app: typer.Typer) -> None:
    """Add the laboratory's commands; the entry point `seasoned.commands` names this function."""
    app.command("run")(run.run)
    app.add_typer(runs.app, name="runs")
    app.command("certify")(certify.certify)
    app.command("audit")(certify.audit)
    app.add_typer(bench.app, name="bench")
    app.command("demo")(run.demo)
    app.command("play")(play.play)
    app.command("transfer")(transfer.transfer)
    for name in _REPLACEMENTS:
        lenient = {"ignore_unknown_options": True, "allow_extra_args": True}
        app.command(name, hidden=True, context_settings=lenient)(_replaced)


def _replaced(context: typer.Context) -> None:
    """Name the replacement for a command of an earlier version."""
    name = str(context.info_name)
    raise ConfigError(f"{name} is a stage of a run now: {_REPLACEMENTS[name]}")
