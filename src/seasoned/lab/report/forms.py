"""A table as data, and its two forms: for the terminal, and as JSON.

Always holds: text from elsewhere is never read as markup; a number is never cut to fit (columns are left out instead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.text import clean

if TYPE_CHECKING:
    import rich.table

_TEXT_WIDTH, _MIN_TEXT_WIDTH = 24, 12  # characters of a text column that reads well, and of the narrowest one


@dataclass(frozen=True)
class Column:
    """A heading (with newlines), whether it is a column of numbers, and whether it may be left out."""

    name: str
    number: bool = True
    spare: bool = False


def columns(*names: str | Column, words: int = 1) -> tuple[Column, ...]:
    """Columns with these headings: text in the first `words` of them, numbers in the others."""
    return tuple(
        Column(name, number=place >= words) if isinstance(name, str) else name for place, name in enumerate(names)
    )


def spare(name: str) -> Column:
    """A column of numbers that may be left out."""
    return Column(name, spare=True)


@dataclass(frozen=True)
class Line:
    """One line: its cells as shown, their values, and whether it is the main line.

    `source` is the origin of a figure that is not ours: "gpt-3.5-turbo, paper".
    """

    cells: tuple[str, ...]
    values: Mapping[str, Any]
    source: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A title, columns, lines with a cell per column, and footnotes."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def to_rich(table: Table, width: int | None = None) -> rich.table.Table:
    """The table for a terminal: numbers aligned right, another model's figures dimmed under its name.

    Args:
        table: The table to draw.
        width: The terminal's width in characters. In a narrow terminal, columns are left out from the right, first
            spare ones and then others, and a footnote names them.
    """
    from rich.text import Text

    kept = list(range(len(table.columns)))
    if width is not None:
        # Spare columns go before text gets narrow, other columns before it gets unreadable.
        spare = [place for place in kept if table.columns[place].spare]
        for text_width, candidates in ((_TEXT_WIDTH, spare), (_MIN_TEXT_WIDTH, kept[2:])):
            for place in reversed(candidates):
                if place in kept and _needed(table, kept, text_width) > width:
                    kept.remove(place)
    drawn = _draw(table, kept)
    notes = list(table.notes)
    if left_out := [_flat(column.name) for place, column in enumerate(table.columns) if place not in kept]:
        notes.append(f"Not shown in this narrow terminal: {', '.join(left_out)}.")
    if notes:
        drawn.caption = Text("\n".join(clean(note) for note in notes))
        drawn.caption_justify = "left"
    return drawn


def _needed(table: Table, kept: Sequence[int], text_width: int) -> int:
    """The width of these columns with at most `text_width` characters of text in each."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=10_000)
    return Measurement.get(console, console.options, _draw(table, kept, text_width)).maximum


def _draw(table: Table, kept: Sequence[int], text_width: int | None = None) -> rich.table.Table:
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
            drawn.add_column(head, overflow="fold", max_width=text_width)
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
    """The table's values: title, columns, rows (each with its `source`, "" for ours), notes."""
    return {
        "title": table.title,
        "columns": [_flat(column.name) for column in table.columns],
        "rows": [{**line.values, "source": line.source} for line in table.lines],
        "notes": list(table.notes),
    }
