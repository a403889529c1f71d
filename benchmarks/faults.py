"""Counts failures under faults: `make faults`, or `python benchmarks/faults.py [--kills N] [--only WORD]`.

The faults are kills, failing servers, malformed replies, full disks and many writers at once. Writes faults.json beside
this file, and with --write the table of docs/reliability.md. Always holds: nothing outside a temporary folder and
loopback is touched; the exit code is 1 if a count is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # since processes are forked

import killing
import malformed
from calls import answering
from crowd import counted
from samples import fresh_address
from timing import machine, put_table

from seasoned.errors import MissingExtraError, StoreError
from seasoned.types import now

RESULTS = Path(__file__).with_name("faults.json")
PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- faults -->", "<!-- end of faults -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print and write; return the exit code."""
    args = _parse_args(arguments)
    logging.disable(logging.WARNING)
    rows: list[dict[str, Any]] = []
    groups: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
        "runs": lambda folder: killing.runs(folder, args.kills),
        "changes": lambda folder: killing.changes(folder, max(args.kills // 4, 1)),
        "memories": lambda folder: [killing.memories(folder, max(args.kills // 4, 1), args.attempts)],
        "servers": lambda folder: [failing(folder, args.episodes)],
        "replies": lambda folder: [malformed.replies(args.replies), malformed.lengths(args.longest)],
        "disk": lambda folder: [full_disk(folder)],
        "crowd": lambda folder: crowd(args.writers, args.threads),
    }
    if args.only and args.only not in groups:
        print(f"there is no group {args.only!r}; there are {', '.join(groups)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    for name, count in groups.items():
        if args.only in (None, name):
            print(f"counting: {name} ..", file=sys.stderr, flush=True)
            with TemporaryDirectory(prefix="seasoned-faults-") as folder:
                rows += count(Path(folder))
    options = {name: value for name, value in vars(args).items() if name in ("kills", "replies", "episodes")}
    result = {
        "at": now(),
        "seconds": round(time.monotonic() - began),
        "asked": options,
        "machine": machine(),
        "rows": rows,
    }
    args.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(table(result))
    if args.write:
        put_table(PAGE, BEGIN, table(result), END)
    return 0 if all(row["ok"] for row in rows) else 1


def table(result: dict[str, Any]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | counted | as it must be |", "|---|---|---|"]
    for row in result["rows"]:
        counted = ", ".join(f"{key} {_plain(value)}" for key, value in row.items() if key not in ("what", "ok"))
        lines.append(f"| {row['what']} | {counted} | {'yes' if row['ok'] else 'no'} |")
    facts = result["machine"]
    lines += ["", f"Counted {result['at'][:10]} on {facts['cores']} cores, Python {facts['python']}.", ""]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key} {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def failing(folder: Path, episodes: int) -> dict[str, Any]:
    """A run whose server fails 30 % of the requests, compared with an undisturbed run; then its errors are redone."""
    with answering(program=killing.SERVER) as url:
        server = killing.Server(url)
        tasks = {"train": min(episodes, 110) * 30 // 110, "test": min(episodes, 110) * 20 // 110}
        settings = killing.recipe(url, workers=16, seeds=list(range(max(episodes // 110, 1))), **tasks)
        killing.start(settings, folder / "right")
        server.set(share=0.3)
        began = time.monotonic()
        killing.start(settings, folder / "failing")
        seconds = round(time.monotonic() - began, 1)
        failed, faults = killing.outcome(folder / "failing"), server.faults()
        server.set(share=0.0)
        killing.start(settings, folder / "failing")
        right, again = killing.outcome(folder / "right"), killing.outcome(folder / "failing")
    verdicts = failed["episodes"]
    other = sum(verdicts[key] is not None and verdicts[key] != right["episodes"][key] for key in verdicts)
    row = {"what": "30 % of requests fail", "episodes": len(verdicts), "seconds": seconds}
    row |= {"failures": sum(faults.values()), "ended as errors": failed["errors"], "other verdicts": other}
    row |= {"errors after `--resume`": again["errors"]}
    good = failed["errors"] <= 0.005 * len(verdicts) and not other and again["table"] == right["table"]
    return {**row, "by kind": faults, "ok": good and not again["errors"]}


def full_disk(folder: Path) -> dict[str, Any]:
    """A run whose disk fills up: it stops with a message, continues when there is room, and pays for nothing twice."""
    small = folder / "small"
    small.mkdir()
    what = {"what": "a full disk"}
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        return {**what, "counted": "not: mounting a small disk needs root", "ok": True}
    try:
        with answering(program=killing.SERVER) as url:
            server = killing.Server(url)
            settings = killing.recipe(url, seeds=[0])
            stops, message = 0, ""
            for size in (*range(2, 60, 2), 200):
                try:
                    killing.start(settings, small)
                    break
                except StoreError as error:
                    stops, message = stops + 1, str(error)
                subprocess.run(["mount", "-o", f"remount,size={size}m", small], check=True)
            paid, found = killing.paid_twice(server, small), killing.outcome(small)
            killing.start(settings, folder / "right")
            right = killing.outcome(folder / "right")
    finally:
        subprocess.run(["umount", small], check=False)
    row = {**what, "stops": stops, **paid, "other tables": int(found["table"] != right["table"])}
    good = stops and not paid["paid twice"] and found["table"] == right["table"] and not found["problems"]
    return {**row, "said": message.replace(str(small), ".."), "ok": bool(good)}


def crowd(writers: int, threads: int) -> list[dict[str, Any]]:
    """Processes of many threads that record and recall in one store: a file, and Postgres if it is installed."""
    rows = []
    for kind in ("SQLite", "Postgres"):
        try:
            with fresh_address(kind) as where:
                counts = counted(where, writers, threads, 10)
        except MissingExtraError as error:
            rows.append({"what": f"a crowd on {kind}", "counted": f"not: {error}", "ok": True})
            continue
        waits = counts.waits
        row = {"what": f"{writers} processes x {threads} threads on {kind}", "attempts": counts.stored}
        row |= {"lost": counts.lost, "failed": counts.failed, "problems": counts.problems}
        row |= {"p50 ms": round(1e3 * waits[len(waits) // 2]), "p99 ms": round(1e3 * waits[len(waits) * 99 // 100])}
        good = not (counts.lost or counts.failed or counts.problems)
        rows.append({**row, "seconds": round(counts.seconds, 1), "ok": good})
    return rows


def _parse_args(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count failures under faults.")
    parser.add_argument("--kills", type=int, default=200, help="kills of runs; a quarter as many of other work")
    parser.add_argument("--replies", type=int, default=1_000_000, help="malformed replies for every parser")
    parser.add_argument("--longest", type=int, default=1_000_000, help="characters of the longest reply")
    parser.add_argument("--episodes", type=int, default=880, help="episodes of the run whose server fails")
    parser.add_argument("--attempts", type=int, default=75, help="attempts of each program that shares a memory")
    parser.add_argument("--writers", type=int, default=8, help="processes that write to one store at once")
    parser.add_argument("--threads", type=int, default=64, help="threads of each of these processes")
    parser.add_argument("--only", help="one group, such as runs, servers or crowd")
    parser.add_argument("--write", action="store_true", help="write the table of docs/reliability.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go (default: %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
