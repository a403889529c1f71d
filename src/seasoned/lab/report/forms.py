"""A table as data, and its three forms: for the terminal, as Markdown, as JSON.

Always holds: foreign text is never read as markup; a number is never cut short to fit (whole columns give way instead).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seasoned.text import clean

if TYPE_CHECKING:
    import rich.table

_BETWEEN = 3  # characters between two columns
_LEAST, _TEXT = 12, 20  # characters that a longer text has at the least, and so that it is read well
_WORD = 24  # of a word that is not broken while other columns may give way


@dataclass(frozen=True)
class Column:
    """A heading (its lines parted by newlines), whether numbers stand below, and whether it may give way."""

    name: str
    number: bool = True
    spare: bool = False


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
    import rich.table
    from rich import box
    from rich.text import Text

    kept = _that_fit(table, width)
    drawn = rich.table.Table(
        title=Text(clean(table.title), style="bold"), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for i, most in kept.items():
        column = table.columns[i]
        form: dict[str, Any] = {"justify": "right" if column.number else "left", "no_wrap": column.number}
        drawn.add_column(Text(clean(column.name)), overflow="fold", max_width=most, **form)
    source = ""
    for line in table.lines:
        if line.source and line.source != source:
            drawn.add_row(Text(clean(line.source)), style="dim italic")
        source = line.source
        cells = [Text(clean(line.cells[i])) for i in kept]
        if source:
            cells[0] = Text("  ") + cells[0]
        drawn.add_row(*cells, style="dim" if source else "bold" if line.strong else "")
    notes = list(table.notes)
    if len(kept) < len(table.columns):
        left_out = [_flat(column.name) for i, column in enumerate(table.columns) if i not in kept]
        notes.append(f"Left out of this narrow terminal: {', '.join(left_out)}.")
    if notes:
        drawn.caption = Text("\n".join(clean(note) for note in notes))
        drawn.caption_justify = "left"
    return drawn


def _that_fit(table: Table, width: int | None) -> dict[int, int | None]:
    """The places of the columns that fit, each with the most that it may take (None: as much as it needs)."""
    places = range(len(table.columns))
    if width is None:
        return dict.fromkeys(places)
    needs = [_needs(table, place) for place in places]
    kept = list(places)

    def room(level: int) -> int:
        return width + 1 - sum(needs[place][level] + _BETWEEN for place in kept)

    # What may give way does so before a text is narrow, and others before a text is hardly to be read.
    for level, last in ((1, [place for place in places if table.columns[place].spare]), (0, places[2:])):
        for place in reversed(last):
            if place in kept and room(level) < 0:
                kept.remove(place)
    left = room(0)
    if left < 0:
        return dict.fromkeys(kept)
    most = {place: needs[place][0] for place in kept}
    for level in (1, 2):
        for place in kept:
            more = min(needs[place][level] - most[place], left)
            most[place] += more
            left -= more
    return dict(most)


def _needs(table: Table, place: int) -> tuple[int, int, int]:
    """How many characters a column takes at the least, so that it is read well, and so that its lines are whole."""
    from rich.cells import cell_len

    shown = [table.columns[place].name]
    for line in table.lines:
        shown += [f"  {line.cells[0]}", line.source] if line.source and place == 0 else [line.cells[place]]
    lines = [part for cell in shown for part in clean(cell).split("\n")]
    whole = max(map(cell_len, lines))
    if table.columns[place].number:
        return whole, whole, whole
    longest = max((cell_len(word) for part in lines for word in part.split()), default=0)
    well = min(whole, max(_TEXT, longest if longest <= _WORD else 0))
    return min(whole, _LEAST), well, whole


def to_markdown(table: Table) -> str:
    """A pipe table with its title and footnotes."""
    heads = [_escape(column.name) for column in table.columns]
    rules = ["---:" if column.number else ":---" for column in table.columns]
    rows = [
        [_marked(_escape(cell), line) for cell in (f"{first} ({line.source})" if line.source else first, *others)]
        for line in table.lines
        for first, *others in [line.cells]
    ]
    body = "\n".join(f"| {' | '.join(row)} |" for row in [heads, rules, *rows])
    notes = "".join(f"\n- {_escape(note)}" for note in table.notes)
    return f"### {_escape(table.title)}\n\n{body}\n" + (f"{notes}\n" if notes else "")


def _marked(cell: str, line: Line) -> str:
    if not cell:
        return cell
    return f"*{cell}*" if line.source else f"**{cell}**" if line.strong else cell


def _escape(text: str) -> str:
    line = _flat(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|~#" else char for char in line)


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
