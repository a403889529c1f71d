"""Plots of a report as SVG text: accuracy, accuracy by training cases, transitions, tokens.

matplotlib is imported on first use and draws without a display. Always holds: the same summary gives the same bytes;
colours stay apart for colour-blind readers and in print without colour (lightness, hatching and figures say the same);
lines and letters take the colour of the text around them, so one SVG serves light and dark pages.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seasoned.errors import MissingExtraError
from seasoned.report.reference import reference_for
from seasoned.report.text import count, label, one_line, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which keeps apart under the common kinds of colour blindness.
BLUE, SKY, GREEN, VERMILION, ORANGE, PURPLE = "#0072b2", "#56b4e9", "#009e73", "#d55e00", "#e69f00", "#cc79a7"
PALE, GREY = "#c9ced6", "#8a919c"
_INK = "#010203"
_MARKERS = "osD^vP"
_WIDTH = 4.7
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "seasoned",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.size": 11,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}


def require() -> None:
    """Find out before a run, not after it, whether the library behind the plots is there.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtraError("eval", "matplotlib") from error


def _short(name: object) -> str:
    """A condition's name in the room that a plot has."""
    return one_line(label(name), 20)


def accuracy_bars(summary: Mapping[str, Any]) -> str:
    """Accuracy of each condition with its Wilson interval, and the paper's figure as a mark.

    Returns:
        SVG text; "" when no condition has a counted episode.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [block for block in summary["conditions"] if block["n"]]

    def draw(axes: Axes) -> None:
        places = range(len(blocks))
        rates = [100 * block["accuracy"] for block in blocks]
        main = [block["name"] == summary["method"] for block in blocks]
        axes.barh(places, rates, height=0.62, color=[BLUE if is_main else PALE for is_main in main])
        for place, block, rate in zip(places, blocks, rates, strict=True):
            low, high = (100 * bound for bound in block["interval"])
            axes.errorbar(rate, place, xerr=[[rate - low], [high - rate]], color=_INK, capsize=4, linewidth=1.4)
            text = f"{percent(block['accuracy'], 0)}  ({block['successes']}/{block['n']})"
            axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center")
        _reference_marks(axes, blocks, summary)
        axes.set_yticks(list(places), [_short(block["name"]) for block in blocks])
        axes.set_xlabel("solved, % of test episodes")
        _rates_axis(axes, horizontal=True)

    return _svg("accuracy", _accuracy_words(blocks), 0.95 + 0.46 * len(blocks), draw) if blocks else ""


def _accuracy_words(blocks: Sequence[Mapping[str, Any]]) -> str:
    parts = (f"{label(block['name'])} {percent(block['accuracy'], 0)}" for block in blocks)
    return f"Accuracy by condition: {', '.join(parts)}."


def _reference_marks(axes: Axes, blocks: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> None:
    benchmark = str(summary["run"].get("benchmark", ""))
    found = [(i, figure) for i, one in enumerate(blocks) if (figure := reference_for(benchmark, one["name"]))]
    if not found:
        return
    axes.plot(
        [figure.value for _, figure in found],
        [place for place, _ in found],
        linestyle="none",
        marker="D",
        markersize=7,
        markerfacecolor=ORANGE,
        markeredgecolor=_INK,
        label=f"{found[0][1].source} (another model)",
    )


def learning_curve(summary: Mapping[str, Any]) -> str:
    """Accuracy by number of training cases, with the Wilson band (ExpNote, figure 3).

    Returns:
        SVG text; "" when no condition was evaluated at two sizes of its own.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    curves: dict[str, list[Mapping[str, Any]]] = {}
    for point in summary["curve"]:
        if point["n"]:
            curves.setdefault(point["condition"], []).append(point)
    curves = {name: points for name, points in curves.items() if sum(one["trained_on"] > 0 for one in points) > 1}
    if not curves:
        return ""

    def draw(axes: Axes) -> None:
        colours = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]
        for i, (name, points) in enumerate(curves.items()):
            colour = colours[i % len(colours)]
            sizes = [point["trained_on"] for point in points]
            rates = [100 * point["accuracy"] for point in points]
            low, high = ([100 * point["interval"][end] for point in points] for end in (0, 1))
            axes.fill_between(sizes, low, high, color=colour, alpha=0.16, linewidth=0)
            (line,) = axes.plot(sizes, rates, color=colour, marker=_MARKERS[i % len(_MARKERS)], linewidth=2)
            if len(curves) > 1:
                line.set_label(_short(name))
            if len(curves) == 1:
                for size, rate in zip(sizes, rates, strict=True):
                    axes.annotate(f"{rate:.0f}", (size, rate), (0, 8), textcoords="offset points", ha="center")
        axes.set_xticks(sorted({point["trained_on"] for points in curves.values() for point in points}))
        axes.set_xlabel("training cases")
        axes.set_ylabel("solved, % of test episodes")
        _rates_axis(axes, horizontal=False)

    return _svg("curve", f"Accuracy by number of training cases for {', '.join(map(label, curves))}.", 3.0, draw)


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
    names = [_short(one["condition"]) for one in moved]
    stacks = [(legend, [one[key] for one in moved], colour, hatch) for key, legend, colour, hatch in parts]

    def draw(axes: Axes) -> None:
        _stack(axes, names, stacks, [100 / one["n"] for one in moved], str)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the shared tasks")

    return _svg("transitions", f"Transitions. {words}.", 1.4 + 0.46 * len(moved), draw) if moved else ""


