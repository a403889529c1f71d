"""Compares Seasoned with other memory products at the same work: `python benchmarks/beside.py --envs DIR`.

Makes a virtual environment for each library in DIR (which needs pip and a network, once), runs `beside/work.py` in
each, prints one table and writes beside.json, and with --write the table of docs/speed.md. Always holds: all get the
same texts, precomputed vectors and canned replies of one server on loopback; an empty cell says why; telemetry is off.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calls import answering
from programs import ROOT, start_seconds, weight
from rich.console import Console
from rich.table import Table
from samples import texts
from timing import machine, put_table

from seasoned.embed.hashing import HashingEmbedder
from seasoned.types import now

Column = Mapping[str, Any]
RESULTS = Path(__file__).with_name("beside.json")
PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- beside -->", "<!-- end of beside -->"
WORK = Path(__file__).with_name("beside") / "work.py"
DIM = 256
_QUERIES, _FRESH = 20, 60
_QUIET = {
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


@dataclass(frozen=True)
class Peer:
    """One column: the installed package, extra packages for this work alone, and the side in beside/ that does it."""

    name: str
    side: str
    pinned: str
    module: str
    extra: tuple[str, ...] = ()


_LANGMEM = "langmem==0.0.30"
_ADDED = ("numpy", "langgraph-checkpoint-sqlite")
PEERS = (
    Peer("Seasoned", "seasoned", str(ROOT), "seasoned.memory"),
    Peer("LangMem 0.0.30, in memory", "langmem:memory", _LANGMEM, "langmem", _ADDED),
    Peer("LangMem 0.0.30, SQLite", "langmem:sqlite", _LANGMEM, "langmem", _ADDED),
    Peer("mem0ai 2.2.1", "mem0", "mem0ai==2.2.1", "mem0"),
    Peer("dspy 3.4.1", "dspy", "dspy==3.4.1", "dspy", ("numpy",)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, measure, print and write; return the exit code."""
    args = _parse_args(arguments)
    peers = [peer for peer in PEERS if not args.only or peer.side.startswith(args.only)]
    if not peers or not (args.here or args.envs):
        sides = ", ".join(sorted({peer.side.partition(":")[0] for peer in PEERS}))
        print(f"it needs --envs DIR, and --only takes one of {sides}", file=sys.stderr)
        return 2
    results: dict[str, dict[str, Any]] = {peer.name: {} for peer in peers[: 1 if args.here else None]}
    with TemporaryDirectory(prefix="seasoned-beside-") as folder, answering() as url:
        job = _material(Path(folder), args, url)
        for peer in peers[: len(results)]:
            python = Path(sys.executable)
            if not args.here:
                python, facts = prepare(args.envs, peer, args.python)
                bare, full = start_seconds(python, ("pass", f"import {peer.module}"), 5, **_QUIET)
                beyond = [b - a for a, b in zip(bare, full, strict=True)]
                results[peer.name] = {**facts, "import": beyond}
            for size in args.sizes:
                print(f"{peer.name}: {size:,} lessons ..", file=sys.stderr, flush=True)
                more = size == args.sizes[0]
                results[peer.name][str(size)] = _work(python, peer, {**job, "size": size, "more": more}, args.budget)
        _count_hits(results, Path(job["vectors"]), Path(job["texts"]), job["queries"])
    return _report(args, results)


def prepare(envs: Path, peer: Peer, base: str) -> tuple[Path, dict[str, Any]]:
    """The Python of the peer's environment, made if missing, and the size of the library without extras."""
    folder = envs.resolve() / peer.side.partition(":")[0]
    mark, python = folder / "beside.json", folder / "bin" / "python"
    facts = json.loads(mark.read_text(encoding="utf-8")) if mark.is_file() else {}
    ours = peer.pinned == str(ROOT)
    if facts.get("pinned") != [peer.pinned, *peer.extra] or ours:
        print(f"{peer.name}: installing ..", file=sys.stderr, flush=True)
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
        subprocess.run([*pip, peer.pinned], check=True)
        _, megabytes, packages = weight(folder)
        if peer.extra:
            subprocess.run([*pip, *peer.extra], check=True)
        facts = {"pinned": [peer.pinned, *peer.extra], "megabytes": megabytes, "packages": packages}
        mark.write_text(json.dumps(facts), encoding="utf-8")
    return python, {"megabytes": facts["megabytes"], "packages": facts["packages"]}


