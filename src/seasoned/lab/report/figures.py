"""The figures of a report: its plots with their titles and captions, in the order in which a page shows them.

Always holds: an SVG contains only numbers and escaped names; a plot without data is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasoned.lab.report import drawing
from seasoned.lab.report.plots import (
    accuracy_bars,
    audit_bars,
    experience_points,
    failures_by_trial,
    guidance_points,
    heuristics_curve,
    learning_curve,
    mean_bars,
    origins_bars,
    outcome_bars,
    reliability_lines,
    solved_by_trial,
    tokens_bars,
    transitions_bars,
)
from seasoned.lab.report.summary import Summary
from seasoned.text import label

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Figure:
    """A plot of a summary; the caption explains it. "{baseline}" in the title stands for the baseline's name."""

    title: str
    plot: Callable[[Summary], str]
    caption: str

    def heading(self, summary: Summary) -> str:
        """The title with the name of the baseline."""
        return self.title.replace("{baseline}", label(summary.baseline or "the baseline"))

    def svg(self, summary: Summary) -> str:
        """The plot; a dark page sets its colours by `--pale` and `--blue`."""
        text = self.plot(summary)
        for name, colour in (("pale", drawing.PALE), ("blue", drawing.BLUE)):
            text = text.replace(f": {colour}", f": var(--{name}, {colour})")
        return text


FIGURES = (
    Figure("Accuracy", accuracy_bars, "Whiskers are 95% Wilson intervals."),
    Figure(
        "Audit",
        audit_bars,
        "The same tasks with lessons that cannot help: a lift that remains does not come from the lessons' content. "
        "Whiskers are 95% Wilson intervals.",
    ),
    Figure("Mean over seeds and folds", mean_bars, "Whiskers are standard errors."),
    Figure(
        "Solved by trial",
        solved_by_trial,
        "R0 is the first attempt; a task is tried again until it is solved. Broken lines are training tasks.",
    ),
    Figure(
        "Over several runs",
        reliability_lines,
        "Full lines: at least one of k runs solves the task (pass@k); broken lines: all of them do (pass^k). "
        "Whiskers are 95% Wilson intervals, with tasks as trials.",
    ),
    Figure(
        "By number of heuristics",
        heuristics_curve,
        "Bands and whiskers are 95% Wilson intervals; a star is a retrieval with only one number of heuristics.",
    ),
    Figure(
        "Heuristics from successes and failures",
        origins_bars,
        "By category of task: without heuristics, and with those from successes, from failures, or both.",
    ),
    Figure(
        "Heuristics against trajectories",
        guidance_points,
        "Mean guidance per attempt, and the share of solved tasks. Whiskers are 95% Wilson intervals.",
    ),
    Figure(
        "Why tasks stayed unsolved",
        failures_by_trial,
        "The end of the last attempt at each unsolved task. Numbers are episodes.",
    ),
    Figure(
        "How tasks ended",
        outcome_bars,
        "Failed: the attempt ended with a wrong result. Halted: it was stopped before the end. Numbers are episodes.",
    ),
    Figure(
        "Accuracy by number of training cases",
        learning_curve,
        "The band is the 95% Wilson interval; with 0 training cases a method is the baseline.",
    ),
    Figure(
        "Accuracy by experience",
        experience_points,
        "The number of attempts learned from, mean over seeds and folds. Whiskers are 95% Wilson intervals.",
    ),
    Figure(
        "What changed against {baseline}",
        transitions_bars,
        "Each test episode under the baseline and under the condition. Numbers are episodes.",
    ),
    Figure("Tokens", tokens_bars, "Test episodes only; tokens from the prefix cache cost little or nothing."),
)


def draw_figures(summary: Summary) -> list[tuple[str, Markup, str]]:
    """(title, SVG, caption) of each plot with data; an SVG has only numbers and escaped names."""
    from markupsafe import Markup

    drawn = [(figure.heading(summary), figure.svg(summary), figure.caption) for figure in FIGURES]
    return [(title, Markup(svg), caption) for title, svg, caption in drawn if svg]
