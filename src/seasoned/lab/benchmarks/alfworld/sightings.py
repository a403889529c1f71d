"""Places of things in ALFWorld: where attempts saw a thing, and which places to try next for it.

Always holds: only the first place of a thing counts, not where the attempt moved it; a place is named only if it is in
this room and its contents are unknown; no text raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from seasoned.lab.benchmarks.alfworld.choices import Known, after, begin, kind_of
from seasoned.types import Step, Trajectory

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
    """Where to look next for a kind of thing; "" if one is held or in sight, or no place is left.

    Args:
        task: the first observation, with the room and the goal.
        steps: the attempt so far.
        thing: the kind of thing, such as "pan".
        places: sightings of the thing by kind of place.

    Returns:
        A line with up to `NEXT` places, by sightings per place of that kind in the room.
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