def _material(folder: Path, args: argparse.Namespace, url: str) -> dict[str, Any]:
    """Write the texts, vectors and queries into files; return the fields of a job that are the same for all."""
    n = max(args.sizes) + _FRESH
    samples = texts(n + _QUERIES)
    lessons = [f"{number} {text}" for number, text in enumerate(samples[:n])]
    queries = samples[n:]
    text_file, vectors = folder / "texts.json", folder / "vectors.npy"
    text_file.write_text(json.dumps(lessons), encoding="utf-8")
    np.save(vectors, HashingEmbedder(DIM).embed([*lessons, *queries]))
    same = {"texts": str(text_file), "vectors": str(vectors), "queries": queries, "fresh": _FRESH, "url": url}
    return {**same, "repeats": 2 if args.quick else 10, "folder": str(folder)}


def _work(python: Path, peer: Peer, job: dict[str, Any], budget: float) -> dict[str, Any]:
    """Do one job in its own process; if it fails or takes too long, return the reason."""
    with TemporaryDirectory(dir=job["folder"]) as name:
        folder = Path(name)
        job_file, result = folder / "job.json", folder / "result.json"
        job_file.write_text(json.dumps({**job, "folder": str(folder), "budget": budget}), encoding="utf-8")
        command = [str(python), str(WORK), peer.side, str(job_file), str(result)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENAI"))}
        try:
            ended = subprocess.run(
                command,
                env={**clean, **_QUIET, "MEM0_DIR": str(folder), "OPENAI_API_KEY": "none"},
                cwd=folder,
                timeout=budget * 3,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"took more than {3 * budget:g} s"}
        if ended.returncode or not result.is_file():
            print(ended.stderr[-3000:], file=sys.stderr)
            return {"failed": (ended.stderr.strip().splitlines() or ["no message"])[-1][:200]}
        return {"wanted": job["size"], **json.loads(result.read_text(encoding="utf-8"))}


def _count_hits(results: dict[str, dict[str, Any]], vectors: Path, text_file: Path, queries: list[str]) -> None:
    """Add to each search how many of the ten nearest it found."""
    known = json.loads(text_file.read_text(encoding="utf-8"))
    matrix, place = np.load(vectors), {text: i for i, text in enumerate(known)}
    query_rows = matrix[-len(queries) :]
    for columns in results.values():
        for size, cell in columns.items():
            if not size.isdecimal() or "found" not in cell:
                continue
            hits = []
            for query, given in zip(query_rows, cell.pop("found"), strict=False):
                scores = matrix[: cell["size"]] @ query
                least = np.partition(scores, -10)[-10] - 1e-5  # a text as near as the tenth counts, too
                hits.append(sum(1 for text in given if scores[place[text]] >= least))
            cell["of_ten"] = statistics.mean(hits)


def _report(args: argparse.Namespace, results: dict[str, dict[str, Any]]) -> int:
    table = Table(title="Beside other memory products", title_justify="left", pad_edge=False)
    table.add_column("what")
    for name in results:
        table.add_column(name, justify="right")
    lines = rows(results, args.sizes)
    for line in lines:
        table.add_row(*line)
    facts = machine()
    result = {"at": now(), "quick": args.quick, "machine": facts, "table": lines, "measured": results}
    args.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if args.write:
        put_table(PAGE, BEGIN, markdown(result), END)
    console = Console(width=None if sys.stdout.isatty() else 190)
    console.print(table)
    console.print(f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}; written to {args.out}")
    return 0


def markdown(result: Mapping[str, Any]) -> str:
    """A written result as a Markdown table, with its machine."""
    names, sizes = list(result["measured"]), {size for column in result["measured"].values() for size in column}
    lines = [["what", *names], ["---"] * (len(names) + 1)]
    lines += rows(result["measured"], sorted(int(size) for size in sizes if size.isdecimal()))
    facts = result["machine"]
    where = f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}"
    return "\n".join(
        [*(f"| {' | '.join(line)} |" for line in lines), "", f"Measured {result['at'][:10]} on {where}.", ""]
    )


