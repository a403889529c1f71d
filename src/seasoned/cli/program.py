"""The program: the product's commands, and those that plugins add."""

from __future__ import annotations

import typer

from seasoned.cli import attempts, exchange, lessons, mcp, model, serve
from seasoned.plugins import loaded

app = typer.Typer(
    name="seasoned",
    help="Agents that learn from their own experience: record what they did, learn lessons, and know that they help.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("attempts")(attempts.attempts)
app.command("replay")(attempts.replay)
app.command("recall")(lessons.recall)
app.command("import")(exchange.import_)
app.command("export")(exchange.export)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("doctor")(model.doctor)
app.add_typer(lessons.app, name="lessons")
app.add_typer(model.app, name="model")
for _, add in loaded("commands"):
    add(app)


def _version(wanted: bool) -> None:
    if wanted:
        from seasoned import __version__

        typer.echo(f"seasoned {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    del version
