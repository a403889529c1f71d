"""Measures and shows figures: repeats after a warm-up, their median, their best, the target, and the machine.

Always holds: a figure that was not measured says why, and never counts as reached.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

_LIBRARIES = ("numpy", "openai", "pydantic", "sqlalchemy")
_SCALES = {"s": (1.0, "s"), "ms": (1e3, "ms"), "us": (1e6, "us"), "texts/s": (1.0, "texts/s")}


@dataclass(frozen=True)
class Sizes:
    """The sizes of measurements: repeats, lessons in the store, rows of the big matrix, calls and texts per repeat.

    `reply_seconds` is the reply time of a fast hosted model; `at_once` are the threads of whole experiments, `kinds`
    their stores.
    """

    repeats: int = 9
    lessons: int = 10_000
    vectors: int = 100_000
    calls: int = 40
    batch: int = 1_000
    texts: int = 5_000
    job_seconds: float = 0.1
    reply_seconds: float = 0.25
    at_once: tuple[int, ...] = (16, 64)
    kinds: tuple[str, ...] = ("SQLite", "Postgres")


QUICK = Sizes(
    repeats=1,
    lessons=50,
    vectors=200,
    calls=1,
    batch=10,
    texts=20,
    job_seconds=0.001,
    reply_seconds=0.001,
    at_once=(16,),
    kinds=("SQLite",),
)


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    `samples` has one number per repeat, in seconds unless `unit` says otherwise; `unit` also decides how they are
    shown. `target` is in the unit of the samples; a median up to it reaches it. `missing` is the reason if nothing was
    measured. `least` is the best if the samples are differences, since the smallest difference may be noise.
    """

    what: str
    samples: tuple[float, ...] = ()
    unit: str = "ms"
    target: float | None = None
    missing: str = ""
    least: float | None = None

    @property
    def median(self) -> float | None:
        """The median of the samples."""
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


def seconds(work: Callable[[], object], repeats: int, *, inner: int = 1) -> tuple[float, ...]:
    """The seconds of one `work()` for each repeat, each a mean of `inner` runs, after an uncounted repeat."""
    return in_turn([work], repeats, inner=inner)[0]


def in_turn(works: Sequence[Callable[[], object]], repeats: int, *, inner: int = 1) -> list[tuple[float, ...]]:
    """The `seconds` of each work; they are done in turn, so that other work on the machine slows all."""
    taken: list[list[float]] = [[] for _ in works]
    for repeat in range(repeats + 1):
        spent = [0.0] * len(works)
        for _ in range(inner):
            for place, work in enumerate(works):
                began = time.perf_counter()
                work()
                spent[place] += time.perf_counter() - began
        if repeat:  # the first repeat compiles, opens connections and fills caches
            for samples, total in zip(taken, spent, strict=True):
                samples.append(total / inner)
    return [tuple(samples) for samples in taken]


def above(what: str, plain: Sequence[float], full: Sequence[float], *, target: float | None = None) -> Figure:
    """The extra time of `full` over `plain`: differences by pair; the best is the difference of the bests."""
    differences = tuple(b - a for a, b in zip(plain, full, strict=True))
    return Figure(what, differences, target=target, least=min(full) - min(plain))


def machine() -> dict[str, Any]:
    """The facts of the machine: processor, cores, memory, system, Python and libraries."""
    try:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError, AttributeError):
        memory = None
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": memory,
        "system": platform.platform(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def brief(value: float | None, unit: str) -> str:
    """A number of a row of `plain` with three digits, and times in the unit that suits them."""
    if value is None:
        return ""
    if unit == "s" and abs(value) < 1:
        value, unit = (1e3 * value, "ms") if abs(value) >= 1e-3 else (1e6 * value, "µs")
    return f"{value:,.0f} {unit}" if abs(value) >= 100 else f"{value:.3g} {unit}"


def markdown(result: Mapping[str, Any]) -> str:
    """A written result as a Markdown table, with its machine."""
    lines = ["| what | median | best | target | reached |", "|---|---:|---:|---:|---|"]
    for row in result["figures"]:
        median = brief(row["median"], row["unit"]) or row["missing"]
        best, target = brief(row["best"], row["unit"]), brief(row["target"], row["unit"])
        lines.append(f"| {row['what']} | {median} | {best} | {target} | {row['reached']} |")
    facts = result["machine"]
    where = f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}"
    load = f"a load of {facts['load_before']} before and {facts['load_after']} after"
    return "\n".join([*lines, "", f"Measured {result['at'][:10]} on {where}, with {load}.", ""])


def put_table(page: Path, begin: str, table: str, end: str) -> None:
    """Replace what is between two marks of a page by a table."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n{table}{end}{rest.partition(end)[2]}", encoding="utf-8")


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
