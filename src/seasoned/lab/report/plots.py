"""Plots of a report as SVG text: accuracy, by training cases and by heuristics, their origin, transitions, tokens.

Always holds: the same summary gives the same bytes; colours stay apart for colour-blind readers and in print without
colour (lightness, hatching and figures say the same); where there is nothing to show there is no plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.lab.report.drawing import (
    BLUE,
    GREEN,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    paper_marks,
    rates_axis,
    short,
    stack,
    svg,
)
from seasoned.lab.report.format import percent
from seasoned.lab.report.reference import reference_for
from seasoned.lab.report.sweep import by_k
from seasoned.text import count, label, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CATEGORIES = 10


def accuracy_bars(summary: Mapping[str, Any]) -> str:
    """Accuracy of each condition with its Wilson interval, and the paper's figure as a mark.

    Returns:
        SVG text; "" when no condition has a counted episode.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [block for block in summary["conditions"] if block["n"]]
    benchmark = str(summary["run"].get("benchmark", ""))

    def draw(axes: Axes) -> None:
        places = range(len(blocks))
        rates = [100 * block["accuracy"] for block in blocks]
        main = [block["name"] == summary["method"] for block in blocks]
        axes.barh(places, rates, height=0.62, color=[BLUE if is_main else PALE for is_main in main])
        for place, block, rate in zip(places, blocks, rates, strict=True):
            low, high = (100 * bound for bound in block["interval"])
            axes.errorbar(rate, place, xerr=[[rate - low], [high - rate]], color=INK, capsize=4, linewidth=1.4)
            text = f"{percent(block['accuracy'], 0)}  ({block['successes']}/{block['n']})"
            axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center")
        paper_marks(axes, [reference_for(benchmark, block["name"]) for block in blocks])
        axes.set_yticks(list(places), [short(block["name"]) for block in blocks])
        axes.set_xlabel("solved, % of test episodes")
        rates_axis(axes, horizontal=True)

    return svg("accuracy", _accuracy_words(blocks), 0.95 + 0.46 * len(blocks), draw) if blocks else ""


def _accuracy_words(blocks: Sequence[Mapping[str, Any]]) -> str:
    parts = (f"{label(block['name'])} {percent(block['accuracy'], 0)}" for block in blocks)
    return f"Accuracy by condition: {', '.join(parts)}."


def learning_curve(summary: Mapping[str, Any]) -> str:
    """Accuracy by number of training cases, with the Wilson band (ExpNote, figure 3).

    A star at 0 is what had lessons from no training case, such as insights from worked examples (ExpeL, figure 6).

    Returns:
        SVG text; "" when no condition was evaluated at two sizes of its own.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    curves: dict[str, list[Mapping[str, Any]]] = {}
    for point in summary["curve"]:
        if point["n"]:
            curves.setdefault(point["condition"], []).append(point)
    grown = {name for name, points in curves.items() if sum(one["trained_on"] > 0 for one in points) > 1}
    untrained = {name for name, points in curves.items() if not any(one["trained_on"] for one in points)}
    curves = {name: points for name, points in curves.items() if grown and name in grown | untrained}
    words = f"Accuracy by number of training cases for {', '.join(map(label, curves))}."
    return _curves("curve", words, curves, "trained_on", "training cases") if curves else ""


def heuristics_curve(summary: Mapping[str, Any]) -> str:
    """Accuracy by how many heuristics are shown, a line for each retrieval and a star where it was run once (figure 4).

    Returns:
        SVG text; "" where none was run with two numbers of them; see `seasoned.lab.report.sweep`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    curves = by_k(summary)
    told = {
        name: ", ".join(f"{percent(point['accuracy'], 0)} with {point['k']}" for point in points)
        for name, points in curves.items()
    }
    spoken = "; ".join(f"{label(name)} {rates}" for name, rates in told.items())
    words = f"Accuracy by number of heuristics: {spoken}."
    several = any(len(points) > 1 for points in curves.values())
    return _curves("heuristics", words, curves, "k", "heuristics shown") if several else ""


