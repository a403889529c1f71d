"""Draws beside.json as one picture: `python benchmarks/picture.py docs/images/beside.svg`.

Each panel is one kind of work with the largest number of lessons that all libraries were measured with, on a
logarithmic scale. Always holds: a bar is a median of measured samples; for work that a library does not do, the
picture says "not offered", and for a library that failed, "could not run".
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beside import RESULTS

from seasoned.lab.report.drawing import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#1f2430"
_LEAST = 0.3  # milliseconds at the left edge
_PANELS = (("search", "find the nearest ten"), ("again", "add one, then find it"), ("learn", "learn from an attempt"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the picture; return the exit code."""
    parser = argparse.ArgumentParser(description="Draw the figures of beside.py.")
    parser.add_argument("picture", type=Path, help="the file to write, such as docs/images/beside.svg")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the figures (default: %(default)s)")
    args = parser.parse_args(arguments)
    result = json.loads(args.results.read_text(encoding="utf-8"))
    draw(result["measured"], result["machine"], args.picture)
    return 0


def draw(measured: Mapping[str, Mapping[str, Any]], machine: Mapping[str, Any], picture: Path) -> None:
    """Draw one panel for each kind of work."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    size = max(set.intersection(*({key for key in column if key.isdecimal()} for column in measured.values())), key=int)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "seasoned", "font.family": ["sans-serif"]}):
        figure = Figure(figsize=(11, 2.9), facecolor="white", layout="constrained")
        for axes, (work, title) in zip(figure.subplots(1, 3, sharey=True), _PANELS, strict=True):
            _panel(axes, {name: column[size] for name, column in measured.items()}, work, title)
        heading = f"Milliseconds with {int(size):,} lessons stored, less is better"
        figure.suptitle(f"{heading} ({machine['cores']} cores, medians, without model time)", color=_INK, fontsize=11)
        figure.savefig(picture, format=picture.suffix[1:], metadata={"Date": None})


def milliseconds(cell: Mapping[str, Any], work: str) -> float | None:
    """The median of a kind of work, without the time of the bare client; None if the library does not do it."""
    samples = cell.get(work)
    if not samples:
        return None
    client = cell["raw"] if work == "learn" else [0.0] * len(samples)
    return 1e3 * statistics.median(one - bare for one, bare in zip(samples, client, strict=True))


def _panel(axes: Axes, cells: Mapping[str, Mapping[str, Any]], work: str, title: str) -> None:
    medians = {name: milliseconds(cell, work) for name, cell in cells.items()}
    most = max(value for value in medians.values() if value)
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, most * 12)
    for place, (name, value) in enumerate(medians.items()):
        colour = BLUE if name == "Seasoned" else GREY
        width = max(value or _LEAST, _LEAST)
        axes.barh(place, width, color=colour if value else "none", height=0.65)
        missing = "could not run" if "failed" in cells[name] else "not offered"
        shown = missing if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
        axes.text(1.25 * width, place, shown, va="center", color=_INK, fontsize=9)
    axes.set_yticks(range(len(medians)), list(medians), color=_INK)
    axes.invert_yaxis()
    axes.set_title(title, color=_INK, fontsize=10)
    axes.set_xticks([])
    axes.minorticks_off()
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    sys.exit(main())
