"""The tables of a report on proof: what gates decided, and what probes estimated of single lessons.

Always holds: as in `tables.py`.
"""

from __future__ import annotations

from seasoned.lab.report.cells import text_column
from seasoned.lab.report.forms import Column, Line, Table
from seasoned.lab.report.summary import Probed, Summary
from seasoned.text import count, label, one_line


def probes_table(summary: Summary, limit: int = 20) -> Table | None:
    """What a probe estimated of single lessons: those that seem to help first, those that seem to harm last."""
    if not summary.probes:
        return None
    ordered = sorted(summary.probes, key=lambda one: (one.condition, one.block, -one.effect))
    shown = ordered if len(ordered) <= limit else [*ordered[: limit // 2], *ordered[-(limit // 2) :]]

    def line(one: Probed) -> Line:
        cells = (
            label(one.condition),
            one.block,
            one_line(one.text, 60),
            str(one.uses),
            f"{100 * one.raw:+.0f}",
            f"{100 * one.effect:+.0f}",
            f"{100 * one.deviation:.0f}",
            "kept" if one.kept else "left out",
        )
        return Line(cells, one.to_json())

    columns = (
        text_column("lessons of"),
        text_column("block"),
        text_column("lesson"),
        *map(Column, ("shown", "raw points", "points", "deviation")),
        text_column(""),
    )
    notes = ["Estimates from withholding each lesson at random. They choose candidates for a gate and prove nothing."]
    if len(ordered) > len(shown):
        notes.append(f"{len(ordered) - len(shown)} more are in summary.json.")
    return Table("What single lessons seem to do", columns, tuple(map(line, shown)), tuple(notes))


def gates_table(summary: Summary) -> Table | None:
    """The looks of each gate: tasks won by the lessons and lost to them, p and its limit, and the decision."""
    lines = []
    for gate in summary.gates:
        for number, look in enumerate(gate.looks):
            decided = {"promote": "promoted", "stop": "not promoted", "continue": "go on"}[look.verdict]
            cells = (
                label(gate.of) if not number else "",
                gate.block if not number else "",
                str(look.tasks),
                str(look.won),
                str(look.lost),
                f"{look.p:.3g}",
                f"{look.level:.3g}",
                decided,
                count(gate.tokens) if number == len(gate.looks) - 1 else "",
            )
            lines.append(Line(cells, {**gate.to_json(), "look": number}))
    if not lines:
        return None
    heads = ("tasks", "won", "lost", "p", "p at most")
    columns = (
        text_column("lessons of"),
        text_column("block"),
        *map(Column, heads),
        text_column("decision"),
        Column("tokens"),
    )
    notes = ["In each block, lessons that do not help are promoted with a risk of at most 5 %; see docs/proof.md."]
    if excluded := sum(gate.excluded for gate in summary.gates):
        notes.append(f"{excluded} gate tasks had a server error and count as ties.")
    return Table("Gates", columns, tuple(lines), tuple(notes))
