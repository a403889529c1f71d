"""A notebook beside an ALFWorld game, for models that lose the thread: what is asked, what is held, where one has been.

Written from the observations alone. Always holds: a line of it repeats what was read and says nothing new; a place
is left out of the choices only while going there again would show what was seen already, and other commands only with
`focus`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seasoned.lab.benchmarks.alfworld.choices import Known, after, begin, choices, kind_of
from seasoned.types import Trajectory

_GOAL = re.compile(r"Your task is to: (?P<goal>[^\n]{1,400})")
_STATES = {"heat": "hot", "cool": "cold", "clean": "clean"}
_WANTED = {"hot": "heat", "heat": "heat", "cold": "cool", "cool": "cool", "clean": "clean"}
_ELSEWHERE = ("go to ", "close ", "examine ")
_AT_MOST = 4
"""Things seen that a line names; more of them only cost tokens."""


@dataclass(frozen=True)
class Notebook:
    """The task, and the places looked at since what is held last changed.

    With `focus`, commands beside the task are not offered; what is left to be done here stands in the line, and where a
    thing that is ready goes.
    """

    goal: str = ""
    focus: bool = False
    hand: tuple[str, frozenset[tuple[str, str]]] = ("", frozenset())
    visited: frozenset[str] = frozenset()

    def after(self, known: Known) -> Notebook:
        """The notebook once this is known."""
        hand = (known.held, known.treated)
        visited = self.visited if hand == self.hand else frozenset()
        return replace(self, hand=hand, visited=visited | ({known.at} - {""}))

    def choices(self, commands: Sequence[str]) -> list[str]:
        """The commands without going where one has been and, with `focus`, without those beside the task.

        All of them where nothing else is left.
        """
        fresh = [c for c in commands if not (c.startswith("go to ") and c.removeprefix("go to ") in self.visited)]
        if self.focus:
            fresh = [command for command in fresh if self._fits(command)]
        return fresh or list(commands)

    def line(self, known: Known) -> str:
        """What is asked, what is held, and which things were seen whose name stands in the task, in one line."""
        asked = self._asked()
        done = {how for how, thing in known.treated if thing == known.held and how in _STATES}
        due = self._due() - done
        states = [*sorted(_STATES[how] for how in done), *sorted(f"not {_STATES[how]} yet" for how in due)]
        held = f"{known.held} ({', '.join(states)})" if states and known.held else known.held or "nothing"
        stray = bool(known.held) and kind_of(known.held) not in asked
        if stray:
            held = f"{known.held}, which the task does not name"
        seen = [f"{t} at {place}" for place, things in known.seen.items() for t in things or () if kind_of(t) in asked]
        said = f"Task: {self.goal} You hold: {held}."
        if seen or not known.held or stray:
            said += f" Seen of it: {', '.join(seen[:_AT_MOST]) or 'nothing yet'}."
        if not self.focus:
            return said
        goes = (
            [place for place in known.places if kind_of(place) in asked] if known.held and not stray and not due else []
        )
        here = [c for c in self.choices(choices(known)) if not c.startswith(_ELSEWHERE)]
        said += f" It goes to: {', '.join(goes[:_AT_MOST])}." if goes else ""
        return f"{said} Here: {', '.join(here[:_AT_MOST])}." if here else said

    def _asked(self) -> frozenset[str]:
        return frozenset(re.findall(r"[a-z]+", self.goal.lower()))

    def _due(self) -> frozenset[str]:
        """What the task wants done to a thing before it is put down."""
        return frozenset(how for word, how in _WANTED.items() if word in self._asked())

    def _fits(self, command: str) -> bool:
        """Whether a command serves the task, as far as its words tell.

        Taken is what the task names, unless it is ready and where it goes; put down what is ready, where it goes;
        heated, cooled or cleaned as the task says. With a full hand only the place where the thing goes is opened; a
        lamp is lit with a full hand alone.
        """
        asked, (verb, _, rest) = self._asked(), command.partition(" ")
        if verb == "open":
            return not self.hand[0] or kind_of(rest) in asked
        if verb == "use":
            return bool(self.hand[0])
        if verb not in ("take", "move"):
            return verb not in _STATES or verb in self._due()
        thing, _, place = rest.partition(" from " if verb == "take" else " to ")
        ready = self._due() <= {how for how, treated in self.hand[1] if treated == thing}
        there = ready and kind_of(place) in asked
        return there if verb == "move" else kind_of(thing) in asked and not there


def open_notebook(observation: str, focus: bool = False) -> Notebook:
    """The notebook of a game that begins with this observation."""
    found = _GOAL.search(observation)
    return Notebook(goal=f"{found['goal'].strip().rstrip('.')}." if found else "", focus=focus)


def noted(trajectory: Trajectory, focus: bool = False) -> Trajectory:
    """A worked trajectory with the line under each of its observations, as an agent with a notebook sees it."""
    book, known, steps = open_notebook(trajectory.task, focus), begin(trajectory.task), []
    for step in trajectory.steps:
        known = after(known, step.action, step.observation)
        book = book.after(known)
        steps.append(step.model_copy(update={"observation": f"{step.observation}\n{book.line(known)}"}))
    return trajectory.model_copy(update={"steps": tuple(steps)})