def rows(results: Mapping[str, Column], sizes: Sequence[int]) -> list[list[str]]:
    """The lines of the table: a label, then one cell for each library."""
    columns = list(results.values())
    first = str(sizes[0])

    def line(what: str, cell: Callable[[Column], str]) -> list[str]:
        return [what, *(cell(column) for column in columns)]

    lines = [
        line("installed: size, packages", _installed),
        line("import time, without the interpreter", lambda c: _time(c.get("import"), "not measured")),
        line("stored in", lambda c: _of(c, first, lambda cell: str(cell["store"]))),
    ]
    for size in map(str, sizes):
        big = f"{int(size):,}"
        lines += [
            line(f"fill with {big}, time for each, searchable", lambda c, size=size: _of(c, size, _filled)),
            line(f"top-10 of {big}", lambda c, size=size: _of(c, size, _searched)),
            line(
                f"a text for the prompt, of {big}",
                lambda c, size=size: _of(c, size, lambda cell: _part(cell, "recall")),
            ),
            line(f"add one among {big}", lambda c, size=size: _of(c, size, lambda cell: _part(cell, "add"))),
            line(f"add one and find it, {big}", lambda c, size=size: _of(c, size, lambda cell: _part(cell, "again"))),
            line(
                f"learn from an attempt, {big} stored, above the raw client",
                lambda c, size=size: _of(c, size, _learned),
            ),
            line(f"memory with {big}, above the input", lambda c, size=size: _of(c, size, _memory)),
        ]
    return [
        *lines,
        line("model calls to learn from an attempt, prompt tokens", lambda c: _of(c, first, _calls)),
        line("64 jobs of 100 ms on 16 threads (at best 400 ms)", lambda c: _of(c, first, lambda d: _part(d, "jobs"))),
    ]


def _installed(column: Column) -> str:
    if "megabytes" not in column:
        return "not measured"
    return f"{column['megabytes']:,.0f} MB, {column['packages']}"


def _of(column: Column, size: str, shown: Callable[[Mapping[str, Any]], str]) -> str:
    cell = column.get(size, {"failed": "not measured"})
    return f"failed: {cell['failed']}" if "failed" in cell else shown(cell)


def _filled(cell: Mapping[str, Any]) -> str:
    return _time([cell["fill"]])


def _searched(cell: Mapping[str, Any]) -> str:
    exact = "" if cell.get("of_ten", 10) > 9.99 else f" ({cell['of_ten']:.1f} of the ten)"
    return f"{_time(cell['search'])}{exact}{_fewer(cell)}"


def _fewer(cell: Mapping[str, Any]) -> str:
    return "" if cell["size"] == cell.get("wanted", cell["size"]) else f" (only {cell['size']:,}: no time for more)"


def _part(cell: Mapping[str, Any], name: str) -> str:
    return _time(cell.get(name), cell["why"].get(name, "not measured"))


def _memory(cell: Mapping[str, Any]) -> str:
    return f"{cell['memory'] - cell['memory_given']:,.0f} MB"


def _learned(cell: Mapping[str, Any]) -> str:
    above = [full - bare for full, bare in zip(cell.get("learn", ()), cell.get("raw", ()), strict=True)]
    return _time(above, cell["why"].get("learn", "not measured"))


def _calls(cell: Mapping[str, Any]) -> str:
    return f"{cell['calls']}, {cell['tokens']:,.0f}" if cell.get("learn") else "none"


def _time(seconds: Sequence[float] | None, missing: str = "") -> str:
    if not seconds:
        return missing
    taken = statistics.median(seconds)
    for unit, scale, below in (("µs", 1e6, 1e-3), ("ms", 1e3, 1.0)):
        if taken < below:
            return f"{taken * scale:.3g} {unit}" if taken * scale < 100 else f"{taken * scale:,.0f} {unit}"
    return f"{taken:.3g} s"


def _parse_args(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Seasoned beside LangMem, mem0 and DSPy.")
    parser.add_argument("--envs", type=Path, help="the folder for the environments; they are kept and reused")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="the Python of the environments; LangMem's SQLite needs one that loads extensions",
    )
    parser.add_argument("--sizes", type=_sizes, default=[1_000, 10_000, 100_000], help="lessons, such as 1000,10000")
    parser.add_argument("--only", default="", help="one side: seasoned, langmem, mem0 or dspy")
    parser.add_argument("--here", action="store_true", help="Seasoned alone, with this Python and no environment")
    parser.add_argument("--quick", action="store_true", help="few repeats, to see that it works")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds to fill one store; then fewer lessons")
    parser.add_argument("--write", action="store_true", help="write the table of docs/speed.md")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go (default: %(default)s)")
    return parser.parse_args(arguments)


def _sizes(text: str) -> list[int]:
    return sorted({max(20, int(each)) for each in text.split(",")})


if __name__ == "__main__":
    sys.exit(main())
