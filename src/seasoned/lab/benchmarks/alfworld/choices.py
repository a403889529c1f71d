"""What an agent can do next in ALFWorld, as it follows from what it has read so far, and a notebook for it.

Pure functions over text; the engine is not asked. Several places may stand at one spot, and then going from one to the
other does nothing: that is how one learns of it, and both are in reach from then on. The notebook is for models that
lose the thread: what is asked, what is held, where one has been. Always holds: every name in a command was in an
observation; a command is offered only if nothing read so far speaks against it; a line of the notebook repeats what was
read; it leaves out a place only while going there again would show what was seen already; and no text raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from seasoned.types import Trajectory

TOOLS = {"microwave": "heat", "fridge": "cool", "sinkbasin": "clean", "bathtubbasin": "clean"}
UNDONE_BY = {"heat": "cool", "cool": "heat"}
LAMPS = ("desklamp", "floorlamp")
NOTHING = "Nothing happens."

_NAME = r"[a-z][\w-]{0,40}(?: \d{1,4})?"
_ROOM = re.compile(r"you see (?P<list>[^.]{0,20000})\.", re.IGNORECASE)
_LISTED = re.compile(rf"(?:On|In) the (?P<place>{_NAME}), you see (?P<list>[^.]{{0,20000}})\.", re.IGNORECASE)
_OPEN = re.compile(rf"The (?P<place>{_NAME}) is open\. In it, you see (?P<list>[^.]{{0,20000}})\.", re.IGNORECASE)
_CLOSED = re.compile(rf"The (?P<place>{_NAME}) is closed\.|You close the (?P<shut>{_NAME})\.", re.IGNORECASE)
_TAKEN = re.compile(rf"You pick up the (?P<thing>{_NAME}) from the (?P<place>{_NAME})\.", re.IGNORECASE)
_MOVED = re.compile(rf"You move the (?P<thing>{_NAME}) to the (?P<place>{_NAME})\.", re.IGNORECASE)
_TREATED = re.compile(rf"You (?P<how>heat|cool|clean) the (?P<thing>{_NAME}) using the ", re.IGNORECASE)
_GOING = re.compile(rf"go to (?P<place>{_NAME})")
_ITEM = re.compile(rf"\ban? (?P<name>{_NAME})", re.IGNORECASE)


@dataclass(frozen=True)
class Known:
    """What has been read so far.

    `places` are those of the room, `at` is where the agent stands and `held` what it holds ("": nowhere, nothing).
    `seen` has what each place held when that was last read, None where it was closed all the time. `shut` and `opened`
    are the places that were last said to be closed and open. `treated` has ("heat", "mug 1") and the like, `refused`
    the commands that followed from all this and still did nothing, and `spots` the places that stand together.
    """

    places: tuple[str, ...] = ()
    at: str = ""
    held: str = ""
    seen: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    shut: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    treated: frozenset[tuple[str, str]] = frozenset()
    refused: frozenset[str] = frozenset()
    spots: tuple[frozenset[str], ...] = ()


def begin(observation: str) -> Known:
    """What the first observation tells: the places of the room, in its order."""
    room = _ROOM.search(observation)
    return Known(places=_items(room["list"]) if room else ())


def after(known: Known, command: str, observation: str) -> Known:
    """What is known after a command and the observation that it brought."""
    if observation.strip() == NOTHING:
        return _refused(known, command)
    if going := _GOING.fullmatch(command):
        known = replace(known, at=going["place"])
    if taken := _TAKEN.search(observation):
        place, thing = taken["place"].lower(), taken["thing"].lower()
        left = tuple(other for other in known.seen.get(place) or () if other != thing)
        return replace(known, held=thing, seen={**known.seen, place: left})
    if moved := _MOVED.search(observation):
        place, thing = moved["place"].lower(), moved["thing"].lower()
        there = tuple(dict.fromkeys((*(known.seen.get(place) or ()), thing)))
        return replace(known, held="", seen={**known.seen, place: there})
    if treated := _TREATED.search(observation):
        how, thing = treated["how"].lower(), treated["thing"].lower()
        kept = known.treated - {(UNDONE_BY.get(how, ""), thing)}
        return replace(known, treated=kept | {(how, thing)})
    return _looked(known, observation)


def _refused(known: Known, command: str) -> Known:
    """What is known after a command that followed and yet did nothing."""
    if command not in choices(known):
        return known
    going = _GOING.fullmatch(command)
    if not going or not known.at:
        # Some things cannot be taken and some places take nothing: no text says so before.
        return replace(known, refused=known.refused | {command})
    together = _reach(known) | {going["place"]}
    return replace(known, spots=(*(spot for spot in known.spots if not spot & together), together))


def _looked(known: Known, observation: str) -> Known:
    """What is known after reading what a place holds, or that it is closed."""
    if match := _CLOSED.search(observation):
        place = (match["place"] or match["shut"]).lower()
        # What was seen inside is not forgotten when it is closed.
        seen = {**known.seen, place: known.seen.get(place)}
        return replace(known, seen=seen, shut=known.shut | {place}, opened=known.opened - {place})
    if match := _OPEN.search(observation):
        place = match["place"].lower()
        seen = {**known.seen, place: _items(match["list"])}
        return replace(known, seen=seen, shut=known.shut - {place}, opened=known.opened | {place})
    if match := _LISTED.search(observation):
        return replace(known, seen={**known.seen, match["place"].lower(): _items(match["list"])})
    return known


def choices(known: Known) -> list[str]:
    """The commands that follow: first what can be done here, then where one can go."""
    reach = _reach(known)
    ordered = [place for place in (known.at, *known.places) if place in reach]
    commands = [command for place in dict.fromkeys(ordered) for command in _there(known, place)]
    commands += [f"go to {place}" for place in known.places if place not in reach]
    return [command for command in commands if command not in known.refused]


def _reach(known: Known) -> frozenset[str]:
    """The places that can be acted on from where the agent stands."""
    here = frozenset({known.at} - {""})
    return here.union(*(spot for spot in known.spots if spot & here))


def _there(known: Known, place: str) -> list[str]:
    """What can be done with a place in reach."""
    held, things = known.held, known.seen.get(place) or ()
    commands = []
    if place not in known.seen:
        commands.append(f"examine {place}")
    elif place in known.shut:
        commands.append(f"open {place}")
    elif held:
        commands.append(f"move {held} to {place}")
    else:
        commands += [f"take {thing} from {place}" for thing in things]
    how = TOOLS.get(kind_of(place))
    if how and held and (how, held) not in known.treated:
        commands.append(f"{how} {held} with {place}")
    if place not in known.shut:
        commands += [f"use {thing}" for thing in things if kind_of(thing) in LAMPS]
    if place in known.opened:
        commands.append(f"close {place}")
    return commands


def seen(known: Known) -> dict[str, list[str] | str]:
    """The places that were looked at and their last contents; "" for a closed place."""
    return {place: "" if things is None else list(things) for place, things in known.seen.items()}


def kind_of(name: str) -> str:
    """What a numbered thing or place is: "mug" of "mug 2"."""
    return name.split(" ", 1)[0]


def _items(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item["name"].lower() for item in _ITEM.finditer(text)))


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

        All of them if nothing else is left.
        """
        fresh = [c for c in commands if not (c.startswith("go to ") and c.removeprefix("go to ") in self.visited)]
        if self.focus:
            fresh = [command for command in fresh if self._fits(command)]
        return fresh or list(commands)

    def line(self, known: Known) -> str:
        """The goal, what is held, and the things seen whose name is in the task, in one line."""
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
    match = _GOAL.search(observation)
    return Notebook(goal=f"{match['goal'].strip().rstrip('.')}." if match else "", focus=focus)


def noted(trajectory: Trajectory, focus: bool = False) -> Trajectory:
    """A worked trajectory with the line under each of its observations, as an agent with a notebook sees it."""
    book, known, steps = open_notebook(trajectory.task, focus), begin(trajectory.task), []
    for step in trajectory.steps:
        known = after(known, step.action, step.observation)
        book = book.after(known)
        steps.append(step.model_copy(update={"observation": f"{step.observation}\n{book.line(known)}"}))
    return trajectory.model_copy(update={"steps": tuple(steps)})
