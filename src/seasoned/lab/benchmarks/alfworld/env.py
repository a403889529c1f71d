"""ALFWorld's household games as an Environment: the engine runs in a worker process, and its text has one form.

Always holds: for games of every version, the command to put down is `move X to Y` and an arrival shows only what is
there; for any action, a step returns Gymnasium's five values; an engine that fails is replaced once, by `Episode`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seasoned.errors import ContractError
from seasoned.lab.benchmarks.action import Calls, form
from seasoned.lab.benchmarks.alfworld.choices import (
    NOTHING,
    Known,
    Notebook,
    after,
    begin,
    choices,
    open_notebook,
    seen,
)
from seasoned.lab.benchmarks.alfworld.game import read_game
from seasoned.lab.benchmarks.worker import Episode
from seasoned.types import Task

OK = "OK."
MAX_ACTION = 200
"""The most characters of a command."""

_PLACE, _THING = 'such as "drawer 2"', 'such as "mug 1"'
CALLS = Calls(
    (
        form("go_to", "Goes to a place and shows what is there.", "go to {place}", place=_PLACE),
        form("open", "Opens a closed place.", "open {place}", place=_PLACE),
        form("close", "Closes a place.", "close {place}", place=_PLACE),
        form("examine", "Looks closely at a place.", "examine {place}", place=_PLACE),
        form("take", "Takes an object from here.", "take {object} from {place}", object=_THING, place=_PLACE),
        form("move", "Puts what one holds down at a place.", "move {object} to {place}", object=_THING, place=_PLACE),
        form("clean", "Cleans what one holds.", "clean {object} with {place}", object=_THING, place="a sinkbasin"),
        form("heat", "Heats what one holds.", "heat {object} with {place}", object=_THING, place="a microwave"),
        form("cool", "Cools what one holds.", "cool {object} with {place}", object=_THING, place="a fridge"),
        form("use", "Switches a lamp on.", "use {object}", object='such as "desklamp 1"'),
    )
)
"""The instruction's commands as tools."""

_ARRIVAL = re.compile(r"^You arrive at [^.\n]*\.\s*")
_OLD_PUT = re.compile(r"^You put the (?P<thing>.+?) (?:in/on|into|in|on) the (?P<place>.+?)\.$")
_PUT = re.compile(r"(?:(?:put|place) (.+?) (?:in/on|into|onto|in|on|to)|move (.+?) (?:in/on|to)) (.+)")
_THOUGHT = re.compile(r"(?:think|thought)\s*[:\[]", re.IGNORECASE)


@dataclass(eq=False)
class AlfworldEnvironment:
    """Plays one game at a time; holds a worker from `reset` to the end of the episode or `close`.

    After `max_steps` commands, or as many thoughts, the episode is truncated. With `notebook`, each observation ends
    with a line of a `Notebook`, and "choices" are its choices; `focus` is the notebook's.
    """

    episode: Episode
    max_steps: int
    notebook: bool = False
    focus: bool = False
    _book: Notebook = field(default_factory=Notebook, init=False)
    _moves: str = field(default="", init=False)
    _steps: int = field(default=0, init=False)
    _thoughts: int = field(default=0, init=False)
    _known: Known = field(default_factory=Known, init=False)

    def reset(self, task: Task, *, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a game: return the room and the task, and the info of `step` with tools.

        Raises a DataError if the task names no game that can be played, an InfrastructureError if the engine failed
        twice.
        """
        self.close()
        path = Path(str(task.data.get("game", "")))
        self._moves = read_game(path).moves
        observation = shown(self.episode.begin("load", game=str(path))["observation"])
        self._steps = self._thoughts = 0
        self._known, self._book = begin(observation), open_notebook(observation, self.focus)
        return observation, {**self._info(), **CALLS.info}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one command; a thought (`think: ..`) does not reach the engine.

        The info has "choices", the commands that are possible by the observations so far, and "seen", the last known
        contents of each place. Raises a ContractError before `reset` and after the end, an InfrastructureError if the
        engine failed twice.
        """
        if self.episode.pid is None:
            raise ContractError("step was called before reset or after the end of the game: call reset(task) first")
        action = CALLS.action(action)
        if _THOUGHT.match(action.strip()):
            self._thoughts += 1
            return self._result(OK, False)
        command = command_of(action)
        # A text that is too long counts as a step with an unknown command.
        reply = self.episode.ask("step", command=self._in_its_words(command) if len(command) <= MAX_ACTION else "")
        self._steps += 1
        observation = shown(reply["observation"])
        self._known = after(self._known, command, observation)
        self._book = self._book.after(self._known)
        return self._result(observation, bool(reply["won"]))

    def close(self) -> None:
        """End the game, if there is one, and release its worker. Calling it again does nothing."""
        self.episode.close()

    def _result(self, observation: str, won: bool) -> tuple[str, float, bool, bool, dict[str, Any]]:
        truncated = not won and max(self._steps, self._thoughts) >= self.max_steps
        info = self._info()
        if observation == NOTHING:
            info["invalid"] = True
        if won or truncated:
            info["success"] = won
            self.close()
        elif self.notebook:
            observation = f"{observation}\n{self._book.line(self._known)}"
        return observation, float(won), won, truncated, info

    def _in_its_words(self, command: str) -> str:
        """The command in the words of the game's grammar."""
        put = re.fullmatch(r"move (?P<thing>.+?) to (?P<place>.+)", command)
        return self._moves.format(**put.groupdict()) if put else command

    def _info(self) -> dict[str, Any]:
        commands = choices(self._known)
        return {"choices": self._book.choices(commands) if self.notebook else commands, "seen": seen(self._known)}


def command_of(action: str) -> str:
    """An action as a command: one line in lower case, without ">" or a full stop, with `move` for putting down."""
    text = " ".join("".join(c if c.isprintable() else " " for c in action[: 2 * MAX_ACTION]).split()).casefold()
    text = text.lstrip("> ").rstrip(". ")
    put = _PUT.fullmatch(text)
    return f"move {put[1] or put[2]} to {put[3]}" if put else text


def shown(observation: str) -> str:
    """The engine's text without its banner and arrivals, and with "You move the X to the Y." for putting down."""
    text = observation.strip()
    if text.startswith("-="):
        text = text.partition("\n")[2].strip()
    text = _ARRIVAL.sub("", re.sub(r"\n{2,}", "\n", text))
    put = _OLD_PUT.match(text)
    return f"You move the {put['thing']} to the {put['place']}." if put else text
