"""The rows of the table that compares Seasoned with other products, from the measurements.

Always holds: a cell is a median with its unit, or says why there is none.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Column = Mapping[str, Any]


def rows(results: Mapping[str, Column], sizes: Sequence[int]) -> list[list[str]]:
    """The lines of the table: a label, then one cell for each library."""
    columns = list(results.values())
    first = str(sizes[0])

    def line(what: str, cell: Callable[[Column], str]) -> list[str]:
        return [what, *(cell(column) for column in columns)]

    lines = [
        line("installed: size, packages", _installed),
        line("import of what is used, without the interpreter", lambda c: _time(c.get("import"), "not measured")),
        line("store", lambda c: _of(c, first, lambda cell: str(cell["store"]))),
    ]
    for size in map(str, sizes):
        big = f"{int(size):,}"
        lines += [
            line(f"fill with {big}, each, findable", lambda c, size=size: _of(c, size, _filled)),
            line(f"top-10 of {big}", lambda c, size=size: _of(c, size, _searched)),
            line(
                f"a text for the prompt, of {big}",
                lambda c, size=size: _of(c, size, lambda cell: _part(cell, "recall")),
            ),
            line(f"add one among {big}", lambda c, size=size: _of(c, size, lambda cell: _part(cell, "add"))),
            line(f"add one and find it, {big}", lambda c, size=size: _of(c, size, lambda cell: _part(cell, "again"))),
            line(
                f"learn from an attempt, {big} there, above the raw client", lambda c, size=size: _of(c, size, _learned)
            ),
            line(f"memory with {big}, above the given", lambda c, size=size: _of(c, size, _memory)),
        ]
    return [
        *lines,
        line("model calls to learn from an attempt, prompt tokens", lambda c: _of(c, first, _calls)),
        line("64 jobs of 100 ms on 16 threads (ideal: 400 ms)", lambda c: _of(c, first, lambda d: _part(d, "jobs"))),
    ]


def _installed(column: Column) -> str:
    if "megabytes" not in column:
        return "not measured"
    return f"{column['megabytes']:,.0f} MB, {column['packages']}"


def _of(column: Column, size: str, shown: Callable[[Mapping[str, Any]], str]) -> str:
    cell = column.get(size, {"failed": "not measured"})
    return f"failed: {cell['failed']}" if "failed" in cell else shown(cell)


def _filled(cell: Mapping[str, Any]) -> str:
    return _time([cell["fill"]])


def _searched(cell: Mapping[str, Any]) -> str:
    exact = "" if cell.get("of_ten", 10) > 9.99 else f" ({cell['of_ten']:.1f} of the ten)"
    return f"{_time(cell['search'])}{exact}{_fewer(cell)}"


def _fewer(cell: Mapping[str, Any]) -> str:
    return "" if cell["size"] == cell.get("wanted", cell["size"]) else f" (only {cell['size']:,}: no time for more)"


def _part(cell: Mapping[str, Any], name: str) -> str:
    return _time(cell.get(name), cell["why"].get(name, "not measured"))


def _memory(cell: Mapping[str, Any]) -> str:
    return f"{cell['memory'] - cell['memory_given']:,.0f} MB"


def _learned(cell: Mapping[str, Any]) -> str:
    above = [full - bare for full, bare in zip(cell.get("learn", ()), cell.get("raw", ()), strict=True)]
    return _time(above, cell["why"].get("learn", "not measured"))


def _calls(cell: Mapping[str, Any]) -> str:
    return f"{cell['calls']}, {cell['tokens']:,.0f}" if cell.get("learn") else "none"


def _time(seconds: Sequence[float] | None, missing: str = "") -> str:
    if not seconds:
        return missing
    taken = statistics.median(seconds)
    for unit, scale, below in (("us", 1e6, 1e-3), ("ms", 1e3, 1.0)):
        if taken < below:
            return f"{taken * scale:.3g} {unit}" if taken * scale < 100 else f"{taken * scale:,.0f} {unit}"
    return f"{taken:.3g} s"
