"""One game file of ALFWorld, read without its engine: the goal, the room's first text, the walkthrough.

Always holds: nothing in the file is run; a file that cannot be played raises a `DataError` that names the file and the
fault; `Game.text` is exactly the engine's first text without its banner.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from seasoned.errors import DataError
from seasoned.lab.benchmarks.rows import read_json

FILE = "game.tw-pddl"
KINDS = {
    "pick_and_place": "put",
    "pick_clean_then_place": "clean",
    "pick_heat_then_place": "heat",
    "pick_cool_then_place": "cool",
    "look_at_obj": "examine",
    "pick_two_obj": "puttwo",
}
"""The categories, by how the names of their folders begin."""
CATEGORIES = tuple(KINDS.values())
MAX_BYTES = 16 * 1024 * 1024
ROOM = "You are in the middle of a room. Looking quickly around you, you see "

_TASK = re.compile(r'"task"\s*:\s*\[\s*\{[^{}]{0,200}?"rhs"\s*:\s*("(?:[^"\\]|\\.){1,500}")', re.DOTALL)
_GOAL = re.compile(r"Your task is to:\s*(.+)", re.DOTALL)
_PLACE = re.compile(r"\(\s*receptacleAtLocation\s+([^\s?]+)\s+[^\s?]+\s*\)", re.IGNORECASE)
_ENTITY = re.compile(r"[^\s()]+_bar_[^\s()]+")
_MOVES = re.compile(r'template\s*::\s*"(?P<verb>move|put) \{o\} (?P<link>[\w/]{1,10}) \{r\}"')


@dataclass(frozen=True)
class Game:
    """The contents of a game file.

    `moves` is the engine's command for putting an object down: "move {thing} to {place}" or the older "put {thing}
    in/on {place}". `walkthrough` is empty if the file has none; `solvable` is False if the file says so.
    """

    category: str
    goal: str
    text: str
    moves: str
    walkthrough: tuple[str, ...]
    solvable: bool
    digest: str


def category_of(path: Path) -> str:
    """The category of a game, by the nearest folder above it that names one; else ""."""
    parts = path.parts[-2::-1]
    return next((category for part in parts for kind, category in KINDS.items() if part.startswith(kind)), "")


def read_game(path: Path) -> Game:
    """Read a game file; DataError if it is not a game, or this engine cannot play it."""
    try:
        raw = read_json(path, dict, MAX_BYTES)
    except DataError as error:
        raise DataError(f"{path} is not a game: {error}") from error
    keys = ("pddl_domain", "pddl_problem", "grammar")
    for key in keys:
        if not isinstance(raw.get(key), str):
            raise DataError(f"{path} should have a text {key!r}, but has none: it is broken, or not a game of ALFWorld")
    domain, problem, grammar = (raw[key] for key in keys)
    category = category_of(path)
    if not category:
        raise DataError(
            f"the kind of the game {path} is unknown: no folder above it begins with one of {', '.join(KINDS)}"
        )
    task, moves = _TASK.search(grammar), _MOVES.search(grammar)
    goal = _GOAL.search(_unquoted(task[1])) if task else None
    if not goal or not moves:
        missing = "action that puts something down" if goal else 'task ("Your task is to: ..")'
        raise DataError(
            f"the grammar of {path} has no {missing}: it is from an older version of ALFWorld; get the current one"
        )
    places = [f"a {place}" for place in room(problem)]
    if not places:
        raise DataError(f"the room of {path} has no places: the file is broken")
    listed = f"{', '.join(places[:-1])}, and {places[-1]}" if len(places) > 1 else places[0]
    steps = raw.get("walkthrough")
    sentence = " ".join(goal[1].split())
    return Game(
        category=category,
        goal=sentence,
        text=f"{ROOM}{listed}.\nYour task is to: {sentence}",
        moves=f"{moves['verb']} {{thing}} {moves['link']} {{place}}",
        walkthrough=tuple(step for step in steps if isinstance(step, str)) if isinstance(steps, list) else (),
        solvable=raw.get("solvable") is not False,
        digest=hashlib.sha256("\0".join((grammar, domain, problem)).encode("utf-8", "replace")).hexdigest(),
    )


def room(problem: str) -> list[str]:
    """The places of a room, with the engine's names (such as "drawer 2") and in its order."""
    names = numbered(entity.lower() for entity in _ENTITY.findall(problem))
    places = sorted({place.lower() for place in _PLACE.findall(problem)})
    return [names.get(place, place) for place in places]


def numbered(entities: Iterable[str]) -> dict[str, str]:
    """The engine's names of receptacles and things, by their ids in the game's problem, in lower case.

    ALFWorld numbers the things of a kind in descending order of their ids, and names a basin after what it is part of.
    """
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(set(entities), reverse=True):
        kinds[entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")].append(entity)
    return {entity: f"{kind} {number}" for kind, group in kinds.items() for number, entity in enumerate(group, 1)}


def goal_of(text: str) -> str:
    """The goal in a task's text, without the room; a text of another form stays as it is."""
    goal = _GOAL.search(text)
    return " ".join(goal[1].split()) if goal else text


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""
