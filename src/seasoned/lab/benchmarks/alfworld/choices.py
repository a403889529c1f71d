"""What the agent knows in ALFWorld: the commands that are possible next, a notebook, and where things were seen.

Pure functions over text; they do not ask the engine. Several places may be at one spot: then going from one to the
other does nothing, and from then on both are in reach. The notebook is for small models that forget the task, what they
hold and where they have been. Always holds: every name in a command was in an observation; a command is offered only if
no observation contradicts it; the notebook repeats only what was observed, and leaves out a place only while a second
visit would show nothing new; only the first place of a thing counts as its place; no text raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from seasoned.types import Step, Trajectory

TOOLS = {"microwave": "heat", "fridge": "cool", "sinkbasin": "clean", "bathtubbasin": "clean"}
UNDONE_BY = {"heat": "cool", "cool": "heat"}
LAMPS = ("desklamp", "floorlamp")
NOTHING = "Nothing happens."

_NAME = r"[a-z][\w-]{0,40}(?: \d{1,4})?"
_LIST = r"you see (?P<list>[^.]{0,20000})\."
_ROOM = re.compile(_LIST)
_LISTED = re.compile(rf"(?:on|in) the (?P<place>{_NAME}), {_LIST}")
_OPEN = re.compile(rf"the (?P<place>{_NAME}) is open\. in it, {_LIST}")
_CLOSED = re.compile(rf"the (?P<place>{_NAME}) is closed\.|you close the (?P<shut>{_NAME})\.")
_TAKEN = re.compile(rf"you pick up the ({_NAME}) from the ({_NAME})\.")
_MOVED = re.compile(rf"you move the ({_NAME}) to the ({_NAME})\.")
_TREATED = re.compile(rf"you (heat|cool|clean) the ({_NAME}) using the ")
_GOING = re.compile(rf"go to (?P<place>{_NAME})")
_ITEM = re.compile(rf"\ban? ({_NAME})")


@dataclass(frozen=True)
class Known:
    """What the agent knows from the observations so far.

    `places` are the places of the room, `at` is the agent's place and `held` the object it holds (each "" if none).
    `seen` has the last known contents of each place, None if it was always closed. `shut` and `opened` are the places
    that were closed and open when last observed. `treated` has pairs such as ("heat", "mug 1"), `refused` the offered
    commands that did nothing, and `spots` the groups of places at one spot.
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
    """The knowledge from the first observation: the places of the room, in its order."""
    room = _ROOM.search(observation.lower())
    return Known(places=_items(room["list"]) if room else ())


def after(known: Known, command: str, observation: str) -> Known:
    """The knowledge after a command and its observation."""
    if observation.strip() == NOTHING:
        return _refused(known, command)
    if going := _GOING.fullmatch(command):
        known = replace(known, at=going["place"])
    text = observation.lower()
    if taken := _TAKEN.search(text):
        thing, place = taken.groups()
        rest = tuple(other for other in known.seen.get(place) or () if other != thing)
        return replace(known, held=thing, seen={**known.seen, place: rest})
    if moved := _MOVED.search(text):
        thing, place = moved.groups()
        contents = tuple(dict.fromkeys((*(known.seen.get(place) or ()), thing)))
        return replace(known, held="", seen={**known.seen, place: contents})
    if treated := _TREATED.search(text):
        how, thing = treated.groups()
        return replace(known, treated=known.treated - {(UNDONE_BY.get(how, ""), thing)} | {(how, thing)})
    return _looked(known, text)


def _refused(known: Known, command: str) -> Known:
    """The knowledge after a command that did nothing."""
    if command not in choices(known):
        return known
    going = _GOING.fullmatch(command)
    if not going or not known.at:
        # Some things cannot be taken and some places take nothing, but no observation says so.
        return replace(known, refused=known.refused | {command})
    together = _reach(known) | {going["place"]}
    return replace(known, spots=(*(spot for spot in known.spots if not spot & together), together))


