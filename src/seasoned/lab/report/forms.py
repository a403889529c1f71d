"""A table as data, and its two forms: for the terminal, and as JSON.

Always holds: foreign text is never read as markup; a number is never cut short to fit (whole columns give way instead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.text import clean

if TYPE_CHECKING:
    import rich.table

_WELL, _LEAST = 24, 12  # characters with which a longer text is read well, and that it has at the least


@dataclass(frozen=True)
class Column:
    """A heading (its lines parted by newlines), whether numbers stand below, and whether it may give way."""

    name: str
    number: bool = True
    spare: bool = False


def columns(*names: str | Column, words: int = 1) -> tuple[Column, ...]:
    """Columns under these headings: words in the first so many of them, numbers in the others."""
    return tuple(
        Column(name, number=place >= words) if isinstance(name, str) else name for place, name in enumerate(names)
    )


def spare(name: str) -> Column:
    """A column of numbers that may give way."""
    return Column(name, spare=True)


@dataclass(frozen=True)
class Line:
    """One line: cells as shown, the values behind them, and whether it is the main one.

    `source` says whose figure it is where it is not ours: "gpt-3.5-turbo, paper".
    """

    cells: tuple[str, ...]
    values: Mapping[str, Any]
    source: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A title, columns, lines of as many cells, and footnotes."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def to_rich(table: Table, width: int | None = None) -> rich.table.Table:
    """For the terminal: numbers to the right, another model's figures dimmed under its name.

    Args:
        table: What to draw.
        width: Columns of the terminal; where they do not suffice, columns are left out from the right, first those
            that may give way and then others, and a footnote names them.
    """
    from rich.text import Text

    kept = list(range(len(table.columns)))
    if width is not None:
        # What may give way does so before a text is narrow, and others before a text is hardly to be read.
        spare = [place for place in kept if table.columns[place].spare]
        for most, last in ((_WELL, spare), (_LEAST, kept[2:])):
            for place in reversed(last):
                if place in kept and _needed(table, kept, most) > width:
                    kept.remove(place)
    drawn = _drawn(table, kept)
    notes = list(table.notes)
    if left_out := [_flat(column.name) for place, column in enumerate(table.columns) if place not in kept]:
        notes.append(f"Not shown in this narrow terminal: {', '.join(left_out)}.")
    if notes:
        drawn.caption = Text("\n".join(clean(note) for note in notes))
        drawn.caption_justify = "left"
    return drawn


def _needed(table: Table, kept: Sequence[int], most: int) -> int:
    """The width of these columns where a text has `most` characters."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=10_000)
    return Measurement.get(console, console.options, _drawn(table, kept, most)).maximum


def _drawn(table: Table, kept: Sequence[int], most: int | None = None) -> rich.table.Table:
    import rich.table
    from rich import box
    from rich.text import Text

    drawn = rich.table.Table(
        title=Text(clean(table.title), style="bold"), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for column in (table.columns[place] for place in kept):
        head = Text(clean(column.name))
        if column.number:
            drawn.add_column(head, justify="right", no_wrap=True, overflow="fold")
        else:
            drawn.add_column(head, overflow="fold", max_width=most)
    source = ""
    for line in table.lines:
        if line.source and line.source != source:
            drawn.add_row(Text(clean(line.source)), style="dim italic")
        source = line.source
        cells = [Text(clean(line.cells[place])) for place in kept]
        if source:
            cells[0] = Text("  ") + cells[0]
        drawn.add_row(*cells, style="dim" if source else "bold" if line.strong else "")
    return drawn


def _flat(text: str) -> str:
    return " ".join(clean(text).split())


def to_json(table: Table) -> dict[str, Any]:
    """The values behind the table: title, columns, rows (each with its `source`, "" for ours), notes."""
    return {
        "title": table.title,
        "columns": [_flat(column.name) for column in table.columns],
        "rows": [{**line.values, "source": line.source} for line in table.lines],
        "notes": list(table.notes),
    }
