"""Accuracy by how many heuristics are shown, for each way of retrieving them (ERL, figure 4 and table 3).

Always holds: figures are over all runs of the test, with tasks as trials of their intervals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from seasoned.lab.report.format import interval, percent
from seasoned.lab.report.forms import Column, Line, Table
from seasoned.text import label

RETRIEVALS = ("erl", "erl-embedding", "erl-thought", "erl-random")
"""What the conditions of a sweep begin with; `-k` and a number follow. `erl` retrieves as its recipe says."""
_NAME = re.compile(rf"({'|'.join(RETRIEVALS)})-k(\d+)")


def by_k(summary: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Of each retrieval that was run, by rising k: {k, accuracy, interval}.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in RETRIEVALS}
    for block in summary["conditions"]:
        named, figures = _NAME.fullmatch(block["name"]), block["reliability"]["figures"]
        if named and figures:
            once = {"accuracy": figures[0]["pass@k"], "interval": figures[0]["pass@k_interval"]}
            found[named[1]].append({"k": int(named[2]), **once})
    return {name: sorted(points, key=lambda point: point["k"]) for name, points in found.items() if points}


def sweep_table(summary: Mapping[str, Any]) -> Table | None:
    """One line for each number of heuristics, one column for each retrieval.

    Args:
        summary: What `seasoned.lab.report.summary.build` returns. With fewer than two conditions there is no table.
    """
    curves = by_k(summary)
    rates = {name: {point["k"]: point for point in points} for name, points in curves.items()}
    if sum(map(len, rates.values())) < 2:
        return None
    lines = []
    for k in sorted({k for points in rates.values() for k in points}):
        found = [points.get(k) for points in rates.values()]
        cells = [f"{percent(one['accuracy'])} {interval(one['interval'])}" if one else "" for one in found]
        lines.append(Line((str(k), *cells), {"k": k, **dict(zip(rates, found, strict=True))}))
    columns = (Column("heuristics"), *(Column(f"{label(name)}\n[95%]") for name in rates))
    notes = ["Over all runs of the test."]
    if "erl" in rates:
        notes.append("ERL retrieves as the recipe says under erl.retrieve.")
    return Table("By number of heuristics", columns, tuple(lines), tuple(notes))
