"""A table as data, its two forms (for the terminal, and as JSON), and the format of figures in every report.

Always holds: text from elsewhere is never read as markup; a number is never cut to fit (columns are left out instead);
an unknown figure is an em dash, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seasoned.lab.report.summary import Score, Solved, Spent
from seasoned.text import UNKNOWN, clean, count

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
    """One line: its cells as shown, and whether it is the main line.

    `source` is the origin of a figure that is not ours: "gpt-3.5-turbo, paper"; `values` are for `to_json`.
    """

    cells: tuple[str, ...]
    source: str = ""
    strong: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A title, columns, lines with a cell per column, and footnotes."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def to_rich(table: Table, width: int | None = None) -> rich.table.Table:
    """The table for a terminal: numbers aligned right, another model's figures dimmed under its name.

    If `width` characters are too few, columns are left out from the right, first spare ones and then others, and a
    footnote names them.
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
    """The table's title, columns, notes, and the values of its lines."""
    return {
        "title": table.title,
        "columns": [_flat(column.name) for column in table.columns],
        "rows": [{**line.values, "source": line.source} for line in table.lines],
        "notes": list(table.notes),
    }


# Figures

MAX_CATEGORIES = 40
"""The most categories in a table; summary.json has all."""
MINUS = "\N{MINUS SIGN}"
GATHERING = "gathering"


def gathering(name: str) -> str:
    """The name for the attempts of a condition at training tasks."""
    return GATHERING if name == "training" else f"{name}, {GATHERING}"


def percent(rate: float | None, digits: int = 1) -> str:
    """A rate of 0..1 as a percentage."""
    return UNKNOWN if rate is None else f"{100 * rate:.{digits}f}%"


def interval(bounds: tuple[float, float] | list[float] | None) -> str:
    """An interval of rates, in whole percent: [56, 79]."""
    return UNKNOWN if bounds is None else f"[{100 * bounds[0]:.0f}, {100 * bounds[1]:.0f}]"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign, or without one if it rounds to 0."""
    if value is None:
        return UNKNOWN
    shown = f"{abs(value):.{digits}f}"
    if float(shown) == 0:
        return shown
    return ("+" if value > 0 else MINUS) + shown


def p_value(p: float | None) -> str:
    """A p value for a table cell: <0.001, 0.032, 0.41."""
    if p is None:
        return UNKNOWN
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_clause(p: float) -> str:
    """A p value in a sentence: p < 0.001, p = 0.032."""
    shown = p_value(p)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def cost(dollars: float | None) -> str:
    """US dollars; an em dash if the price is unknown."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.995 else f"${dollars:.2g}" if dollars >= 0.0001 else "<$0.0001"


def duration(seconds: float) -> str:
    """Seconds for people: 48 s, 5 min 12 s, 2 h 5 min."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"


def share(part: int, whole: int) -> float | None:
    """The part divided by the whole; None if the whole is 0."""
    return part / whole if whole else None


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with `digits` decimal places."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def solved_cell(part: Solved | None) -> str:
    """The number of solved tasks, of all: 12/20."""
    return f"{part.successes}/{part.n}" if part else UNKNOWN


def accuracy_cell(score: Score) -> str:
    """The accuracy with its interval."""
    return f"{percent(score.accuracy)} {interval(score.interval)}" if score.n else UNKNOWN


def prompt_cell(spent: Spent) -> str:
    """Prompt tokens, with the share that came from a cache."""
    prompt, cached = spent.tokens.prompt, spent.tokens.cached
    return f"{count(prompt)} ({percent(cached / prompt, 0)})" if prompt else count(prompt)


def is_partial(reward: float | None, rate: float | None) -> bool:
    """Whether some attempt earned a reward between 0 and 1: then the mean reward differs from the success rate."""
    return reward is not None and rate is not None and abs(reward - rate) > 1e-9
