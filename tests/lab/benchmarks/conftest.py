"""A sandbox for programs, and a program that stands in for ALFWorld's engine."""

import sys

import pytest

from seasoned.errors import ConfigError
from seasoned.sandbox import find_walls

ENGINE = """
import json, os, sys, time
ROOM = (
    "-= Welcome to TextWorld, ALFRED! =-\\n\\nYou are in the middle of a room. Looking quickly around you, you see "
    "a desk 1, a drawer 1, and a shelf 1.\\n\\nYour task is to: put some mug on shelf."
)
SAYS = {
    "go to desk 1": "You arrive at desk 1. On the desk 1, you see a mug 1.",
    "go to shelf 1": "You arrive at loc 5. On the shelf 1, you see nothing.",
    "go to drawer 1": "You arrive at drawer 1. The drawer 1 is closed.",
    "open drawer 1": "You open the drawer 1. The drawer 1 is open. In it, you see nothing.",
    "take mug 1 from desk 1": "You pick up the mug 1 from the desk 1.",
    "move mug 1 to shelf 1": "You move the mug 1 to the shelf 1.",
    "put mug 1 in/on shelf 1": "You put the mug 1 in/on the shelf 1.",
}
def say(**reply):
    print(json.dumps(reply), flush=True)
say(id=0, versions={"engine": "1"})
done = []
for line in sys.stdin:
    request = json.loads(line)
    command = request.get("command", "")
    QUIRK
    if request["do"] == "load":
        done = []
        say(id=request["id"], observation=ROOM, won=False)
        continue
    done.append(command)
    won = command in ("move mug 1 to shelf 1", "put mug 1 in/on shelf 1") and "take mug 1 from desk 1" in done
    say(id=request["id"], observation=SAYS.get(command, "Nothing happens."), won=won)
"""


@pytest.fixture
def engine(tmp_path):
    """The command of a worker that knows one small game; `quirk` is run at each request.

    A quirk that begins with ONCE is run a single time, whatever becomes of the process.
    """

    def command(quirk="pass"):
        mark = str(tmp_path / "happened")
        once = f"not os.path.exists({mark!r}) and not open({mark!r}, 'w').close()"
        script = tmp_path / "engine.py"
        script.write_text(ENGINE.replace("QUIRK", quirk.replace("ONCE", once)), encoding="utf-8")
        return (sys.executable, str(script))

    return command


@pytest.fixture
def walls():
    """Skips the test if no sandbox works here."""
    try:
        find_walls()
    except ConfigError as error:
        pytest.skip(str(error))
