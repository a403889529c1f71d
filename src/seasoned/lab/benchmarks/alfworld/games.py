"""Generates ALFWorld games of all six types, and verifies each by playing it on the real engine.

It draws a game (room, thing, target, the places of all things), constructs a walkthrough, and lets the engine play it.
Always holds: the same seed gives the same files, byte for byte; the types have equal numbers of games; a game is
written only if its walkthrough wins on the engine with its last command; TextWorld can read every id.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from seasoned.errors import ConfigError, DataError
from seasoned.lab.benchmarks.alfworld import workers
from seasoned.lab.benchmarks.alfworld.game import FILE, numbered
from seasoned.lab.benchmarks.alfworld.rooms import (
    FACTS,
    LAMP,
    NO_GOAL,
    SINGLE,
    Household,
    Place,
    Room,
    Thing,
    read_household,
    scatter,
)
from seasoned.lab.benchmarks.install import interpreter
from seasoned.lab.benchmarks.worker import Episode, Workers

MOST_GAMES = 2000
_TRIES = 40
_SECONDS = 120.0
_MOST_AT_ONCE = 4


@dataclass(frozen=True)
class TaskType:
    """One of the six types, from `data/alfworld_rooms.toml`."""

    name: str
    rooms: Mapping[str, int]
    able: str = ""
    verb: str = ""
    tool: str = ""
    take: int = 1
    copies: Sequence[int] = (36, 28, 20, 16)

    @property
    def lit(self) -> bool:
        """Whether the task is to look at a thing under a lamp, not to put it somewhere."""
        return self.tool == LAMP


TASK_TYPES = tuple(TaskType(**task) for task in FACTS["task"])
"""The types; ALFWorld's folders begin with their names."""


@dataclass(frozen=True)
class Draft:
    """A drawn game: its folder, the text of its file, and its walkthrough."""

    folder: str
    text: str
    walkthrough: tuple[str, ...]


def generate(
    games: int, seed: int, out: Path, *, python: str | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Write new games below `out`, each as `<type>-<Thing>-None-<Target>-<room>/trial_<id>/game.tw-pddl`.

    A second call with the same arguments continues an interrupted one. The first n games do not depend on `games`.
    `python` has alfworld 0.4.2; None: the environment that `seasoned bench install alfworld` made. `progress` is called
    with the finished games and `games`.

    Returns:
        The paths of the files, in the order of the games.

    Raises:
        ConfigError: a number is out of range, there is no environment, or `out` contains other games.
        DataError: no drawn game of a type wins on the engine, or a file cannot be written.
    """
    if not 1 <= games <= MOST_GAMES:
        raise ConfigError(f"the number of games should be from 1 to {MOST_GAMES}, but is {games}")
    trials = [f"trial_s{seed}_{index:04d}" for index in range(games)]
    _check_free(out, set(trials))
    python = python or str(interpreter("alfworld"))
    household = read_household(python)
    taken: set[str] = set()
    candidates = [_drafts(household, seed, index, trial, taken) for index, trial in enumerate(trials)]
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_AT_ONCE))
    written: list[Path] = []
    try:
        with closing(workers(python, _SECONDS)) as engine, tempfile.TemporaryDirectory(prefix="seasoned-") as scratch:
            write = partial(_write_first_winning, out, Path(scratch), engine)
            try:
                for path in pool.map(write, trials, candidates):
                    written.append(path)
                    if progress:
                        progress(len(written), games)
            finally:
                pool.shutdown(cancel_futures=True)
    except OSError as e:
        raise DataError(f"a game could not be written under {out}: {e.strerror or e}") from e
    return written


def _check_free(out: Path, trials: set[str]) -> None:
    """Check that the folder has no other games, which would be mistaken for games of this call."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} should be a folder for the games, but is a file")
    for path in sorted(out.rglob(FILE)):
        if path.parent.name not in trials:
            raise ConfigError(
                f"{out} has other games in it, such as {path.relative_to(out)}: name a new or empty folder"
            )


