"""How a figure is taken and shown: repeats after a warm-up, their median and their best, and the target beside them.

Always holds: a figure that was not taken says why, and is never called reached.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

_SCALES = {"s": (1.0, "s"), "ms": (1e3, "ms"), "us": (1e6, "us"), "texts/s": (1.0, "texts/s")}


@dataclass(frozen=True)
class Sizes:
    """How much is measured: repeats, lessons in the store, rows of the big matrix, calls and texts a repeat.

    `reply_seconds` is what a quick hosted model takes for a reply.
    """

    repeats: int = 9
    lessons: int = 10_000
    vectors: int = 100_000
    calls: int = 40
    batch: int = 1_000
    texts: int = 5_000
    job_seconds: float = 0.1
    reply_seconds: float = 0.25


QUICK = Sizes(repeats=2, lessons=50, vectors=200, calls=2, batch=10, texts=20, job_seconds=0.001, reply_seconds=0.001)


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    `samples` are one number a repeat, seconds unless `unit` says otherwise; `unit` also says how they are shown.
    `target` is in the unit of the samples; a median up to it reaches it. With `missing` nothing was measured.
    `least` is the best where the samples are differences: the least of them may be noise alone.
    """

    what: str
    samples: tuple[float, ...] = ()
    unit: str = "ms"
    target: float | None = None
    missing: str = ""
    least: float | None = None

    @property
    def median(self) -> float | None:
        """The middle one of the samples."""
        return statistics.median(self.samples) if self.samples else None

    @property
    def best(self) -> float | None:
        """The best of the samples: the greatest rate, the least of anything else."""
        if not self.samples or self.least is not None:
            return self.least
        return max(self.samples) if self.unit.endswith("/s") else min(self.samples)

    @property
    def verdict(self) -> str:
        """`yes`, `no`, `best only` (the median misses the target and the best repeat reaches it), or nothing."""
        if self.target is None or self.median is None or self.best is None:
            return ""
        if self.median <= self.target:
            return "yes"
        return "best only" if self.best <= self.target else "no"

    def shown(self, value: float | None) -> str:
        """A sample as the table shows it."""
        if value is None:
            return ""
        scale, unit = _SCALES.get(self.unit, (1.0, self.unit))
        number = value * scale
        digits = 0 if number >= 1000 or self.unit in ("packages", "MB") else 1 if number >= 100 else 3
        return f"{number:,.{digits}f} {unit}"

    def plain(self) -> dict[str, Any]:
        """The row for JSON; numbers in the unit of the samples."""
        unit = "s" if self.unit in ("ms", "us") else self.unit
        plain = {"what": self.what, "unit": unit, "median": self.median, "best": self.best, "target": self.target}
        return {**plain, "reached": self.verdict, "missing": self.missing, "samples": list(self.samples)}


def seconds(work: Callable[[], object], repeats: int, *, inner: int = 1, warm: int = 1) -> tuple[float, ...]:
    """Seconds for one `work()`, once a repeat, each the mean of `inner` in a row, after `warm` that are not counted."""
    for _ in range(warm * inner):
        work()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(inner):
            work()
        taken.append((time.perf_counter() - began) / inner)
    return tuple(taken)


def above(what: str, plain: Sequence[float], whole: Sequence[float], *, target: float | None = None) -> Figure:
    """What `whole` takes above `plain`: differences pair by pair; the best is the difference of the bests."""
    differences = tuple(b - a for a, b in zip(plain, whole, strict=True))
    return Figure(what, differences, target=target, least=min(whole) - min(plain))


def table(figures: Sequence[Figure]) -> Table:
    """The figures as a table for the terminal."""
    shown = Table(title="Speed of Seasoned", title_justify="left", pad_edge=False)
    shown.add_column("what")
    for column in ("median", "best", "target"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("ok?", no_wrap=True)
    for figure in figures:
        median = figure.shown(figure.median) or figure.missing
        target = "" if figure.target is None else f"<= {figure.shown(figure.target)}"
        shown.add_row(figure.what, median, f"[{figure.shown(figure.best)}]".replace("[]", ""), target, figure.verdict)
    return shown
