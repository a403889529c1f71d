"""The command line of Seasoned: one module a command or a group of commands.

Always holds: results go to standard output and everything else to standard error; a user's mistake is a sentence and
exit code 1, a wrong command line 2, Ctrl-C 130; heavy libraries are imported by the command that needs them; what a
terminal has no character for is a question mark; so is, of what is typed or piped in, what is no text.
"""

from __future__ import annotations

import io
import sys

import typer

from seasoned.cli import attempts, exchange, lessons, mcp, model, serve
from seasoned.cli.shared import fail
from seasoned.errors import ConfigError, SeasonedError
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


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="seasoned", standalone_mode=True)
    except SeasonedError as error:
        sys.exit(fail(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:  # such as a full disk that standard output goes to
        what = error.filename or "the output"
        sys.exit(fail(ConfigError(f"{what} cannot be read or written: {error.strerror or error}")))
