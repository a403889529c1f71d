"""What would the gate have done in every comparison of `docs/results-all.md`? `python experiments/gates.py`.

No model is called. The script takes each comparison of lessons that has one attempt per task and an exact p, and works
out from both counts and p how many tasks were won and lost. If several pairs have this p, it takes the largest, which a
gate promotes least often. Then it draws half of the tasks as gate tasks, many times, applies the gate's two looks, and
measures on the other half. The table has the share of draws that promote, and the mean difference from the baseline on
the other half in points, without the gate and with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from seasoned.proof.gate import look

PAGE = Path(__file__).parents[1] / "docs" / "results-all.md"
DRAWS = 2000
SEED = 0
SKIPPED = re.compile(r"runs|twelve games|retry|retries")
"""Rows with several attempts per task, and rows of retries."""


class Row(NamedTuple):
    """One comparison: what was compared, and of how many tasks how many were won and lost."""

    benchmark: str
    method: str
    tasks: int
    won: int
    lost: int


def read(text: str) -> Iterator[Row]:
    """The comparisons of lessons with one attempt per task and an exact p, in the page's order.

    "The same" is replaced by what it refers to. Retries are left out: they deploy no lesson.
    """
    benchmark = ""
    for line in text.splitlines():
        cells = [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", cell.strip()) for cell in line.strip("|").split("|")]
        if len(cells) < 6 or not re.fullmatch(r"\d+/\d+", cells[2]):
            continue
        if not cells[0].startswith("the same"):
            benchmark = cells[0]
        counts = re.fullmatch(r"(\d+)/(\d+)", cells[3])
        p = re.fullmatch(r"(< )?([\d.e-]+)", cells[5])
        if not counts or not p or SKIPPED.search(f"{benchmark} {cells[0]} {cells[1]}"):
            continue
        before, tasks = (int(each) for each in cells[2].split("/"))
        if int(counts[2]) != tasks:
            continue
        pair = discordant(before, int(counts[1]), tasks, p[2], below=bool(p[1]))
        if pair:
            more = cells[0].removeprefix("the same").strip(" ,:")
            named = f"{benchmark.partition(':')[0]}: {more}" if more and more != benchmark else benchmark
            yield Row(named, cells[1], tasks, *pair)


def discordant(before: int, after: int, tasks: int, p: str, *, below: bool) -> tuple[int, int] | None:
    """The tasks won and lost, from both counts and the two-sided p of the sign test; None if no pair has this p."""
    digits = len(p.partition(".")[2].partition("e")[0])
    fitting = None
    for lost in range(before + 1):
        won = lost + after - before
        if won < 0 or won > tasks - before:
            continue
        exact = binomtest(won, won + lost).pvalue if won + lost else 1.0
        shown = f"{exact:.{digits}e}" if "e" in p else f"{exact:.{digits}f}"
        if exact < float(p) if below else float(shown) == float(p):
            fitting = (won, lost)
    return fitting


def gated(row: Row, dice: np.random.Generator) -> tuple[float, float]:
    """How often half of the tasks promote the lessons, and the mean difference on the other half, in points."""
    tasks = np.array([1] * row.won + [-1] * row.lost + [0] * (row.tasks - row.won - row.lost))
    promoted, points, gate = 0, 0.0, row.tasks // 2
    for _ in range(DRAWS):
        dice.shuffle(tasks)
        verdict = "continue"
        for end in (gate // 2, gate):
            if verdict == "continue":
                part = tasks[:end]
                verdict = look(int((part > 0).sum()), int((part < 0).sum()), tasks=end, last=end == gate).verdict
        if verdict == "promote":
            promoted += 1
            points += 100 * float(tasks[gate:].mean())
    return promoted / DRAWS, points / DRAWS


def table(text: str) -> Iterator[str]:
    """The table in Markdown, line by line."""
    yield "| benchmark | lessons | tasks | won, lost | promoted | ungated | gated |"
    yield "|---|---|---|---|---|---|---|"
    for row in read(text):
        share, points = gated(row, np.random.default_rng(SEED))
        raw = 100 * (row.won - row.lost) / row.tasks
        cells = (row.benchmark, row.method, row.tasks, f"{row.won}, {row.lost}", f"{share:.0%}")
        yield f"| {' | '.join(map(str, cells))} | {raw:+.1f} | {round(points, 1) + 0.0:+.1f} |"


if __name__ == "__main__":
    print(*table(PAGE.read_text(encoding="utf-8")), sep="\n")
