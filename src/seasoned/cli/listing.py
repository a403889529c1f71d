"""The table of `seasoned lessons list` and `search`.

Always holds: the text of a lesson gets the room; a column that would say nothing is left out, and on a narrow terminal
others are, and are named; text of any origin is shown as it is and commands no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from seasoned.text import one_line

if TYPE_CHECKING:
    from seasoned.types import Lesson

_TEXT = 300  # characters of a text that are shown; an insight has no more
_SHORT = 100  # where several kinds share a narrow terminal; there, keys stand before the texts
_ROOM = 20  # characters a line that a text needs; other columns are left out for them
_BETWEEN = 2
_SPARE = ("noted", "votes", "from", "pool", "status")  # those that are, in this order
_WIDE = 100  # columns from which on attempts are named, not only counted, and a pool is in one line
RUN = re.compile(r"\d{8}T\d{6}-.*-([0-9a-f]{6})(?=/)")


def show_lessons(lessons: Sequence[Lesson], scopes: Mapping[str, str]) -> None:
    """Print lessons.

    Args:
        lessons: what is shown, in this order.
        scopes: the pool of each, by its id; named where there are several.
    """
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    console = Console()
    if not lessons:
        console.print("no lessons")
        return
    kinds = {lesson.kind for lesson in lessons}
    insights, one_kind, wide = kinds == {"insight"}, len(kinds) == 1, console.width >= _WIDE
    tight = not (wide or one_kind)
    columns: dict[str, Sequence[str]] = {
        "id": [one_line(lesson.id, 40) for lesson in lessons],
        "kind": [lesson.kind for lesson in lessons] if not one_kind else [],
        "key": [] if tight else [one_line(lesson.key, 60) for lesson in lessons],
        "lesson": [beginning(lesson) if tight else one_line(lesson.text, _TEXT) for lesson in lessons],
        "votes" if insights else "noted": [f"{lesson.importance:g}" for lesson in lessons],
        "from": [_from(lesson, wide) for lesson in lessons] if insights else [],
        "status": _statuses(lessons),
        "pool": _pools([one_line(scopes[lesson.id], 200) for lesson in lessons], wide),
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    # Only the text has no most: what room the others leave is its own.
    most = {"key": 24 if wide else 12, "from": 16, "pool": 40 if wide else 14}
    left_out = _narrowed(kept, most, console.width)
    # Where all are of one kind, it heads the column of the texts.
    heads = {"lesson": next(iter(kinds))} if one_kind else {}
    table = Table(
        *(
            Column(heads.get(name, name), overflow="fold", no_wrap=name in ("id", "kind"), max_width=most.get(name))
            for name in kept
        ),
        box=None,
        pad_edge=False,
    )
    for row in zip(*kept.values(), strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    if left_out:
        typer.echo(f"Not shown in this narrow terminal: {', '.join(left_out)}.", err=True)


def _narrowed(columns: dict[str, Sequence[str]], most: Mapping[str, int], width: int) -> list[str]:
    """Take columns out until the text has room, if there are any to take; their names."""
    from rich.cells import cell_len

    def needed(name: str) -> int:
        widest = max(cell_len(part) for cell in (name, *columns[name]) for part in cell.split("\n"))
        return min(widest, _ROOM if name == "lesson" else most.get(name, widest)) + _BETWEEN

    spare = [name for name in _SPARE if name in columns]
    left_out = []
    while spare and sum(map(needed, columns)) > width + _BETWEEN:
        left_out.append(spare.pop(0))
        del columns[left_out[-1]]
    return left_out


def beginning(lesson: Lesson) -> str:
    """The key and the beginning of the text, in one line."""
    key = f"{one_line(lesson.key, 60)}: " if lesson.key else ""
    return key + one_line(lesson.text, _SHORT)


def _from(lesson: Lesson, named: bool) -> str:
    """How many attempts it came from; or the first of them, and how many more."""
    if not named:
        return str(len(lesson.sources) or "")
    more = f" +{len(lesson.sources) - 2}" if len(lesson.sources) > 2 else ""
    return " ".join(one_line(source, 40) for source in lesson.sources[:2]) + more


def _statuses(lessons: Sequence[Lesson]) -> list[str]:
    """What each one is; nothing where all are active and none is pinned."""
    said = [lesson.status + ("\npinned" if lesson.pinned else "") for lesson in lessons]
    return [] if set(said) == {"active"} else said


def _pools(names: Sequence[str], wide: bool) -> list[str]:
    """The pools, a run's by the end of its name where that leaves them distinct; nothing where there is but one."""
    if len(set(names)) == 1:
        return []
    short = {name: RUN.sub(r"..\1", name) for name in names}
    distinct = len(set(short.values())) == len(short)
    return [(short[name] if distinct else name).replace("/", "/" if wide else "/\n", 1) for name in names]