def _drafts(household: Household, seed: int, index: int, trial: str, taken: set[str]) -> Iterator[Draft]:
    """Games to try, all of one type; the first is drawn at once, if possible with a task that is not in `taken`."""
    kind = TASK_TYPES[index % len(TASK_TYPES)]
    rng = random.Random(f"alfworld-{seed}-{index}")
    drawn = (draw(household, kind, trial, rng) for _ in range(_TRIES))
    possible = (draft for draft in drawn if draft)
    new = (draft for draft in islice(possible, _TRIES // 2) if draft.folder not in taken)
    first = next(chain(new, possible), None)
    if first is None:
        return iter(())
    taken.add(first.folder)
    return chain([first], possible)


def _write_first_winning(out: Path, scratch: Path, engine: Workers, trial: str, drafts: Iterator[Draft]) -> Path:
    """Write the first of the drafts that wins on the engine, unless its file exists; return its path."""
    fault = "there is no room for it"
    for number, draft in enumerate(drafts):
        path, text = out / draft.folder / trial / FILE, draft.text.encode("utf-8")
        if path.is_file() and path.read_bytes() == text:
            return path  # an interrupted call has verified it
        unverified = scratch / f"{trial}-{number}.tw-pddl"
        unverified.write_bytes(text)
        fault = _play(unverified, draft.walkthrough, engine)
        unverified.unlink()
        if not fault:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{FILE}.partial")
            unfinished.write_bytes(text)
            unfinished.replace(path)
            return path
        fault = f"{draft.folder}: {fault}"
    raise DataError(f"{trial} could not be made in {_TRIES} tries; the last one: {fault}")


def _play(path: Path, walkthrough: Sequence[str], engine: Workers) -> str:
    """Play a walkthrough; return "" if its last command and no earlier one wins, else the fault."""
    with closing(Episode(engine)) as episode:
        try:
            state = episode.begin("load", game=str(path.resolve()))
            for command in walkthrough:
                if state["won"]:
                    return f"it was won before {command!r}"
                state = episode.ask("step", command=command)
                if "Nothing happens" in str(state["observation"]):
                    return f"nothing happened at {command!r}"
        except (DataError, KeyError) as e:
            return str(e)
    return "" if state["won"] else "the walkthrough did not win"


def draw(household: Household, kind: TaskType, trial: str, rng: random.Random) -> Draft | None:
    """Draw one unverified game of a type, named `trial`; None if the drawn room or thing allows no game."""
    room = _room(household, kind, rng)
    choice = _thing_and_target(household, room, kind, rng)
    if choice is None:
        return None
    thing, target = choice
    copies = rng.choices((1, 2, 3, 4), kind.copies)[0]
    things = scatter(room, household, rng, thing, copies, but_not=(target, kind.tool))
    of_type = [t for t in things if t.type == thing]
    if len(of_type) < kind.take:
        return None
    walk = _walkthrough(room, things, rng.sample(of_type, kind.take), kind, target, rng)
    pddl, sentences = household.goals[kind.name]
    goal = pddl.format(obj=thing, recep=target, toggle=target)
    sentence = rng.choice(sentences).format(obj=thing.lower(), recep=target.lower(), toggle=target.lower())
    game = {
        "pddl_domain": household.domain,
        "grammar": household.grammar.replace(NO_GOAL, sentence),
        "pddl_problem": problem(f"plan_{trial}", room, things, goal, household),
        "solvable": True,
        "walkthrough": walk,
    }
    return Draft(f"{kind.name}-{thing}-None-{target}-{room.number}", json.dumps(game), tuple(walk))


def _room(household: Household, kind: TaskType, rng: random.Random) -> Room:
    rooms = [room for _, room in sorted(household.rooms.items()) if room.kind in kind.rooms]
    fit = [room for room in rooms if not kind.lit or LAMP in room.fixtures]
    counts = Counter(room.kind for room in fit)
    return rng.choices(fit, [kind.rooms[room.kind] / counts[room.kind] for room in fit])[0]


def _thing_and_target(household: Household, room: Room, kind: TaskType, rng: random.Random) -> tuple[str, str] | None:
    """A type of thing that also fits elsewhere, and its target: a type of receptacle or the lamp; None if none fits."""
    able = [thing for thing in room.things if not kind.able or thing in household.able[kind.able]]
    if kind.lit:
        return (rng.choice(able), LAMP) if able else None
    usable = {place.type for place in room.places if not place.stuck}
    targets = sorted(usable - {*FACTS["no_target"], kind.tool} - (SINGLE if kind.take > 1 else frozenset()))
    if not targets:
        return None
    target = rng.choices(targets, [0.4 if target in FACTS["rare_target"] else 1.0 for target in targets])[0]
    elsewhere = frozenset[str]().union(*(household.holds[k] for k in usable - SINGLE - {target}))
    fits = [thing for thing in able if thing in household.holds[target] & elsewhere]
    return (rng.choice(fits), target) if fits else None


def _walkthrough(
    room: Room, things: Sequence[Thing], chosen: Sequence[Thing], kind: TaskType, target: str, rng: random.Random
) -> list[str]:
    """The commands that solve the game, from the places of all things."""
    name_of = names([*(place.id for place in room.places), *(thing.id for thing in things)])
    walk: list[str] = []
    here: Place | None = None
    opened: set[str] = set()

    def go(place: Place, *, inside: bool = True) -> str:
        nonlocal here
        name = name_of[place.id]
        if place != here:
            walk.append(f"go to {name}")
            here = place
        if inside and place.opens and place.id not in opened:
            walk.append(f"open {name}")
            opened.add(place.id)
        return name

    tool = next((place for place in room.places if place.type == kind.tool), None)
    lamp = next((thing for thing in things if kind.lit and thing.type == LAMP), None)
    end = lamp.place if lamp else rng.choice([p for p in room.places if p.type == target and not p.stuck])
    for thing in chosen:
        name = name_of[thing.id]
        at = go(thing.place)
        walk.append(f"take {name} from {at}")
        if tool:
            at = go(tool, inside=False)
            walk.append(f"{kind.verb} {name} with {at}")
        at = go(end, inside=not lamp)
        walk.append(f"use {name_of[lamp.id]}" if lamp else f"move {name} to {at}")
    return walk


_MANGLED = str.maketrans({"|": "_bar_", "+": "_plus_", "-": "_minus_", ".": "_dot_", ",": "_comma_"})
_START = "loc|0|-99|0|30"
"""The player's first location: beside no receptacle, so in the middle of the room."""

# The domain's actions name these types, so the engine cannot load a game without one of them.
_OBJECT_TYPES = ("ButterKnife", "Knife")
_RECEPTACLE_TYPES = ("SinkBasin", "Microwave", "Fridge")

_ABILITIES = ("Cleanable", "Heatable", "Coolable", "Sliceable", "Toggleable")


def mangle(id_: str) -> str:
    """An id as a PDDL name: `Mug|+00.12` becomes `Mug_bar__plus_00_dot_12`."""
    return id_.translate(_MANGLED)


def names(ids: Iterable[str]) -> dict[str, str]:
    """The engine's names of all ids of a game, such as `mug 2`."""
    mangled = {id_: mangle(id_).lower() for id_ in ids}
    called = numbered(mangled.values())
    return {id_: called[one] for id_, one in mangled.items()}


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
        id_ = mangle(place.id)
        facts += [f"receptacleType {id_} {place.type}Type", f"receptacleAtLocation {id_} {mangle(place.location)}"]
        if place.opens:
            facts.append(f"openable {id_}")
    for kind in receptacle_types:
        facts.extend(f"canContain {kind}Type {t}Type" for t in object_types if t in household.holds.get(kind, ()))
    for thing in things:
        facts.extend(_facts(thing, household))
    lines = ["", f"(define (problem {name})", "(:domain alfred)", "(:objects", *objects, ")", "(:init"]
    return "\n".join([*lines, *(f"    ({fact})" for fact in facts), ")", goal])


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
