"""One game file of ALFWorld, read without its engine: what is asked, what the room shows, how it was solved.

Always holds: nothing in the file is run; whatever cannot be played is a `DataError` that names the file and what is
wrong with it; and `Game.text` is, letter by letter, what the engine shows first, without its banner.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
"""How the folder of a game begins, and the category."""
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
    """What a game file says.

    `moves` is how the engine wants an object put down: "move {thing} to {place}" or the older "put {thing} in/on
    {place}". `walkthrough` is empty where the file has none, `solvable` False where it says so.
    """

    category: str
    goal: str
    text: str
    moves: str
    walkthrough: tuple[str, ...]
    solvable: bool
    digest: str


def category_of(path: Path) -> str:
    """The category of a game, from the nearest folder above it that names one, or ""."""
    named = (category for part in path.parts[-2::-1] for kind, category in KINDS.items() if part.startswith(kind))
    return next(named, "")


def read_game(path: Path) -> Game:
    """Read a game file; DataError if it is not a game, or cannot be played here."""
    try:
        raw = read_json(path, dict, MAX_BYTES)
    except DataError as error:
        raise DataError(f"{path} is no game: {error}") from error
    domain, problem, grammar = (_text(raw, key, path) for key in ("pddl_domain", "pddl_problem", "grammar"))
    category = category_of(path)
    if not category:
        raise DataError(
            f"no folder above {path} begins with one of {', '.join(KINDS)}, which says what kind of game it is"
        )
    task, moves = _TASK.search(grammar), _MOVES.search(grammar)
    goal = _GOAL.search(_unquoted(task[1])) if task else None
    if not goal or not moves:
        what = "no action that puts something down" if goal else 'no task ("Your task is to: ..")'
        raise DataError(
            f"the grammar of {path} has {what}: the file is of an older version of ALFWorld; get the present one"
        )
    places = room(problem)
    if not places:
        raise DataError(f"the room of {path} has no places: the file is broken")
    steps = raw.get("walkthrough")
    sentence = " ".join(goal[1].split())
    return Game(
        category=category,
        goal=sentence,
        text=f"{ROOM}{_listed(places)}.\nYour task is to: {sentence}",
        moves=f"{moves['verb']} {{thing}} {moves['link']} {{place}}",
        walkthrough=tuple(step for step in steps if isinstance(step, str)) if isinstance(steps, list) else (),
        solvable=raw.get("solvable") is not False,
        digest=hashlib.sha256("\0".join((grammar, domain, problem)).encode("utf-8", "replace")).hexdigest(),
    )


def room(problem: str) -> list[str]:
    """The places of a room in the engine's order and with its names, such as "drawer 2"."""
    names = numbered(entity.lower() for entity in _ENTITY.findall(problem))
    places = sorted({place.lower() for place in _PLACE.findall(problem)})
    return [names.get(place, place) for place in places]


def numbered(entities: Iterable[str]) -> dict[str, str]:
    """The engine's names of all receptacles and things of a game, by their ids as its problem has them, in lower case.

    ALFWorld numbers the things of a kind backwards along their sorted ids, and names a basin after what it is part of.
    """
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for entity in sorted(set(entities), reverse=True):
        kinds[entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")].append(entity)
    return {entity: f"{kind} {number}" for kind, group in kinds.items() for number, entity in enumerate(group, 1)}


def goal_of(text: str) -> str:
    """The goal in a task's text, without the room; a text of another form is returned as it is."""
    goal = _GOAL.search(text)
    return " ".join(goal[1].split()) if goal else text


def _listed(places: list[str]) -> str:
    named = [f"a {place}" for place in places]
    return f"{', '.join(named[:-1])}, and {named[-1]}" if len(named) > 1 else named[0]


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def _text(raw: Mapping[str, object], key: str, path: Path) -> str:
    value = raw.get(key)
    if not isinstance(value, str):
        raise DataError(f"{path} should have the text {key!r}, but has none: it is broken, or no game of ALFWorld")
    return value
