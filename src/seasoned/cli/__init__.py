"""The command line of Seasoned: one module for each command or group of commands.

Always holds: results go to standard output and everything else to standard error; the exit code is 1, with a sentence,
after a user's mistake, 2 after a wrong command line, and 130 after Ctrl-C; a command imports the heavy libraries that
it needs; characters that cannot be read or written become question marks.
"""

from __future__ import annotations

import io
import sys

from seasoned.cli.shared import fail
from seasoned.errors import ConfigError, SeasonedError


def main() -> None:
    """Run the command line and exit with its code."""
    if "" not in sys.path:
        # A user's import path may be in the current folder; installed packages come first.
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
    except OSError as error:  # such as a full disk under standard output
        name = error.filename or "the output"
        sys.exit(fail(ConfigError(f"{name} cannot be read or written: {error.strerror or error}")))