def _looked(known: Known, text: str) -> Known:
    """The knowledge after an observation of a place's contents, or that it is closed."""
    if match := _CLOSED.search(text):
        place = match["place"] or match["shut"]
        # A closed place keeps its known contents.
        seen = {**known.seen, place: known.seen.get(place)}
        return replace(known, seen=seen, shut=known.shut | {place}, opened=known.opened - {place})
    if match := _OPEN.search(text):
        place = match["place"]
        seen = {**known.seen, place: _items(match["list"])}
        return replace(known, seen=seen, shut=known.shut - {place}, opened=known.opened | {place})
    if match := _LISTED.search(text):
        return replace(known, seen={**known.seen, match["place"]: _items(match["list"])})
    return known


def choices(known: Known) -> list[str]:
    """The possible commands: first actions at the current spot, then places to go to."""
    reach = _reach(known)
    here = dict.fromkeys(place for place in (known.at, *known.places) if place in reach)
    commands = [command for place in here for command in _commands_at(known, place)]
    commands += [f"go to {place}" for place in known.places if place not in reach]
    return [command for command in commands if command not in known.refused]


def _reach(known: Known) -> frozenset[str]:
    """The places that the agent can act on from its place."""
    here = frozenset({known.at} - {""})
    return here.union(*(spot for spot in known.spots if spot & here))


def _commands_at(known: Known, place: str) -> list[str]:
    """The commands for a place in reach."""
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
    """The last known contents of the places that were looked at; "" for a place that was always closed."""
    return {place: "" if things is None else list(things) for place, things in known.seen.items()}


def kind_of(name: str) -> str:
    """The kind of a numbered thing or place: "mug" of "mug 2"."""
    return name.split(" ", 1)[0]


def _items(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_ITEM.findall(text)))


_GOAL = re.compile(r"Your task is to: (?P<goal>[^\n]{1,400})")
_STATES = {"heat": "hot", "cool": "cold", "clean": "clean"}
_WANTED = {"hot": "heat", "heat": "heat", "cold": "cool", "cool": "cool", "clean": "clean"}
_ELSEWHERE = ("go to ", "close ", "examine ")
_MAX_NAMES = 4
"""The most things in a line; more would only cost tokens."""


@dataclass(frozen=True)
class Notebook:
    """The task, and the places visited since the held object last changed.

    With `focus`, only commands that serve the task are offered; the line also names the commands possible here, and the
    places where a finished object goes. `hand` is the held object and the treatments of all objects.
    """

    goal: str = ""
    focus: bool = False
    hand: tuple[str, frozenset[tuple[str, str]]] = ("", frozenset())
    visited: frozenset[str] = frozenset()

    def after(self, known: Known) -> Notebook:
        """The notebook for new knowledge."""
        hand = (known.held, known.treated)
        visited = self.visited if hand == self.hand else frozenset()
        return replace(self, hand=hand, visited=visited | ({known.at} - {""}))

    def choices(self, commands: Sequence[str]) -> list[str]:
        """The commands that go to no visited place and, with `focus`, serve the task; all commands if none is left."""
        again = {f"go to {place}" for place in self.visited}
        fresh = [c for c in commands if c not in again and (self._fits(c) or not self.focus)]
        return fresh or list(commands)

    def line(self, known: Known) -> str:
        """One line with the goal, the held object, and the seen things that the task names."""
        words, held = self._words(), known.held
        done = {how for how, thing in known.treated if thing == held}
        due = self._due() - done
        stray = bool(held) and kind_of(held) not in words
        states = [*sorted(_STATES[how] for how in done), *sorted(f"not {_STATES[how]} yet" for how in due)]
        note = f" ({', '.join(states)})" if held and states else ""
        line = f"Task: {self.goal} You hold: {held or 'nothing'}{', which the task does not name' if stray else note}."
        seen = [f"{t} at {place}" for place, things in known.seen.items() for t in things or () if kind_of(t) in words]
        if seen or not held or stray:
            line += f" Seen of it: {', '.join(seen[:_MAX_NAMES]) or 'nothing yet'}."
        targets = [place for place in known.places if kind_of(place) in words]
        if self.focus and targets and held and not stray and not due:
            line += f" It goes to: {', '.join(targets[:_MAX_NAMES])}."
        here = [c for c in self.choices(choices(known)) if not c.startswith(_ELSEWHERE)]
        return f"{line} Here: {', '.join(here[:_MAX_NAMES])}." if self.focus and here else line

    def _words(self) -> frozenset[str]:
        """The words of the goal."""
        return frozenset(re.findall(r"[a-z]+", self.goal.lower()))

    def _due(self) -> frozenset[str]:
        """The treatments that the task wants before the thing is put down."""
        return frozenset(how for word, how in _WANTED.items() if word in self._words())

    def _fits(self, command: str) -> bool:
        """Whether a command serves the task, by the words of both.

        It takes a thing that the task names, unless the thing is ready and at its target; treats as the task says; and
        puts a ready thing down at its target. With a thing in hand, it opens only the target; it lights a lamp only
        with a thing in hand.
        """
        words, (verb, _, rest) = self._words(), command.partition(" ")
        if verb == "open":
            return not self.hand[0] or kind_of(rest) in words
        if verb == "use":
            return bool(self.hand[0])
        if verb not in ("take", "move"):
            return verb not in _STATES or verb in self._due()
        thing, _, place = rest.partition(" from " if verb == "take" else " to ")
        ready = self._due() <= {how for how, treated in self.hand[1] if treated == thing}
        delivered = ready and kind_of(place) in words
        return delivered if verb == "move" else kind_of(thing) in words and not delivered


