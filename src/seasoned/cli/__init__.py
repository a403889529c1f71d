"""The command line of Seasoned: one module a command or a group of commands.

Always holds: results go to standard output and everything else to standard error; a user's mistake is a sentence and
exit code 1, a wrong command line 2, Ctrl-C 130; heavy libraries are imported by the command that needs them; what a
terminal has no character for is a question mark; so is, of what is typed or piped in, what is not a text.
"""

from __future__ import annotations

import io
import sys

from seasoned.cli.shared import fail
from seasoned.errors import ConfigError, SeasonedError


def main() -> None:
    """Run the command line and exit with its code."""
    if "" not in sys.path:
        # What a user names by import path may lie in the current folder; what is installed comes first.
        sys.path.append("")
    from seasoned.cli.program import app

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
