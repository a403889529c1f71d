"""A room with things as the text of a game: the engine's names, the PDDL problem, the game file.

Always holds: TextWorld can read every id; two ids never become one; `names` are the names that the player sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from seasoned.lab.benchmarks.alfworld.game import numbered
from seasoned.lab.benchmarks.alfworld.rooms import Household, Room, Thing

_MANGLED = {"|": "_bar_", "+": "_plus_", "-": "_minus_", ".": "_dot_", ",": "_comma_"}
_START = "loc|0|-99|0|30"
"""The player's first location: beside no receptacle, so in the middle of the room."""

# The domain's actions name these types, so the engine cannot load a game without one of them.
_OBJECT_TYPES = ("ButterKnife", "Knife")
_RECEPTACLE_TYPES = ("SinkBasin", "Microwave", "Fridge")

_ABILITIES = ("Cleanable", "Heatable", "Coolable", "Sliceable", "Toggleable")


def mangle(id_: str) -> str:
    """An id as a PDDL name: `Mug|+00.12` becomes `Mug_bar__plus_00_dot_12`."""
    return "".join(_MANGLED.get(sign, sign) for sign in id_)


def names(ids: Iterable[str]) -> dict[str, str]:
    """The engine's names of all ids of a game, such as `mug 2`."""
    mangled = {id_: mangle(id_).lower() for id_ in ids}
    by_mangled = numbered(mangled.values())
    return {id_: by_mangled[one] for id_, one in mangled.items()}


def problem(name: str, room: Room, things: Sequence[Thing], goal: str, household: Household) -> str:
    """The PDDL problem: all ids and types, the places and abilities of the things, and the goal.

    `name` has letters, digits and underscores. `goal` is the package's template, filled in; its last bracket closes the
    problem.
    """
    object_types = sorted({*_OBJECT_TYPES, *(thing.type for thing in things)})
    receptacle_types = sorted({*_RECEPTACLE_TYPES, *(place.type for place in room.places)})
    objects = [
        "agent1 - agent",
        *(f"{kind}Type - otype" for kind in object_types),
        *(f"{kind}Type - rtype" for kind in receptacle_types),
        *(f"{mangle(thing.id)} - object" for thing in things),
        *(f"{mangle(place.id)} - receptacle" for place in room.places),
        *(f"{mangle(spot)} - location" for spot in (_START, *(place.location for place in room.places))),
    ]
    facts = [f"atLocation agent1 {mangle(_START)}"]
    for place in room.places:
        facts.append(f"receptacleType {mangle(place.id)} {place.type}Type")
        facts.append(f"receptacleAtLocation {mangle(place.id)} {mangle(place.location)}")
        if place.opens:
            facts.append(f"openable {mangle(place.id)}")
    for kind in receptacle_types:
        facts.extend(f"canContain {kind}Type {t}Type" for t in object_types if t in household.holds.get(kind, ()))
    for thing in things:
        facts.extend(_facts(thing, household))
    lines = ["", f"(define (problem {name})", "(:domain alfred)", "(:objects", *objects, ")", "(:init"]
    return "\n".join([*lines, *(f"    ({fact})" for fact in facts), ")", goal])


def game_file(household: Household, problem: str, sentence: str, walkthrough: Sequence[str]) -> str:
    """The text of a `game.tw-pddl`: a JSON object with ALFWorld's five keys."""
    game = {
        "pddl_domain": household.domain,
        "grammar": household.grammar.replace("UNKNOWN GOAL", sentence),
        "pddl_problem": problem,
        "solvable": True,
        "walkthrough": list(walkthrough),
    }
    return json.dumps(game)


def _facts(thing: Thing, household: Household) -> list[str]:
    id_ = mangle(thing.id)
    facts = [f"objectType {id_} {thing.type}Type", f"objectAtLocation {id_} {mangle(thing.place.location)}"]
    if not thing.beside:
        facts.append(f"inReceptacle {id_} {mangle(thing.place.id)}")
    if thing.type in household.movable:
        facts.append(f"pickupable {id_}")
    if thing.type in household.vessels:
        facts.append(f"isReceptacleObject {id_}")
    facts.extend(f"{able.lower()} {id_}" for able in _ABILITIES if thing.type in household.able.get(able, ()))
    return facts
