"""Measures how fast Seasoned is: `make bench`, or `python benchmarks/run.py [--quick] [--install] [--only WORD]`.

Prints a table and writes results.json beside this file, with the facts of the machine, and with --write the table of
docs/speed.md. Always holds: each figure is
taken several times after a warm-up, and all samples are in the file; a missed target is shown, and is not an error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import calls
import episodes
import large
import memories
import pages
import parts
import programs
from rich.console import Console
from timing import QUICK, Figure, Sizes, machine, markdown, put_table, table

from seasoned.types import now

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- bench -->", "<!-- end of bench -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; return the exit code."""
    args = _parse_args(arguments)
    sizes = QUICK if args.quick else Sizes()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a start is timed with compiled modules, as users have them
    groups: dict[str, Callable[[], list[Figure]]] = {
        "start": lambda: programs.starts(sizes),
        "install": lambda: programs.install(args.install),
        "calls": lambda: calls.figures(sizes),
        "store": lambda: parts.store(sizes),
        "embed": lambda: parts.static(sizes),
        "recall": lambda: parts.recall(sizes),
        "memory": lambda: memories.figures(sizes),
        "processes": lambda: memories.processes(sizes),
        "pages": lambda: pages.figures(sizes),
        "large": lambda: large.figures(sizes),
        "shares": lambda: episodes.shares(sizes),
        "threads": lambda: episodes.threads(sizes),
    }
    if args.only and args.only not in groups:
        print(f"there is no group {args.only!r}; there are {', '.join(groups)}", file=sys.stderr)
        return 2
    load = _load()
    figures: list[Figure] = []
    for name, measure in groups.items():
        if args.only in (None, name):
            print(f"measuring: {name} ..", file=sys.stderr, flush=True)
            figures += measure()
    facts = {**machine(), "load_before": load, "load_after": _load()}
    rows = [figure.plain() for figure in figures]
    result = {"at": now(), "quick": args.quick, "machine": facts, "figures": rows}
    args.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table(figures))
    console.print(f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}; load {load} to {_load()}")
    console.print(f"written to {args.out}", soft_wrap=True)
    if args.write:
        put_table(PAGE, BEGIN, markdown(result), END)
    return 0


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _parse_args(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how fast Seasoned is on this machine.")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to see that it works; the figures mean nothing"
    )
    parser.add_argument("--install", action="store_true", help="also install the core anew (uses the network)")
    parser.add_argument("--only", help="one group, such as start, calls, recall, memory, processes or pages")
    parser.add_argument("--write", action="store_true", help="write the table of docs/speed.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go (default: %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
