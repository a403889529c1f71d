"""The program: the product's commands and those of plugins, such as the laboratory's."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from seasoned.cli import attempts, coding, exchange, lessons, model, serve, store
from seasoned.plugins import loaded

_GROUPS = {
    "What was learned": ("lessons", "recall", "effect"),
    "Attempts": ("attempts", "replay", "outcome", "learn", "import", "export"),
    "Serve it": ("serve", "mcp", "hook"),
    "Keep it": ("backup", "restore", "prune", "token", "doctor", "model", "store"),
}
_OTHERS = "The laboratory, and what plugins add"


class Grouped(TyperGroup):
    """Lists the product's commands in groups, then those of plugins."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list for each group, under its heading."""
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        known = {name for names in _GROUPS.values() for name in names}
        wide = max(map(len, shown))
        limit = formatter.width - 6 - wide
        for heading, names in {**_GROUPS, _OTHERS: [name for name in shown if name not in known]}.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{wide}}", shown[name].get_short_help_str(limit)) for name in names])


app = typer.Typer(
    name="seasoned",
    cls=Grouped,
    help="Seasoned lets LLM agents learn from their own attempts, in plain language, and measures whether it helps.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(lessons.app, name="lessons")
app.command("attempts")(attempts.attempts)
app.command("replay")(attempts.replay)
app.command("outcome")(attempts.outcome)
app.command("learn")(attempts.learn)
app.command("recall")(lessons.recall)
app.command("effect")(attempts.effect)
app.command("import")(exchange.import_)
app.command("export")(exchange.export)
app.command("serve")(serve.serve)
app.command("mcp")(serve.mcp)
app.command("backup")(store.backup)
app.command("restore")(store.restore)
app.command("prune")(store.prune)
app.add_typer(store.tokens, name="token")
app.command("doctor")(model.doctor)
app.add_typer(model.app, name="model")
app.add_typer(store.app, name="store")
app.add_typer(coding.app, name="hook")
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
