"""The table of `seasoned lessons list` and `search`.

Always holds: the text gets most of the width; columns without information are left out; columns that a narrow terminal
leaves out are named; no text controls the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import typer

from seasoned.text import one_line
from seasoned.types import Lesson

_MAX_TEXT = 300  # shown characters of a text; an insight has no more
_SHORT_TEXT = 100  # shown characters if several kinds share a narrow terminal; there, keys precede the texts
_MIN_WIDTH = 20  # of the column of texts, for which other columns are left out
_PADDING = 2  # between columns
_OPTIONAL = ("noted", "votes", "from", "pool", "status")  # columns that are left out, in this order
_WIDE = 100  # the least width at which attempts are named, not only counted, and a pool is in one line
RUN = re.compile(r"\d{8}T\d{6}-.*-([0-9a-f]{6})(?=/)")


def show_lessons(lessons: Sequence[Lesson], scopes: Mapping[str, str]) -> None:
    """Print lessons in this order; `scopes` are their pools by id, which are shown if there are several."""
    from rich.console import Console
    from rich.table import Table
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
        "lesson": [beginning(lesson) if tight else one_line(lesson.text, _MAX_TEXT) for lesson in lessons],
        "votes" if insights else "noted": [f"{lesson.importance:g}" for lesson in lessons],
        "from": [_from(lesson, wide) for lesson in lessons] if insights else [],
        "status": _statuses(lessons),
        "pool": _pools([one_line(scopes[lesson.id], 200) for lesson in lessons], wide),
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    # The column of texts has no maximum: it gets the rest of the width.
    max_widths = {"key": 24 if wide else 12, "from": 16, "pool": 40 if wide else 14}
    left_out = _narrow(shown, max_widths, console.width)
    # A single kind is the heading of the column of texts.
    heads = {"lesson": next(iter(kinds))} if one_kind else {}
    table = Table(box=None, pad_edge=False)
    for name in shown:
        whole, widest = name in ("id", "kind"), max_widths.get(name)
        table.add_column(heads.get(name, name), overflow="fold", no_wrap=whole, max_width=widest)
    for row in zip(*shown.values(), strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    if left_out:
        typer.echo(f"Not shown in this narrow terminal: {', '.join(left_out)}.", err=True)


def _narrow(columns: dict[str, Sequence[str]], max_widths: Mapping[str, int], width: int) -> list[str]:
    """Remove optional columns until the texts have enough width; return their names."""
    from rich.cells import cell_len

    def needed(name: str) -> int:
        widest = max(cell_len(part) for cell in (name, *columns[name]) for part in cell.split("\n"))
        return min(widest, _MIN_WIDTH if name == "lesson" else max_widths.get(name, widest)) + _PADDING

    optional = [name for name in _OPTIONAL if name in columns]
    left_out = []
    while optional and sum(map(needed, columns)) > width + _PADDING:
        left_out.append(optional.pop(0))
        del columns[left_out[-1]]
    return left_out


def beginning(lesson: Lesson) -> str:
    """The key and the beginning of the text, on one line."""
    key = f"{one_line(lesson.key, 60)}: " if lesson.key else ""
    return key + one_line(lesson.text, _SHORT_TEXT)


def _from(lesson: Lesson, named: bool) -> str:
    """The number of the lesson's sources; if `named`, the first two ids and the number of the others."""
    if not named:
        return str(len(lesson.sources) or "")
    more = f" +{len(lesson.sources) - 2}" if len(lesson.sources) > 2 else ""
    return " ".join(one_line(source, 40) for source in lesson.sources[:2]) + more


def _statuses(lessons: Sequence[Lesson]) -> list[str]:
    """The status and pin of each lesson; empty if all are active and none is pinned."""
    statuses = [lesson.status + ("\npinned" if lesson.pinned else "") for lesson in lessons]
    return [] if set(statuses) == {"active"} else statuses


def _pools(names: Sequence[str], wide: bool) -> list[str]:
    """The pools, with runs' names shortened if they stay distinct; empty if there is only one pool."""
    if len(set(names)) == 1:
        return []
    short = {name: RUN.sub(r"..\1", name) for name in names}
    distinct = len(set(short.values())) == len(short)
    return [(short[name] if distinct else name).replace("/", "/" if wide else "/\n", 1) for name in names]
