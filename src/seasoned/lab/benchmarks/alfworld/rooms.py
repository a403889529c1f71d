"""The rooms of ALFWorld's household and the things in them, for new games.

All facts (rooms, what fits where, what can be heated, the domain, the grammar, the goals) come from the installed
`alfworld` package, through the Python of its environment; none is copied here. Always holds: a room has the same
furniture in every game; no two receptacles share a location; a thing lies where it fits; a thing to be put somewhere is
not there already.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.base import DATA, read_toml
from seasoned.lab.benchmarks.worker import passed_on

KINDS = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}
"""The kind of a room, by the hundreds of its number."""

LAMP = "DeskLamp"
"""The only lamp that stands on furniture; a floor lamp is in no receptacle, so no goal of the engine can use it."""

NO_GOAL = "UNKNOWN GOAL"
"""The place of the goal's sentence in the package's grammar."""

_SECONDS = 60.0
_MAX_CHARS = 64 << 20

# Runs in the environment's Python. It runs the two sources by path, because importing alfworld creates a folder in
# the user's home.
_ASK = """
import importlib.util, json, pathlib, runpy, sys
spec = importlib.util.find_spec("alfworld")
if spec is None:
    sys.exit("alfworld is not installed there")
home = pathlib.Path(spec.origin).parent
facts = runpy.run_path(str(home / "gen" / "constants.py"))
goals = runpy.run_path(str(home / "gen" / "goal_library.py"))["gdict"]
layouts = home / "gen" / "layouts"
print(json.dumps({
    "domain": (home / "data" / "alfred.pddl").read_text(encoding="utf-8"),
    "grammar": (home / "data" / "alfred.twl2").read_text(encoding="utf-8"),
    "goals": {name: [goal["pddl"], goal["templates"]] for name, goal in goals.items()},
    "holds": {place: sorted(things) for place, things in facts["VAL_RECEPTACLE_OBJECTS"].items()},
    "able": {able: sorted(things) for able, things in facts["VAL_ACTION_OBJECTS"].items()},
    "vessels": sorted(facts["MOVABLE_RECEPTACLES"]),
    "opening": sorted(facts["OPENABLE_CLASS_LIST"]),
    "rooms": {
        n: [json.loads((layouts / f"FloorPlan{n}-{part}.json").read_text()) for part in ("objects", "openable")]
        for numbers in facts["SCENE_TYPE"].values() for n in numbers
    },
}))
"""

FACTS = read_toml(DATA / "alfworld_rooms.toml")
"""Facts that are not in the package, chosen so that generated games are like ALFWorld's own."""

SINGLE = frozenset(FACTS["single"])
"""Receptacles that hold only one thing."""

_COPIES = ((1, 2, 3), (41, 32, 27))
_HIDDEN = 0.6
_MAX_STUCK = 5
_NEAR = 0.2
_SECOND_LAMP = 0.2


@dataclass(frozen=True)
class Place:
    """A receptacle that cannot be moved.

    `id` and `location` have the simulator's format (`Cabinet|+00.68|+00.50|-02.20`). A `stuck` one has a door or drawer
    that cannot be opened, and holds nothing.
    """

    id: str
    type: str
    location: str
    opens: bool
    stuck: bool = False