def origins_bars(summary: Mapping[str, Any]) -> str:
    """Accuracy by category with heuristics from successes, from failures and from both (ERL, figure 2b).

    Returns:
        SVG text; "" without heuristics, or where no condition was shown any. The last bars are of all tasks.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    looks = {summary["baseline"]: (PALE, ""), "erl-success": (GREEN, ""), "erl-failure": (VERMILION, "////")}
    looks["erl"] = (BLUE, "")
    groups = summary["origins"]
    groups = [*groups[:-1][:_MOST_CATEGORIES], *groups[-1:]]
    names = [name for name in looks if any(one["conditions"].get(name, {"n": 0})["n"] for one in groups)]
    if not any(name.startswith("erl") for name in names):
        return ""
    titles = [one_line(one["category"], 20) or "all" for one in groups]
    height = 0.8 / len(names)

    def draw(axes: Axes) -> None:
        for i, name in enumerate(names):
            colour, hatch = looks[name]
            found = [(place, one["conditions"][name]) for place, one in enumerate(groups)]
            bars = [(place - 0.4 + (i + 0.5) * height, score) for place, score in found if score["n"]]
            rates = [100 * score["accuracy"] for _, score in bars]
            axes.barh(
                [place for place, _ in bars],
                rates,
                0.92 * height,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
                label=short(name),
            )
            for (place, score), rate in zip(bars, rates, strict=True):
                text = f"{rate:.0f}%  ({score['successes']}/{score['n']})"
                axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        axes.set_yticks(range(len(groups)), titles)
        axes.set_xlabel("solved, % of test episodes")
        rates_axis(axes, horizontal=True)

    told = (
        f"{title}: " + ", ".join(f"{label(name)} {percent(one['conditions'][name]['accuracy'], 0)}" for name in names)
        for title, one in zip(titles, groups, strict=True)
    )
    inches = 1.3 + len(groups) * (0.12 + 0.19 * len(names))
    return svg("origins", f"Accuracy by what the heuristics come from. {'; '.join(told)}.", inches, draw)


def guidance_points(summary: Mapping[str, Any]) -> str:
    """Accuracy by how many tokens of heuristics or of trajectories are shown, with Wilson's interval (ERL, figure 5).

    It is over all runs of the test, with tasks as trials of the interval.

    Returns:
        SVG text; "" where they were not both run, or the tokens are unknown.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [one for one in summary.get("guidance", ()) if one["guidance_tokens"] is not None]

    def draw(axes: Axes) -> None:
        widest = 1.3 * max(1.0, *(block["guidance_tokens"] for block in blocks))
        for i, (block, colour) in enumerate(zip(blocks, (VERMILION, BLUE, GREEN, PURPLE), strict=False)):
            rate, (low, high) = 100 * block["accuracy"], (100 * bound for bound in block["interval"])
            axes.errorbar(
                block["guidance_tokens"],
                rate,
                yerr=[[rate - low], [high - rate]],
                linestyle="none",
                marker=MARKERS[i],
                markersize=8,
                color=colour,
                capsize=4,
                label=short(block["condition"]),
            )
            words = f"{rate:.0f}% ({block['successes']}/{block['n']})"
            # What is matched stands close by what it matches, and never to the right of it.
            left = block["condition"] == "erl-matched" and block["guidance_tokens"] > widest / 3
            offset, side = ((-8, 8), "right") if left else ((8, 8), "left")
            spot = (block["guidance_tokens"], rate)
            axes.annotate(words, spot, offset, textcoords="offset points", ha=side, fontsize=10)
        axes.set_xlim(0, widest)
        axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
        axes.set_xlabel("guidance tokens of an attempt, mean")
        axes.set_ylabel("solved, % of test episodes")
        rates_axis(axes, horizontal=False)

    spoken = "; ".join(
        f"{label(block['condition'])} {percent(block['accuracy'], 0)} with {count(round(block['guidance_tokens']))}"
        for block in blocks
    )
    return svg("guidance", f"Accuracy by guidance tokens: {spoken}.", 3.2, draw) if len(blocks) > 1 else ""


