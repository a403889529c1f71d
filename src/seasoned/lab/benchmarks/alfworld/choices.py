"""What an agent can do next in ALFWorld, as it follows from what it has read so far.

Pure functions over text; the engine is not asked. Several places may stand at one spot, and then going from one to the
other does nothing: that is how one learns of it, and both are in reach from then on. Always holds: every name in a
command was in an observation; a command is offered only if nothing read so far speaks against it; and no text raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
    if found := _CLOSED.search(observation):
        place = (found["place"] or found["shut"]).lower()
        # What was seen inside is not forgotten when it is closed.
        seen = {**known.seen, place: known.seen.get(place)}
        return replace(known, seen=seen, shut=known.shut | {place}, opened=known.opened - {place})
    if found := _OPEN.search(observation):
        place = found["place"].lower()
        seen = {**known.seen, place: _items(found["list"])}
        return replace(known, seen=seen, shut=known.shut - {place}, opened=known.opened | {place})
    if found := _LISTED.search(observation):
        return replace(known, seen={**known.seen, found["place"].lower(): _items(found["list"])})
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
    """The places that were looked at and what they held last; "" where nothing was seen, because it was closed."""
    return {place: "" if things is None else list(things) for place, things in known.seen.items()}


def kind_of(name: str) -> str:
    """What a numbered thing or place is: "mug" of "mug 2"."""
    return name.split(" ", 1)[0]


def _items(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item["name"].lower() for item in _ITEM.finditer(text)))
