"""The laboratory's part of the command line: runs, their stages, benchmarks, the demo.

Always holds: heavy libraries are imported by the command that needs them.
"""

from __future__ import annotations

import typer

from seasoned.lab.cli import bench, demo, play, run, runs, stages, transfer


def add(app: typer.Typer) -> None:
    """Add the laboratory's commands; the entry point `seasoned.commands` names this function."""
    app.command("run")(run.run)
    app.command("gather")(stages.gather)
    app.command("learn")(stages.learn)
    app.command("evaluate")(stages.evaluate)
    app.command("transfer")(transfer.transfer)
    app.command("demo")(demo.demo)
    app.command("play")(play.play)
    app.add_typer(runs.app, name="runs")
    app.add_typer(bench.app, name="bench")