@dataclass(frozen=True)
class Room:
    """A furnished room: `things` are the types that can be carried, `fixtures` the other types."""

    number: int
    places: tuple[Place, ...]
    things: tuple[str, ...]
    fixtures: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of room: kitchen, living room, bedroom or bathroom."""
        return KINDS[self.number // 100]


@dataclass(frozen=True)
class Thing:
    """One object of a game; it lies in `place`, or beside it if `beside` is set."""

    id: str
    type: str
    place: Place
    beside: bool = False


@dataclass(frozen=True)
class Household:
    """The facts from the package.

    `goals` has a goal in PDDL and its sentences by task type, `holds` the things that fit into a type of receptacle,
    `able` the things that can be heated, cooled, cleaned, sliced or toggled; `movable` are the things that can be
    carried, `vessels` those that other things fit into.
    """

    domain: str
    grammar: str
    goals: Mapping[str, tuple[str, tuple[str, ...]]]
    holds: Mapping[str, frozenset[str]]
    able: Mapping[str, frozenset[str]]
    movable: frozenset[str]
    vessels: frozenset[str]
    rooms: Mapping[int, Room]


def read_household(python: str) -> Household:
    """Read the facts of the `alfworld` package with the Python of its environment.

    Raises a ConfigError if that Python cannot be run or has no alfworld, a DataError if the package is another one.
    """
    install = "`seasoned bench install alfworld` makes an environment that has it"
    command, env = [str(Path(python).expanduser()), "-I", "-c", _ASK], passed_on()
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_SECONDS, env=env
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ConfigError(f"{python} should be a Python with alfworld, but cannot be run ({e}); {install}") from e
    if done.returncode != 0 or len(done.stdout) > _MAX_CHARS:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1][:200]
        raise ConfigError(f"{python} should be a Python with alfworld 0.4.2, but: {last}; {install}")
    try:
        return parse_household(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise DataError(f"{python} should have alfworld 0.4.2, but its alfworld differs ({e!r}); {install}") from e


def parse_household(raw: Mapping[str, Any]) -> Household:
    """The household with furnished rooms, from the output of the environment's Python.

    It has `domain`, `grammar`, `goals` {type: [PDDL with # for -, sentences]}, `holds` {receptacle: things}, `able`
    {ability: things}, `vessels`, `opening` (types with a door) and `rooms` {number: [types, {id: [x, z, turn, tilt]}]},
    in metres and degrees; another form raises ValueError, KeyError, TypeError or AttributeError.
    """
    if NO_GOAL not in raw["grammar"] or "move {o} to {r}" not in raw["grammar"]:
        raise ValueError("its grammar has no task, or does not move things")
    vessels, opening = frozenset(raw["vessels"]), frozenset(raw["opening"])
    holds = {place: frozenset(things) for place, things in raw["holds"].items() if place not in vessels}
    # The simulator allows almost nothing on a television stand, but ALFWorld's games have remote controls there.
    holds["TVStand"] |= holds["CoffeeTable"] & holds["Sofa"]
    movable = frozenset[str]().union(*holds.values())
    rooms = {
        int(number): _furnish(int(number), types, layout, holds, movable, opening)
        for number, (types, layout) in raw["rooms"].items()
    }
    kinds, lit = {room.kind for room in rooms.values()}, any(LAMP in room.fixtures for room in rooms.values())
    if kinds != set(KINDS.values()) or not lit:
        raise ValueError("rooms are missing")
    goals = {name: (pddl.replace("#", "-"), tuple(sentences)) for name, (pddl, sentences) in raw["goals"].items()}
    able = {name: frozenset(things) for name, things in raw["able"].items()}
    return Household(raw["domain"], raw["grammar"], goals, holds, able, movable, vessels, rooms)


def scatter(
    room: Room, household: Household, rng: random.Random, wanted: str, copies: int, but_not: Container[str]
) -> list[Thing]:
    """Place things in a room, and return them in a fixed order: one to three of each type, where they fit.

    Of the type `wanted`, which the game is about, it places `copies` things, or as many as fit, but none in a type of
    receptacle in `but_not`.
    """
    placed: list[Thing] = []
    load: Counter[str] = Counter()
    taken = {place.id for place in room.places}

    def put(kind: str, fits: Sequence[Place], count: int, behind_doors: float = 1.0) -> None:
        for _ in range(count):
            free = [place for place in fits if not (place.type in SINGLE and load[place.id])]
            if free:
                weights = [FACTS["attraction"].get(p.type, 0.5) * (behind_doors if p.opens else 1.0) for p in free]
                place = rng.choices(free, weights)[0]
                load[place.id] += 1
                placed.append(Thing(_fresh_id(kind, rng, taken), kind, place))

    surfaces = [place for place in room.places if place.type in FACTS["surfaces"]]
    for kind in FACTS["standing"]:
        if kind in room.fixtures:
            put(kind, surfaces, 2 if kind == LAMP and rng.random() < _SECOND_LAMP else 1)
    for kind in room.things:
        fits = [place for place in room.places if not place.stuck and kind in household.holds.get(place.type, ())]
        if kind == wanted:
            put(kind, [place for place in fits if place.type not in but_not], copies, _HIDDEN)
        else:
            put(kind, fits, rng.choices(*_COPIES)[0])
    near = [kind for kind in room.fixtures if kind not in FACTS["standing"] and rng.random() < _NEAR]
    return [*placed, *(Thing(_fresh_id(kind, rng, taken), kind, rng.choice(room.places), beside=True) for kind in near)]


def _furnish(
    number: int,
    types: list[str],
    layout: Mapping[str, list[float]],
    holds: Mapping[str, frozenset[str]],
    movable: frozenset[str],
    opening: frozenset[str],
) -> Room:
    """A room from its layout, and the furniture that is not in it: burners, hangers, a bin, doors that do not open."""
    rng = random.Random(f"alfworld-room-{number}")  # the same furniture in every game
    spots: set[str] = set()
    places: list[Place] = []
    for id_, (x, z, turn, tilt) in sorted(layout.items()):
        type_ = id_.split("|")[-1] if id_.endswith("Basin") else id_.split("|")[0]
        places.append(Place(id_, type_, _spot(round(x * 4), round(z * 4), turn, tilt, spots), type_ in opening))
    known, taken = Counter(place.type for place in places), set(layout)
    for type_ in sorted(set(types) & set(holds)):
        if type_ in ("Cabinet", "Drawer") and KINDS[number // 100] in ("kitchen", "bedroom"):
            extra, stuck = rng.randint(0, min(known[type_] // 2, _MAX_STUCK)), True
        else:
            extra, stuck = 0 if known[type_] else rng.randint(*FACTS["extra"].get(type_, (1, 1))), False
        for _ in range(extra):
            parent = FACTS["basins"].get(type_, type_)
            id_ = _fresh_id(parent, rng, taken) + ("" if parent == type_ else f"|{type_}")
            spot = _spot(rng.randint(-12, 12), rng.randint(-12, 12), 90 * rng.randrange(4), 30, spots)
            places.append(Place(id_, type_, spot, type_ in opening and not stuck, stuck))
    things = tuple(sorted(set(types) & movable))
    fixtures = tuple(sorted(set(types) - movable - set(holds) - {"Lamp"}))  # no facts about the type Lamp
    return Room(number, tuple(places), things, fixtures)


def _spot(x: int, z: int, turn: float, tilt: float, spots: set[str]) -> str:
    while (spot := f"loc|{x}|{z}|{int(turn) // 90 % 4}|{int(tilt)}") in spots:
        z += 1
    spots.add(spot)
    return spot


def _fresh_id(type_: str, rng: random.Random, taken: set[str]) -> str:
    while True:
        x, y, z = (rng.uniform(low, high) for low, high in ((-3, 3), (0, 2), (-3, 3)))
        id_ = f"{type_}|{x:+06.2f}|{y:+06.2f}|{z:+06.2f}"
        if id_ not in taken:
            taken.add(id_)
            return id_
