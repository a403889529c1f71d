"""The plots of a report as SVG text, and its figures: the plots with their titles and captions, in the page's order.

Always holds: the same summary gives the same bytes; colours stay distinguishable for colour-blind readers and in print
without colour (by lightness, hatching and figures); plots contain only numbers and escaped names; a plot without data
is ""; a task that a server error ended is in no plot. Every plot raises `MissingExtraError` if matplotlib is not
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.lab.report.attempt_tables import Point, retried, sweep
from seasoned.lab.report.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    Bar,
    Stack,
    bars_svg,
    beside,
    line_look,
    parts_svg,
    rates_axis,
    short,
    stack,
    svg,
)
from seasoned.lab.report.measures import FINISHED, grouped
from seasoned.lab.report.reference import reference_for
from seasoned.lab.report.summary import Condition, Interval, Summary
from seasoned.lab.report.tables import GATHERING, gathering, percent
from seasoned.text import count, label, one_line

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

_MAX_BARS = 26
_MAX_CATEGORIES = 10
_WHISKER_GAP = 0.07  # between the whiskers of two lines
_RATES = "solved, % of test episodes"
_KINDS: tuple[tuple[str, Callable[[str], bool], str, str], ...] = (
    ("in a loop", lambda reason: reason == "loop", VERMILION, "////"),
    ("out of steps", lambda reason: reason == "step_limit", SKY, ""),
    ("wrong answer", lambda reason: reason in FINISHED, PALE, ""),
    ("stopped otherwise", lambda reason: reason not in FINISHED | {"loop", "step_limit"}, GREY, "...."),
)
_ENDINGS = {
    "blank": "blank",
    "shuffled": "shuffled among tasks",
    "foreign": "about something else",
    "corrupted": "negated",
}
"""The endings of conditions with altered lessons, in the order of their bars, and what the lessons are."""


def _bounds(interval: Interval) -> tuple[float, float]:
    """An interval in percent."""
    return 100 * interval[0], 100 * interval[1]


def _accuracy_bar(one: Condition, name: str, tick: str, colour: str, hatch: str = "") -> Bar:
    rate, counts = percent(one.accuracy, 0), f"  ({one.successes}/{one.n})"
    return Bar(name, tick, 100 * (one.accuracy or 0.0), *_bounds(one.interval), rate, counts, colour, hatch)


def _colour(summary: Summary, one: Condition) -> str:
    return BLUE if one.name == summary.method else PALE


def accuracy_bars(summary: Summary) -> str:
    """The accuracy of each condition with its interval, and published figures as marks."""
    shown = [one for one in summary.conditions if one.n]
    bars = [_accuracy_bar(one, label(one.name), short(one.name), _colour(summary, one)) for one in shown]
    papers = [reference_for(summary.run.benchmark, one.name) for one in shown]
    return bars_svg("accuracy", "Accuracy by condition", bars, _RATES, 0.95, papers)


def mean_bars(summary: Summary) -> str:
    """Mean success over seeds and folds with its standard error, and published figures as marks (ExpeL, figure 5)."""
    bars, papers = [], []
    for one in summary.conditions:
        if one.error is not None:
            mean, error = 100 * (one.mean or 0.0), 100 * one.error
            figures = (mean, mean - error, mean + error, f"{mean:.1f} ± {error:.1f}", "")
            bars.append(Bar(label(one.name), short(one.name), *figures, _colour(summary, one)))
            papers.append(reference_for(summary.run.benchmark, one.name))
    return bars_svg("means", "Mean over seeds and folds", bars, "solved, % (mean and standard error)", 1.15, papers)


def audit_bars(summary: Summary) -> str:
    """Accuracy with the learned and with altered lessons, each with its interval; a line marks the baseline."""
    bars = []
    for one in summary.conditions:
        variants = {words: summary.condition(f"{one.name}+{ending}") for ending, words in _ENDINGS.items()}
        finished = {words: variant for words, variant in variants.items() if variant is not None and variant.n}
        if finished and one.n:
            learned = f"{short(one.name)}, as learned"
            bars.append(_accuracy_bar(one, learned, learned, BLUE))
            bars += [_accuracy_bar(variant, words, f"  {words}", PALE, "////") for words, variant in finished.items()]
    baseline = summary.condition(summary.baseline)
    line_at = 100 * (baseline.accuracy or 0.0) if baseline is not None and baseline.n else None
    return bars_svg("audit", "Audit", bars, f"{_RATES} (broken line: {label(summary.baseline)})", 1.15, line_at=line_at)


def learning_curve(summary: Summary) -> str:
    """Accuracy by number of training cases, with its band (ExpNote, figure 3); "" if no condition has two numbers.

    A star at 0 is a condition with lessons but no training case, such as insights from worked examples (ExpeL, fig. 6).
    """
    points = grouped((point.condition, point) for point in summary.curve if point.n)
    grown = {name for name, own in points.items() if sum(one.trained_on > 0 for one in own) > 1}
    untrained = {name for name, own in points.items() if not any(one.trained_on for one in own)}
    curves = {
        name: [Point(one.trained_on, one.accuracy or 0.0, one.interval) for one in own]
        for name, own in points.items()
        if grown and name in grown | untrained
    }
    words = f"Accuracy by number of training cases for {', '.join(map(label, curves))}."
    return _curves("curve", words, curves, "training cases") if curves else ""


def experience_points(summary: Summary) -> str:
    """Accuracy by number of attempts learned from (ExpeL, figure 6); "" with fewer than three different numbers."""
    shown = [one for one in summary.conditions if one.n and one.experience is not None]
    if len({one.experience for one in shown}) < 3:
        return ""
    curves = {one.name: [Point(round(one.experience or 0), one.accuracy or 0.0, one.interval)] for one in shown}
    rates = ", ".join(f"{label(name)} {percent(own[0].accuracy, 0)} with {own[0].at}" for name, own in curves.items())
    return _curves("experience", f"Accuracy by attempts learned from: {rates}.", curves, "attempts learned from")


def heuristics_curve(summary: Summary) -> str:
    """Accuracy by number of heuristics shown, a line per retrieval, or a star if it has one number (ERL, figure 4).

    "" if no retrieval was run with two numbers; see `seasoned.lab.report.attempt_tables.sweep`.
    """
    curves = sweep(summary)
    rates = "; ".join(
        f"{label(name)} " + ", ".join(f"{percent(one.accuracy, 0)} with {one.at}" for one in points)
        for name, points in curves.items()
    )
    several = any(len(points) > 1 for points in curves.values())
    spoken = f"Accuracy by number of heuristics: {rates}."
    return _curves("heuristics", spoken, curves, "heuristics shown", log=True) if several else ""


def _curves(name: str, words: str, curves: Mapping[str, Sequence[Point]], what: str, *, log: bool = False) -> str:
    """Accuracy with its band, one line per name; a star for a single point."""

    def draw(axes: Axes) -> None:
        for i, (condition, points) in enumerate(curves.items()):
            look = line_look(i)
            sizes, rates = [point.at for point in points], [100 * point.accuracy for point in points]
            low, high = zip(*(_bounds(point.interval) for point in points), strict=True)
            if len(points) == 1:
                look |= {"marker": "*", "markersize": 14, "linestyle": "none"}
                axes.vlines(sizes, low, high, color=look["color"], linewidth=1.4)
            axes.fill_between(sizes, low, high, color=look["color"], alpha=0.16, linewidth=0)
            (line,) = axes.plot(sizes, rates, linewidth=2, **look)
            if len(curves) > 1:
                line.set_label(short(condition))
                continue
            for size, rate in zip(sizes, rates, strict=True):
                axes.annotate(f"{rate:.0f}", (size, rate), (0, 8), textcoords="offset points", ha="center")
        ticks = sorted({point.at for points in curves.values() for point in points})
        if log:  # the labels 1, 3 and 5 would overlap beside 60
            axes.set_xscale("log")
            axes.minorticks_off()
        axes.set_xticks(ticks, list(map(str, ticks)))
        rates_axis(axes, _RATES, what)

    return svg(name, words, 3.0, draw)


def origins_bars(summary: Summary) -> str:
    """Accuracy by category with heuristics from successes, from failures and from both (ERL, figure 2b).

    "" without heuristics, or if no condition showed any. The last bars are of all tasks.
    """
    looks = {summary.baseline: (PALE, ""), "erl-success": (GREEN, ""), "erl-failure": (VERMILION, "////")}
    looks["erl"] = (BLUE, "")
    groups = [*summary.origins[:-1][:_MAX_CATEGORIES], *summary.origins[-1:]]
    names = [name for name in looks if any(name in one.conditions and one.conditions[name].n for one in groups)]
    if not any(name.startswith("erl") for name in names):
        return ""
    titles = [one_line(one.category, 20) or "all" for one in groups]
    height = 0.8 / len(names)

    def draw(axes: Axes) -> None:
        for i, name in enumerate(names):
            colour, hatch = looks[name]
            scores = [(place - 0.4 + (i + 0.5) * height, one.conditions[name]) for place, one in enumerate(groups)]
            bars = [(place, score, 100 * (score.accuracy or 0.0)) for place, score in scores if score.n]
            look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
            places, rates = [place for place, *_ in bars], [rate for *_, rate in bars]
            axes.barh(places, rates, 0.92 * height, label=short(name), **look)
            for place, score, rate in bars:
                beside(axes, place, f"{rate:.0f}%  ({score.successes}/{score.n})", fontsize=9)
        axes.set_yticks(range(len(groups)), titles)
        rates_axis(axes, _RATES)

    words = "; ".join(
        f"{title}: " + ", ".join(f"{label(name)} {percent(one.conditions[name].accuracy, 0)}" for name in names)
        for title, one in zip(titles, groups, strict=True)
    )
    inches = 1.3 + len(groups) * (0.12 + 0.19 * len(names))
    return svg("origins", f"Accuracy by source of the heuristics. {words}.", inches, draw)


def guidance_points(summary: Summary) -> str:
    """Accuracy by tokens of heuristics or of trajectories in the prompt, with its interval (ERL, figure 5).

    It is over all runs of the test, and "" if not both were run, or the tokens are unknown.
    """
    shown = [(one, one.guidance_tokens) for one in summary.guidance if one.guidance_tokens is not None]

    def draw(axes: Axes) -> None:
        widest = 1.3 * max(1.0, *(tokens for _, tokens in shown))
        for i, ((one, tokens), colour) in enumerate(zip(shown, (VERMILION, BLUE, GREEN, PURPLE), strict=False)):
            rate, (low, high) = 100 * (one.accuracy or 0.0), _bounds(one.interval)
            look = line_look(i) | {"color": colour, "linestyle": "none", "markersize": 8, "capsize": 4}
            axes.errorbar(tokens, rate, yerr=[[rate - low], [high - rate]], label=short(one.condition), **look)
            # erl-matched is close to the condition that it matches and never to the right of it.
            left = one.condition == "erl-matched" and tokens > widest / 3
            offset, side = ((-8, 8), "right") if left else ((8, 8), "left")
            words = f"{rate:.0f}% ({one.successes}/{one.n})"
            axes.annotate(words, (tokens, rate), offset, textcoords="offset points", ha=side, fontsize=10)
        axes.set_xlim(0, widest)
        axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
        rates_axis(axes, _RATES, "guidance tokens of an attempt, mean")

    words = "; ".join(
        f"{label(one.condition)} {percent(one.accuracy, 0)} with {count(round(tokens))}" for one, tokens in shown
    )
    return svg("guidance", f"Accuracy by guidance tokens: {words}.", 3.2, draw) if len(shown) > 1 else ""


def solved_by_trial(summary: Summary) -> str:
    """The share of tasks solved in this trial or before (Reflexion, figures 2a and 3); "" without retries."""
    tried = [(name, [trial for trial in trials if trial.n]) for name, trials in retried(summary)]
    lines = [(name, trials) for name, trials in tried if trials]

    def draw(axes: Axes) -> None:
        for i, (name, trials) in enumerate(lines):
            look, places = line_look(i), [trial.trial for trial in trials]
            rates = [100 * (trial.accuracy or 0.0) for trial in trials]
            if len(lines) == 1:
                low, high = zip(*(_bounds(trial.interval) for trial in trials), strict=True)
                axes.fill_between(places, low, high, color=look["color"], alpha=0.16, linewidth=0)
            axes.plot(places, rates, "--" if name.endswith(GATHERING) else "-", label=short(name), **look)
            axes.annotate(f"{rates[-1]:.0f}", (places[-1], rates[-1]), (7, 0), textcoords="offset points", va="center")
        last = max(trials[-1].trial for _, trials in lines)
        axes.set_xticks(range(0, last + 1, 1 + last // 12))
        axes.xaxis.set_major_formatter(lambda value, _: f"R{value:.0f}")
        rates_axis(axes, "solved so far, % of tasks", "trial")

    words = "; ".join(
        f"{label(name)} " + ", ".join(percent(trial.accuracy, 0) for trial in trials) for name, trials in lines
    )
    return svg("trials", f"Solved by trial: {words}.", 3.2, draw) if lines else ""


def reliability_lines(summary: Summary) -> str:
    """pass@k and pass^k by k with their intervals (ERL, figure 3); "" if the test was run only once."""
    known = [(one.name, [each for each in one.reliability.figures if each.n]) for one in summary.conditions]
    shown = [(name, figures) for name, figures in known if len(figures) > 1]

    def draw(axes: Axes) -> None:
        for i, (name, figures) in enumerate(shown):
            look = line_look(i)
            shift = _WHISKER_GAP * (i - (len(shown) - 1) / 2)  # whiskers must not overlap
            ks = [one.k + shift for one in figures]
            at = [(one.pass_at, one.pass_at_interval) for one in figures]
            hat = [(one.pass_hat, one.pass_hat_interval) for one in figures]
            for rates, style, name_in_legend in ((at, "-", short(name)), (hat, "--", None)):
                low, high = zip(*(_bounds(interval) for _, interval in rates), strict=True)
                axes.plot(ks, [100 * rate for rate, _ in rates], style, label=name_in_legend, **look)
                axes.vlines(ks, low, high, color=look["color"], linewidth=1.2, alpha=0.7)
        axes.set_xticks(range(1, 1 + max(figures[-1].k for _, figures in shown)))
        rates_axis(axes, "solved, % of tasks", "k, runs of a task")

    last = [(label(name), figures[-1]) for name, figures in shown]
    words = "; ".join(
        f"{name} pass@{one.k} {percent(one.pass_at, 0)}, pass^{one.k} {percent(one.pass_hat, 0)}" for name, one in last
    )
    return svg("reliability", f"Over several runs: {words}.", 3.2, draw) if shown else ""


def failures_by_trial(summary: Summary) -> str:
    """How the last attempt at each unsolved task ended, after each trial (Reflexion, figure 2b).

    The paper calls loops hallucination, and attempts that ran out of steps inefficient planning.
    """
    bars = [(name, trial) for name, trials in retried(summary) for trial in trials if trial.n][:_MAX_BARS]
    names = [f"{short(name)} R{trial.trial}" for name, trial in bars]
    kinds = [
        Stack(kind, [sum(n for reason, n in trial.reasons.items() if fits(reason)) for _, trial in bars], colour, hatch)
        for kind, fits, colour, hatch in _KINDS
    ]
    stacks, wholes = [one for one in kinds if any(one.values)], [trial.n for _, trial in bars]
    what = "unsolved so far, % of tasks"
    return parts_svg("failures", "Reasons of failure", names, stacks, wholes, what, 0.34) if stacks else ""


def outcome_bars(summary: Summary) -> str:
    """How tasks ended: solved, with a wrong result, or stopped before any (ExpeL, figures 25 to 27).

    "" if no episode was stopped, since the bars of accuracy then show the same.
    """
    every = [(one.name, one.outcomes, one.n) for one in summary.conditions]
    every += [(gathering(name), part.outcomes, part.n) for name, part in summary.training.conditions.items()]
    bars = [one for one in every if one[2]][:_MAX_BARS]
    stacks = [
        Stack("solved", [ended["success"] for _, ended, _ in bars], GREEN),
        Stack("failed", [ended["failed"] for _, ended, _ in bars], PALE),
        Stack("halted", [ended["halted"] for _, ended, _ in bars], VERMILION, "////"),
    ]
    names, wholes = [short(name) for name, *_ in bars], [n for *_, n in bars]
    return parts_svg("outcomes", "Outcomes", names, stacks, wholes, "% of tasks") if any(stacks[2].values) else ""


def transitions_bars(summary: Summary) -> str:
    """The outcomes of the baseline's failures and successes under a condition (ExpNote, figure 4); "" without pairs."""
    moved = [one for one in summary.transitions if one.n]
    names, wholes = [short(one.condition) for one in moved], [one.n for one in moved]
    stacks = [
        Stack("still not solved", [one.ff for one in moved], PALE),
        Stack("solved now", [one.ft for one in moved], GREEN),
        Stack("solved in both", [one.tt for one in moved], SKY),
        Stack("no longer solved", [one.tf for one in moved], VERMILION, "////"),
    ]
    what = "% of the shared episodes"
    return parts_svg("transitions", "Transitions", names, stacks, wholes, what) if moved else ""


