"""The table of pairs: each two conditions on the tasks that both finished.

Always holds: whichever pairs the main table lacks are here; a test without tasks has an em dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seasoned.lab.report.format import p_value, signed
from seasoned.lab.report.forms import Column, Line, Table
from seasoned.text import UNKNOWN, label

FEW = 10
"""So many pairs are shown at once, and more of them folded away."""


def pairs_table(summary: Mapping[str, Any]) -> Table | None:
    """Every two conditions with their exact McNemar test, in the order of the summary.

    Args:
        summary: What `summary.build` returns. Where each pair is one with the baseline, the main table
            has them all, and there is no table.
    """
    pairs = summary["pairs"]
    if all(summary["baseline"] in (pair["a"], pair["b"]) for pair in pairs):
        return None
    columns = (
        Column("a", number=False),
        Column("b", number=False),
        Column("episodes"),
        Column("only a"),
        Column("only b"),
        Column("points,\nb vs a"),
        Column("exact\np"),
    )
    notes = ("Only a, only b: solved by that one alone. The p values are not corrected for the number of pairs.",)
    return Table("Pairs", columns, tuple(Line(_cells(pair), pair) for pair in pairs), notes)


def _cells(pair: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (str(pair[key]) for key in ("n", "only_a", "only_b"))
    tested = (signed(pair["points"]), p_value(pair["p"])) if pair["n"] else (UNKNOWN, UNKNOWN)
    return label(pair["a"]), label(pair["b"]), *counts, *tested
