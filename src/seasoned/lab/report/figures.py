"""The figures of a run, in the order in which its report and its page show them.

Always holds: what a figure says is drawn from numbers and escaped names alone; one without anything to show is "".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seasoned.lab.report import drawing, plots, trial_plots
from seasoned.text import label


@dataclass(frozen=True)
class Figure:
    """A plot of a summary; its caption says how to read it, and "{baseline}" in its title is the condition's name."""

    title: str
    plot: Callable[[Mapping[str, Any]], str]
    caption: str

    def heading(self, summary: Mapping[str, Any]) -> str:
        """The title with the name of the baseline."""
        return self.title.replace("{baseline}", label(str(summary.get("baseline") or "the baseline")))

    def svg(self, summary: Mapping[str, Any]) -> str:
        """The plot; it takes the colours of a dark page, where the page names them `--pale` and `--blue`.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        text = self.plot(summary)
        for name, colour in (("pale", drawing.PALE), ("blue", drawing.BLUE)):
            text = text.replace(f": {colour}", f": var(--{name}, {colour})")
        return text


FIGURES = (
    Figure("Accuracy", plots.accuracy_bars, "Whiskers are 95% Wilson intervals."),
    Figure("Mean over seeds and folds", trial_plots.mean_bars, "Whiskers are standard errors."),
    Figure(
        "Solved by trial",
        trial_plots.solved_by_trial,
        "R0 is the first attempt; a task is tried again until it is solved. Broken lines are training tasks.",
    ),
    Figure(
        "Over several runs",
        trial_plots.reliability_lines,
        "Full lines: at least one of k runs solves the task (pass@k); broken lines: all of them do (pass^k). "
        "Whiskers are 95% Wilson intervals, with tasks as trials.",
    ),
    Figure(
        "By number of heuristics",
        plots.heuristics_curve,
        "Bands and whiskers are 95% Wilson intervals; a star is a retrieval that was run with one number of them.",
    ),
    Figure(
        "Heuristics from successes and failures",
        plots.origins_bars,
        "By category of task: without heuristics, and with those from successes, from failures, or both.",
    ),
    Figure(
        "Heuristics against trajectories",
        plots.guidance_points,
        "How much guidance an attempt was shown, on average, and what was solved. Whiskers are 95% Wilson intervals.",
    ),
    Figure(
        "Why tasks stayed unsolved",
        trial_plots.failures_by_trial,
        "How the last attempt ended where a task stayed unsolved. Numbers are episodes.",
    ),
    Figure(
        "How tasks ended",
        trial_plots.outcome_bars,
        "Failed: it came to an end, a wrong one. Halted: it was stopped before any. Numbers are episodes.",
    ),
    Figure(
        "Accuracy by number of training cases",
        plots.learning_curve,
        "The band is the 95% Wilson interval; with 0 training cases a method is the baseline.",
    ),
    Figure(
        "What changed against {baseline}",
        plots.transitions_bars,
        "Each test episode: what it was under the baseline, and what it became. Numbers are episodes.",
    ),
    Figure("Tokens", plots.tokens_bars, "Test episodes only; tokens from the prefix cache cost little or nothing."),
)