def tokens_bars(summary: Mapping[str, Any]) -> str:
    """Tokens of the test episodes: prompt from the cache, prompt computed anew, and output.

    Returns:
        SVG text; "" when no tokens were counted.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    blocks = [block for block in summary["conditions"] if block["tokens"]["total"]]
    tokens = [block["tokens"] for block in blocks]
    names = [_short(block["name"]) for block in blocks]
    stacks = [
        ("prompt, cached", [one["cached"] for one in tokens], PALE, ""),
        ("prompt, new", [one["prompt"] - one["cached"] for one in tokens], BLUE, ""),
        ("output", [one["completion"] for one in tokens], ORANGE, ""),
    ]
    words = "; ".join(f"{name} {count(one['total'])}" for name, one in zip(names, tokens, strict=True))

    def draw(axes: Axes) -> None:
        _stack(axes, names, stacks, [1.0] * len(names), None)
        for place, one in enumerate(tokens):
            total = one["total"]
            axes.annotate(count(total), (total, place), (6, 0), textcoords="offset points", va="center")
        axes.set_xlim(0, 1.14 * max(one["total"] for one in tokens))
        axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
        axes.set_xlabel("tokens of all test episodes")

    return _svg("tokens", f"Tokens by condition: {words}.", 1.15 + 0.46 * len(blocks), draw) if blocks else ""


def _stack(
    axes: Axes,
    names: Sequence[str],
    stacks: Sequence[tuple[str, Sequence[int], str, str]],
    scale: Sequence[float],
    figure: Callable[[int], str] | None,
) -> None:
    left = [0.0] * len(names)
    for legend, values, colour, hatch in stacks:
        widths = [value * by for value, by in zip(values, scale, strict=True)]
        axes.barh(
            range(len(names)),
            widths,
            0.62,
            left,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
            label=legend,
        )
        for place, (value, width) in enumerate(zip(values, widths, strict=True)):
            if figure is not None and width >= 4:
                box = {"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": "none"}
                middle = left[place] + width / 2
                axes.text(
                    middle, place, figure(value), ha="center", va="center", color="#111111", bbox=box, fontsize=10
                )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    _bare(axes, grid="x")


def _rates_axis(axes: Axes, *, horizontal: bool) -> None:
    if horizontal:
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 20))
        axes.invert_yaxis()
        _bare(axes, grid="x")
    else:
        axes.set_ylim(0, 100)
        axes.set_yticks(range(0, 101, 20))
        _bare(axes, grid="y")


def _bare(axes: Axes, *, grid: str) -> None:
    for side in ("top", "right", "left" if grid == "x" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    (axes.xaxis if grid == "x" else axes.yaxis).grid(True, color=_INK, alpha=0.13, linewidth=0.8)
    axes.set_axisbelow(True)


def _svg(name: str, words: str, height: float, draw: Callable[[Axes], None]) -> str:
    """Draw on an empty figure of `height` inches; `words` is what a screen reader says."""
    require()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name in a script that the measuring font lacks is measured roughly, and shown in the reader's own font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        draw(axes)
        names = axes.get_legend_handles_labels()[1]
        if names:
            # Outside the axes, whatever room their labels leave, so that nothing is cut off.
            close = {"handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 1.2, "borderaxespad": 0.0}
            figure.legend(loc="outside upper left", ncols=3 if len(names) == 3 else 2, fontsize=10, **close)
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    return _for_page(out.getvalue(), name, words)


def _for_page(svg: str, name: str, words: str) -> str:
    """Fit for a page: no prolog, ids of its own, the page's font and text colour, a description for screen readers."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#)', rf"\g<1>{name}-", svg).replace("url(#", f"url(#{name}-")
    svg = svg.replace(_INK, "currentColor")
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    spoken = words.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{spoken}" font-family="sans-serif" ', 1).strip()
