"""Plots of attempts: solved by trial, reasons of failure by trial, how tasks ended, means over seeds, folds and runs.

Always holds: as in `seasoned.lab.report.plots`; a task that an error of the server ended is in no bar and on no line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.lab.report.drawing import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LINES,
    MARKERS,
    PALE,
    SKY,
    VERMILION,
    paper_marks,
    rates_axis,
    short,
    stack,
    svg,
)
from seasoned.lab.report.format import GATHERING, gathering, percent
from seasoned.lab.report.reference import reference_for
from seasoned.lab.report.trial_tables import retried
from seasoned.lab.report.trials import FINISHED
from seasoned.text import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 26
_APART = 0.07
_KINDS: tuple[tuple[str, Callable[[str], bool], str, str], ...] = (
    ("in a loop", lambda reason: reason == "loop", VERMILION, "////"),
    ("out of steps", lambda reason: reason == "step_limit", SKY, ""),
    ("wrong answer", lambda reason: reason in FINISHED, PALE, ""),
    ("stopped otherwise", lambda reason: reason not in FINISHED | {"loop", "step_limit"}, GREY, "...."),
)


def solved_by_trial(summary: Mapping[str, Any]) -> str:
    """The part of the tasks solved in this trial or before (Reflexion, figures 2a and 3).

    Returns:
        SVG text; "" where nothing was tried twice.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    lines = [(name, [trial for trial in trials if trial["n"]]) for name, trials in retried(summary)]
    lines = [(name, trials) for name, trials in lines if trials]

    def draw(axes: Axes) -> None:
        for i, (name, trials) in enumerate(lines):
            colour, places = LINES[i % len(LINES)], [trial["trial"] for trial in trials]
            rates = [100 * trial["accuracy"] for trial in trials]
            if len(lines) == 1:
                low, high = ([100 * trial["interval"][end] for trial in trials] for end in (0, 1))
                axes.fill_between(places, low, high, color=colour, alpha=0.16, linewidth=0)
            style = "--" if name.endswith(GATHERING) else "-"
            axes.plot(places, rates, style, color=colour, marker=MARKERS[i % len(MARKERS)], label=short(name))
            axes.annotate(f"{rates[-1]:.0f}", (places[-1], rates[-1]), (7, 0), textcoords="offset points", va="center")
        last = max(trials[-1]["trial"] for _, trials in lines)
        axes.set_xticks(range(0, last + 1, 1 + last // 12))
        axes.xaxis.set_major_formatter(lambda value, _: f"R{value:.0f}")
        axes.set_xlabel("trial")
        axes.set_ylabel("solved so far, % of tasks")
        rates_axis(axes, horizontal=False)

    words = "; ".join(
        f"{label(name)} {', '.join(percent(trial['accuracy'], 0) for trial in trials)}" for name, trials in lines
    )
    return svg("trials", f"Solved by trial: {words}.", 3.2, draw) if lines else ""


def reliability_lines(summary: Mapping[str, Any]) -> str:
    """pass@k and pass^k by k with their 95% intervals (ERL, figure 3).

    Returns:
        SVG text; "" where the test was run but once.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [(str(block["name"]), block["reliability"]["figures"]) for block in summary["conditions"]]
    blocks = [(name, [one for one in figures if one["n"]]) for name, figures in blocks]
    blocks = [(name, figures) for name, figures in blocks if len(figures) > 1]

    def draw(axes: Axes) -> None:
        for i, (name, figures) in enumerate(blocks):
            look: dict[str, Any] = {"color": LINES[i % len(LINES)], "marker": MARKERS[i % len(MARKERS)]}
            aside = _APART * (i - (len(blocks) - 1) / 2)  # so that whiskers stand beside one another
            ks = [figure["k"] + aside for figure in figures]
            for which, style, name_in_legend in (("pass@k", "-", short(name)), ("pass^k", "--", None)):
                rates = [100 * figure[which] for figure in figures]
                low, high = ([100 * figure[f"{which}_interval"][end] for figure in figures] for end in (0, 1))
                axes.plot(ks, rates, style, label=name_in_legend, **look)
                axes.vlines(ks, low, high, color=look["color"], linewidth=1.2, alpha=0.7)
        axes.set_xticks(range(1, 1 + max(figures[-1]["k"] for _, figures in blocks)))
        axes.set_xlabel("k, runs of a task")
        axes.set_ylabel("solved, % of tasks")
        rates_axis(axes, horizontal=False)

    last = [(label(name), figures[-1]) for name, figures in blocks]
    words = "; ".join(
        f"{name} pass@{one['k']} {percent(one['pass@k'], 0)}, pass^{one['k']} {percent(one['pass^k'], 0)}"
        for name, one in last
    )
    return svg("reliability", f"Over several runs: {words}.", 3.2, draw) if blocks else ""


def failures_by_trial(summary: Mapping[str, Any]) -> str:
    """How the last attempt at each unsolved task ended, after each trial (Reflexion, figure 2b).

    The paper calls loops hallucination, and attempts that ran out of steps inefficient planning.

    Returns:
        SVG text; "" where nothing was tried twice.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    found = [(name, trial) for name, trials in retried(summary) for trial in trials if trial["n"]][:_MOST_BARS]
    names = [f"{short(name)} R{trial['trial']}" for name, trial in found]
    stacks = [
        (kind, [sum(n for reason, n in trial["reasons"].items() if fits(reason)) for _, trial in found], colour, hatch)
        for kind, fits, colour, hatch in _KINDS
    ]
    stacks = [one for one in stacks if any(one[1])]

    def draw(axes: Axes) -> None:
        _parts(axes, names, stacks, [trial["n"] for _, trial in found], "unsolved so far, % of tasks")

    words = _spoken(names, stacks)
    return svg("failures", f"Reasons of failure. {words}.", 1.4 + 0.34 * len(names), draw) if found and stacks else ""


def outcome_bars(summary: Mapping[str, Any]) -> str:
    """How tasks ended: solved, with a wrong result, or stopped before any (ExpeL, figures 25 to 27).

    Returns:
        SVG text; "" where no episode was finished, or none was stopped.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [(str(block["name"]), block["outcomes"], block["n"]) for block in summary["conditions"]]
    gathered = summary["training"]["conditions"].items()
    blocks += [(gathering(name), part["outcomes"], part["n"]) for name, part in gathered]
    blocks = [one for one in blocks if one[2]][:_MOST_BARS]
    parts = (("solved", "success", GREEN, ""), ("failed", "failed", PALE, ""), ("halted", "halted", VERMILION, "////"))
    stacks = [(legend, [ended[key] for _, ended, _ in blocks], colour, hatch) for legend, key, colour, hatch in parts]
    names = [short(name) for name, _, _ in blocks]

    def draw(axes: Axes) -> None:
        _parts(axes, names, stacks, [n for *_, n in blocks], "% of tasks")
        axes.set_xlim(0, 100)

    # Where every episode comes to an end, the bars of accuracy say the same.
    told = any(stacks[2][1])
    return svg("outcomes", f"Outcomes. {_spoken(names, stacks)}.", 1.4 + 0.46 * len(names), draw) if told else ""


def mean_bars(summary: Mapping[str, Any]) -> str:
    """Mean success over seeds and folds with its standard error, and the papers' (ExpeL, figure 5).

    Returns:
        SVG text; "" where there is but one seed and fold.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [block for block in summary["conditions"] if block["error"] is not None]
    benchmark = str(summary["run"].get("benchmark", ""))

    def draw(axes: Axes) -> None:
        axes.barh(
            range(len(blocks)),
            [100 * block["mean"] for block in blocks],
            height=0.62,
            color=[BLUE if block["name"] == summary["method"] else PALE for block in blocks],
        )
        for place, block in enumerate(blocks):
            mean, error = 100 * block["mean"], 100 * block["error"]
            axes.errorbar(mean, place, xerr=error, color=INK, capsize=4, linewidth=1.4)
            text = f"{mean:.1f} ± {error:.1f}"
            axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center")
        paper_marks(axes, [reference_for(benchmark, block["name"]) for block in blocks])
        axes.set_yticks(range(len(blocks)), [short(block["name"]) for block in blocks])
        axes.set_xlabel("solved, % (mean and standard error)")
        rates_axis(axes, horizontal=True)

    words = ", ".join(f"{label(b['name'])} {100 * b['mean']:.1f} ± {100 * b['error']:.1f}" for b in blocks)
    return svg("means", f"Mean over seeds and folds: {words}.", 1.15 + 0.46 * len(blocks), draw) if blocks else ""


def _parts(
    axes: Axes,
    names: Sequence[str],
    stacks: Sequence[tuple[str, Sequence[int], str, str]],
    wholes: Sequence[int],
    what: str,
) -> None:
    stack(axes, names, stacks, [100 / whole for whole in wholes], str)
    axes.set_xlim(0, 100)
    axes.set_xlabel(what)


def _spoken(names: Sequence[str], stacks: Sequence[tuple[str, Sequence[int], str, str]]) -> str:
    lines = ((name, [f"{kind} {values[i]}" for kind, values, *_ in stacks]) for i, name in enumerate(names))
    return "; ".join(f"{name}: {', '.join(parts)}" for name, parts in lines)