def tokens_bars(summary: Summary) -> str:
    """The tokens of the test episodes: cached prompt, new prompt, and output."""
    shown = [one for one in summary.conditions if one.tokens.total]
    names, totals = [short(one.name) for one in shown], [one.tokens.total for one in shown]
    stacks = [
        Stack("prompt, cached", [one.tokens.cached for one in shown], PALE),
        Stack("prompt, new", [one.tokens.prompt - one.tokens.cached for one in shown], BLUE),
        Stack("output", [one.tokens.completion for one in shown], ORANGE),
    ]

    def draw(axes: Axes) -> None:
        stack(axes, names, stacks, [1.0] * len(names), numbers=False)
        for place, total in enumerate(totals):
            axes.annotate(count(total), (total, place), (6, 0), textcoords="offset points", va="center")
        axes.set_xlim(0, 1.14 * max(totals))
        axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
        axes.set_xlabel("tokens of all test episodes")

    words = "; ".join(f"{name} {count(total)}" for name, total in zip(names, totals, strict=True))
    return svg("tokens", f"Tokens by condition: {words}.", 1.15 + 0.46 * len(shown), draw) if shown else ""


# Figures

FIGURES: tuple[tuple[str, Callable[[Summary], str], str], ...] = (
    ("Accuracy", accuracy_bars, "Whiskers are 95% Wilson intervals."),
    (
        "Audit",
        audit_bars,
        "The same tasks with lessons that cannot help: a lift that remains does not come from the lessons' content. "
        "Whiskers are 95% Wilson intervals.",
    ),
    ("Mean over seeds and folds", mean_bars, "Whiskers are standard errors."),
    (
        "Solved by trial",
        solved_by_trial,
        "R0 is the first attempt; a task is tried again until it is solved. Broken lines are training tasks.",
    ),
    (
        "Over several runs",
        reliability_lines,
        "Full lines: at least one of k runs solves the task (pass@k); broken lines: all of them do (pass^k). "
        "Whiskers are 95% Wilson intervals, with tasks as trials.",
    ),
    (
        "By number of heuristics",
        heuristics_curve,
        "Bands and whiskers are 95% Wilson intervals; a star is a retrieval with only one number of heuristics.",
    ),
    (
        "Heuristics from successes and failures",
        origins_bars,
        "By category of task: without heuristics, and with those from successes, from failures, or both.",
    ),
    (
        "Heuristics against trajectories",
        guidance_points,
        "Mean guidance per attempt, and the share of solved tasks. Whiskers are 95% Wilson intervals.",
    ),
    (
        "Why tasks stayed unsolved",
        failures_by_trial,
        "The end of the last attempt at each unsolved task. Numbers are episodes.",
    ),
    (
        "How tasks ended",
        outcome_bars,
        "Failed: the attempt ended with a wrong result. Halted: it was stopped before the end. Numbers are episodes.",
    ),
    (
        "Accuracy by number of training cases",
        learning_curve,
        "The band is the 95% Wilson interval; with 0 training cases a method is the baseline.",
    ),
    (
        "Accuracy by experience",
        experience_points,
        "The number of attempts learned from, mean over seeds and folds. Whiskers are 95% Wilson intervals.",
    ),
    (
        "What changed against {baseline}",
        transitions_bars,
        "Each test episode under the baseline and under the condition. Numbers are episodes.",
    ),
    ("Tokens", tokens_bars, "Test episodes only; tokens from the prefix cache cost little or nothing."),
)
"""The title, with "{baseline}" for the baseline's name, the plot, and the caption that explains it."""


def draw_figures(summary: Summary) -> list[tuple[str, Markup, str]]:
    """(title, SVG, caption) of each plot with data; a dark page sets the SVG's colours by `--pale` and `--blue`."""
    from markupsafe import Markup

    drawn = []
    for title, plot, caption in FIGURES:
        if text := plot(summary):
            for name, colour in (("pale", PALE), ("blue", BLUE)):
                text = text.replace(f": {colour}", f": var(--{name}, {colour})")
            heading = title.replace("{baseline}", label(summary.baseline or "the baseline"))
            drawn.append((heading, Markup(text), caption))  # an SVG has only numbers and escaped names
    return drawn