def _curves(name: str, words: str, curves: Mapping[str, Sequence[Mapping[str, Any]]], along: str, what: str) -> str:
    """Accuracy with its Wilson band along a figure of each point, one line a name; of one point alone a star."""

    def draw(axes: Axes) -> None:
        for i, (condition, points) in enumerate(curves.items()):
            colour = LINES[i % len(LINES)]
            sizes = [point[along] for point in points]
            rates = [100 * point["accuracy"] for point in points]
            low, high = ([100 * point["interval"][end] for point in points] for end in (0, 1))
            look: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)]}
            if len(points) == 1:
                look = {"marker": "*", "markersize": 14, "linestyle": "none"}
                axes.vlines(sizes, low, high, color=colour, linewidth=1.4)
            axes.fill_between(sizes, low, high, color=colour, alpha=0.16, linewidth=0)
            (line,) = axes.plot(sizes, rates, color=colour, linewidth=2, **look)
            if len(curves) > 1:
                line.set_label(short(condition))
            if len(curves) == 1:
                for size, rate in zip(sizes, rates, strict=True):
                    axes.annotate(f"{rate:.0f}", (size, rate), (0, 8), textcoords="offset points", ha="center")
        ticks = sorted({point[along] for points in curves.values() for point in points})
        if along == "k":  # 1, 3 and 5 would stand in one another's way beside 60
            axes.set_xscale("log")
            axes.minorticks_off()
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.set_xlabel(what)
        axes.set_ylabel("solved, % of test episodes")
        rates_axis(axes, horizontal=False)

    return svg(name, words, 3.0, draw)


def transitions_bars(summary: Mapping[str, Any]) -> str:
    """What became of the baseline's failures and successes (ExpNote, figure 4).

    Returns:
        SVG text; "" when nothing can be paired with the baseline.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    moved = [one for one in summary["transitions"] if one["n"]]
    parts = [
        ("F=>F", "still not solved", PALE, ""),
        ("F=>T", "solved now", GREEN, ""),
        ("T=>T", "solved in both", SKY, ""),
        ("T=>F", "no longer solved", VERMILION, "////"),
    ]
    words = "; ".join(f"{label(one['condition'])}: " + ", ".join(f"{k} {one[k]}" for k, *_ in parts) for one in moved)
    names = [short(one["condition"]) for one in moved]
    stacks = [(legend, [one[key] for one in moved], colour, hatch) for key, legend, colour, hatch in parts]

    def draw(axes: Axes) -> None:
        stack(axes, names, stacks, [100 / one["n"] for one in moved], str)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the shared episodes")

    return svg("transitions", f"Transitions. {words}.", 1.4 + 0.46 * len(moved), draw) if moved else ""


def tokens_bars(summary: Mapping[str, Any]) -> str:
    """Tokens of the test episodes: prompt from the cache, prompt computed anew, and output.

    Returns:
        SVG text; "" when no tokens were counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [block for block in summary["conditions"] if block["tokens"]["total"]]
    tokens = [block["tokens"] for block in blocks]
    names = [short(block["name"]) for block in blocks]
    stacks = [
        ("prompt, cached", [one["cached"] for one in tokens], PALE, ""),
        ("prompt, new", [one["prompt"] - one["cached"] for one in tokens], BLUE, ""),
        ("output", [one["completion"] for one in tokens], ORANGE, ""),
    ]
    words = "; ".join(f"{name} {count(one['total'])}" for name, one in zip(names, tokens, strict=True))

    def draw(axes: Axes) -> None:
        stack(axes, names, stacks, [1.0] * len(names), None)
        for place, one in enumerate(tokens):
            total = one["total"]
            axes.annotate(count(total), (total, place), (6, 0), textcoords="offset points", va="center")
        axes.set_xlim(0, 1.14 * max(one["total"] for one in tokens))
        axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
        axes.set_xlabel("tokens of all test episodes")

    return svg("tokens", f"Tokens by condition: {words}.", 1.15 + 0.46 * len(blocks), draw) if blocks else ""
