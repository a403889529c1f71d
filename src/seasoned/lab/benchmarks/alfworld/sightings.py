"""Where things are in ALFWorld and where they are treated: what attempts saw, and what to try next.

Always holds: what an attempt moved itself is not counted; a place is named only if it is in this room; no text raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from seasoned.lab.benchmarks.alfworld.choices import LAMPS, WANTED, Known, after, begin, kind_of
from seasoned.types import Step, Trajectory

NEXT = 3
"""Places that a line names at most."""

_TREATED = re.compile(r"You (heat|cool|clean) the [a-z][\w-]{0,40} \d{1,4} using the ([a-z][\w-]{0,40})", re.IGNORECASE)


def sightings(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """Where an attempt first saw each kind of thing, ("pan", "stoveburner"), or made one so, ("hot", "microwave")."""
    known, first = begin(trajectory.task), dict[str, str]()
    for step in trajectory.steps:
        known = after(known, step.action, step.observation)
        for place, things in known.seen.items():
            for thing in things or ():
                first.setdefault(thing, place)
        if done := _TREATED.search(step.observation):
            yield from ((word, done[2].lower()) for word, how in WANTED.items() if how == done[1].lower())
    yield from ((kind_of(thing), kind_of(place)) for thing, place in first.items())


def where_next(task: str, steps: Sequence[Step], thing: str, places: Mapping[str, int]) -> str:
    """Where to go next for a kind of thing, or to treat what is held; "" where that is not due.

    The line names the step, so that an agent that shows only new lines shows it at each turn.

    Args:
        task: the first observation, with the room and the goal.
        steps: the attempt so far.
        thing: the kind of thing, such as "pan", or how it should be, such as "hot".
        places: how often one was seen, or made so, at each kind of place.

    Returns:
        A line with up to `NEXT` places, those first where the most were seen for each such place in the room.
    """
    known: Known = reduce(lambda known, step: after(known, step.action, step.observation), steps, begin(task))
    kinds = Counter(map(kind_of, known.places))
    there = sorted(
        (place for place in known.places if kind_of(place) in places),
        key=lambda place: -places[kind_of(place)] / kinds[kind_of(place)],
    )
    if thing in WANTED:
        due = bool(known.held) and (WANTED[thing], known.held) not in known.treated and known.at not in there
        said = f"{WANTED[thing]} {known.held}"
    else:
        due = _is_sought(known, thing, task.lower().rpartition("your task is to:")[2])
        there = [place for place in there if known.seen.get(place) is None]
        said = f"no {thing} seen yet"
    return f"step {len(steps) + 1}: {said}, go to {', '.join(there[:NEXT])}" if due and there else ""


def _is_sought(known: Known, thing: str, goal: str) -> bool:
    """Whether a thing is neither held nor in sight elsewhere than where it goes; a lamp, once something is held."""
    if kind_of(known.held) == thing or (thing in LAMPS) != bool(known.held):
        return False
    elsewhere = [things for place, things in known.seen.items() if things and kind_of(place) not in goal]
    return not any(kind_of(one) == thing for things in elsewhere for one in things)
