"""Drawing for all plots: distinguishable colours, bars, and SVG text for a page.

matplotlib is imported on first use and draws without a display. Always holds: the same figures give the same bytes;
lines and letters take the colour of the page's text, so one SVG serves light and dark pages; plots with different names
share no ids.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seasoned.errors import MissingExtraError
from seasoned.lab.report.reference import Reference
from seasoned.text import label, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which stays distinguishable with the common kinds of colour blindness.
BLUE, SKY, GREEN, VERMILION, ORANGE, PURPLE = "#0072b2", "#56b4e9", "#009e73", "#d55e00", "#e69f00", "#cc79a7"
PALE, GREY = "#c9ced6", "#8a919c"
_LINES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
INK = "#010203"
_MARKERS = "osD^vPX"
_WIDTH = 4.7
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "seasoned",
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.size": 11,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}


def short(name: object) -> str:
    """A condition's name, cut to the space in a plot."""
    return one_line(label(name), 20)


def line_look(place: int) -> dict[str, Any]:
    """The colour and the marker of a plot's line, by its place."""
    return {"color": _LINES[place % len(_LINES)], "marker": _MARKERS[place % len(_MARKERS)]}


class Bar(NamedTuple):
    """A horizontal bar: its name, the name cut to the room, its width and whiskers in percent, and its figures."""

    name: str
    tick: str
    width: float
    low: float
    high: float
    rate: str
    counts: str
    colour: str
    hatch: str = ""


class Stack(NamedTuple):
    """One part of horizontal bars: its name in the legend, its value in each bar, colour and hatching."""

    legend: str
    values: Sequence[int]
    colour: str
    hatch: str = ""


def stack(axes: Axes, names: Sequence[str], stacks: Sequence[Stack], scale: Sequence[float], *, numbers: bool) -> None:
    """Draw horizontal stacked bars, one for each name from the top, with the parts from the left.

    `scale` has for each bar the factor from a value to its width; with `numbers`, parts with room for it show theirs.
    """
    left = [0.0] * len(names)
    box = {"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": "none"}
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": "#111111", "bbox": box, "fontsize": 10}
    for part in stacks:
        widths = [value * by for value, by in zip(part.values, scale, strict=True)]
        form: dict[str, Any] = {"color": part.colour, "hatch": part.hatch, "edgecolor": "white", "linewidth": 0}
        axes.barh(range(len(names)), widths, 0.62, left, label=part.legend, **form)
        for place, (value, width) in enumerate(zip(part.values, widths, strict=True)):
            if numbers and width >= 4:
                axes.text(left[place] + width / 2, place, str(value), **look)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    _bare(axes, grid="x")


def beside(axes: Axes, height: float, text: str, **look: Any) -> None:
    """Write text to the right of the axes, at this height."""
    axes.text(1.03, height, text, transform=axes.get_yaxis_transform(), va="center", **look)


def rates_axis(axes: Axes, rates: str, across: str | None = None) -> None:
    """Draw an axis from 0 to 100 with this name: beside lines over `across`, else below bars (the first on top)."""
    if across is None:
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 20))
        axes.set_xlabel(rates)
        axes.invert_yaxis()
    else:
        axes.set_ylim(0, 100)
        axes.set_yticks(range(0, 101, 20))
        axes.set_ylabel(rates)
        axes.set_xlabel(across)
    _bare(axes, grid="x" if across is None else "y")


def _bare(axes: Axes, *, grid: str) -> None:
    for side in ("top", "right", "left" if grid == "x" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    (axes.xaxis if grid == "x" else axes.yaxis).grid(True, color=INK, alpha=0.13, linewidth=0.8)
    axes.set_axisbelow(True)


def paper_marks(axes: Axes, figures: Sequence[Reference | None]) -> None:
    """Mark the published figures on horizontal bars, with their errors if published."""
    figures_at = [(place, figure) for place, figure in enumerate(figures) if figure is not None]
    if figures_at:
        sources = {figure.source for _, figure in figures_at}
        axes.errorbar(
            [figure.value for _, figure in figures_at],
            [place for place, _ in figures_at],
            xerr=[figure.error or 0.0 for _, figure in figures_at],
            linestyle="none",
            marker="D",
            markersize=7,
            markerfacecolor=ORANGE,
            markeredgecolor=INK,
            ecolor=ORANGE,
            label=f"{sources.pop()} (another model)" if len(sources) == 1 else "papers (other models)",
        )


def bars_svg(
    name: str,
    title: str,
    bars: Sequence[Bar],
    what: str,
    inches: float,
    papers: Sequence[Reference | None] = (),
    line_at: float | None = None,
) -> str:
    """Bars with their whiskers and figures, published figures as marks, and a broken line at a rate in percent."""

    def draw(axes: Axes) -> None:
        for place, bar in enumerate(bars):
            axes.barh(place, bar.width, height=0.62, color=bar.colour, hatch=bar.hatch)
            whiskers = [[bar.width - bar.low], [bar.high - bar.width]]
            axes.errorbar(bar.width, place, xerr=whiskers, color=INK, capsize=4, linewidth=1.4)
            beside(axes, place, bar.rate + bar.counts)
        paper_marks(axes, papers)
        if line_at is not None:
            axes.axvline(line_at, color=VERMILION, linestyle="--", linewidth=1.6)
        axes.set_yticks(range(len(bars)), [bar.tick for bar in bars])
        rates_axis(axes, what)

    words = ", ".join(f"{bar.name} {bar.rate}" for bar in bars)
    return svg(name, f"{title}: {words}.", inches + 0.46 * len(bars), draw) if bars else ""


def parts_svg(
    name: str,
    title: str,
    names: Sequence[str],
    stacks: Sequence[Stack],
    wholes: Sequence[int],
    what: str,
    each: float = 0.46,
) -> str:
    """Stacked bars in percent of the wholes, `each` inches high, with the number in each part."""

    def draw(axes: Axes) -> None:
        stack(axes, names, stacks, [100 / whole for whole in wholes], numbers=True)
        axes.set_xlim(0, 100)
        axes.set_xlabel(what)

    bars = ((bar, [f"{one.legend} {one.values[i]}" for one in stacks]) for i, bar in enumerate(names))
    words = "; ".join(f"{bar}: {', '.join(parts)}" for bar, parts in bars)
    return svg(name, f"{title}. {words}.", 1.4 + each * len(names), draw)


def svg(name: str, words: str, height: float, draw: Callable[[Axes], None]) -> str:
    """Draw a plot on empty axes, `height` inches high.

    `name` is the prefix of its ids, different for each plot of a page; `words` describe the plot for screen readers.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("eval", "matplotlib") from error
    out = io.StringIO()
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # Without a glyph, matplotlib measures the text roughly, and the browser shows it in its own font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        draw(axes)
        names = axes.get_legend_handles_labels()[1]
        if names:
            # Outside the axes, so that nothing is cut off.
            close = {"handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 1.2, "borderaxespad": 0.0}
            figure.legend(loc="outside upper left", ncols=3 if len(names) == 3 else 2, fontsize=10, **close)
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    return _for_page(out.getvalue(), name, words)


def _for_page(svg: str, name: str, words: str) -> str:
    """The SVG for a page: no prolog, prefixed ids, the page's font and text colour, and a description."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#)', rf"\g<1>{name}-", svg).replace("url(#", f"url(#{name}-")
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    description = words.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{description}" font-family="sans-serif" ', 1).strip()
