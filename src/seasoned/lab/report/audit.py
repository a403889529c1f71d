"""The plot of an audit: what remains of a lift with blank, shuffled, foreign or negated lessons.

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
"""The endings of conditions with altered lessons, in the order of their bars."""
_MEANINGS = dict(zip(ENDINGS, ("blank", "shuffled among tasks", "about something else", "negated"), strict=True))


def audited(summary: Summary) -> list[tuple[Condition, list[tuple[str, Condition]]]]:
    """Each audited condition with its variants in order: (ending, condition)."""
    results = []
    for one in summary.conditions:
        variants = [(ending, summary.condition(f"{one.name}+{ending}")) for ending in ENDINGS]
        finished = [(ending, variant) for ending, variant in variants if variant is not None and variant.n]
        if finished and one.n:
            results.append((one, finished))
    return results


def audit_bars(summary: Summary) -> str:
    """Accuracy with the learned and with altered lessons, each with its interval; a line marks the baseline."""
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
