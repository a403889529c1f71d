"""The picture of an audit: what is left of a lift when the lessons are blank, shuffled, foreign or negated.

Always holds: as in `plots.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasoned.lab.report.drawing import BLUE, INK, PALE, VERMILION, beside, rates_axis, short, svg
from seasoned.lab.report.format import percent
from seasoned.lab.report.summary import Condition, Summary
from seasoned.text import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = ("blank", "shuffled", "foreign", "corrupted")
"""Of the conditions whose lessons have other words, in the order in which they are drawn."""
_MEANINGS = dict(zip(ENDINGS, ("blank", "shuffled among tasks", "about something else", "negated"), strict=True))


def audited(summary: Summary) -> list[tuple[Condition, list[tuple[str, Condition]]]]:
    """Each condition that was audited, and its variants in order: (ending, condition)."""
    known = []
    for one in summary.conditions:
        variants = [(ending, summary.condition(f"{one.name}+{ending}")) for ending in ENDINGS]
        there = [(ending, variant) for ending, variant in variants if variant is not None and variant.n]
        if there and one.n:
            known.append((one, there))
    return known


def audit_bars(summary: Summary) -> str:
    """Accuracy as learned and with other words, each with its interval; a line marks the baseline."""
    baseline = summary.condition(summary.baseline)
    bars: list[tuple[str, Condition, bool]] = []
    for one, variants in audited(summary):
        bars.append((f"{short(one.name)}, as learned", one, True))
        bars += [(f"  {_MEANINGS[ending]}", variant, False) for ending, variant in variants]

    def draw(axes: Axes) -> None:
        for place, (_, one, learned) in enumerate(bars):
            rate, (low, high) = 100 * (one.accuracy or 0.0), (100 * bound for bound in one.interval)
            axes.barh(place, rate, height=0.62, color=BLUE if learned else PALE, hatch="" if learned else "////")
            axes.errorbar(rate, place, xerr=[[rate - low], [high - rate]], color=INK, capsize=4, linewidth=1.4)
            beside(axes, place, f"{percent(one.accuracy, 0)}  ({one.successes}/{one.n})")
        if baseline is not None and baseline.n:
            axes.axvline(100 * (baseline.accuracy or 0.0), color=VERMILION, linestyle="--", linewidth=1.6)
        axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
        axes.set_xlabel(f"solved, % of test episodes (broken line: {label(summary.baseline)})")
        rates_axis(axes, horizontal=True)

    words = ", ".join(f"{name.strip()} {percent(one.accuracy, 0)}" for name, one, _ in bars)
    return svg("audit", f"Audit: {words}.", 1.15 + 0.46 * len(bars), draw) if bars else ""