def open_notebook(observation: str, focus: bool = False) -> Notebook:
    """The notebook of a game that begins with this observation."""
    match = _GOAL.search(observation)
    return Notebook(goal=f"{match['goal'].strip().rstrip('.')}." if match else "", focus=focus)


def noted(trajectory: Trajectory, focus: bool = False) -> Trajectory:
    """A trajectory with the notebook's line below each observation, as an agent with a notebook sees it."""
    book, known, steps = open_notebook(trajectory.task, focus), begin(trajectory.task), []
    for step in trajectory.steps:
        known = after(known, step.action, step.observation)
        book = book.after(known)
        steps.append(step.model_copy(update={"observation": f"{step.observation}\n{book.line(known)}"}))
    return trajectory.model_copy(update={"steps": tuple(steps)})


NEXT = 3
"""The most places in a line."""


def sightings(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """The kinds of each thing and of the place where an attempt first saw it: ("pan", "stoveburner")."""
    known, first = begin(trajectory.task), dict[str, str]()
    for step in trajectory.steps:
        known = after(known, step.action, step.observation)
        for place, things in known.seen.items():
            for thing in things or ():
                first.setdefault(thing, place)
    return ((kind_of(thing), kind_of(place)) for thing, place in first.items())


def where_next(task: str, steps: Sequence[Step], thing: str, places: Mapping[str, int]) -> str:
    """Where to look next for a kind of thing, such as "pan"; "" if one is held or in sight, or no place is left.

    The line has up to `NEXT` places, by sightings per place of that kind in the room. `task` is the first observation,
    with the room and the goal, `steps` is the attempt so far, and `places` has the sightings by kind of place.
    """
    known: Known = reduce(lambda known, step: after(known, step.action, step.observation), steps, begin(task))
    goal = task.lower().rpartition("your task is to:")[2]
    elsewhere = [things for place, things in known.seen.items() if things and kind_of(place) not in goal]
    in_sight = any(kind_of(one) == thing for things in elsewhere for one in things)
    if kind_of(known.held) == thing or in_sight:
        return ""
    kinds = Counter(map(kind_of, known.places))
    unseen = [place for place in known.places if known.seen.get(place) is None and kind_of(place) in places]
    unseen.sort(key=lambda place: -places[kind_of(place)] / kinds[kind_of(place)])
    return f"{thing}: not seen yet, try {', '.join(unseen[:NEXT])}" if unseen else ""
