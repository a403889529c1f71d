"""Seasoned beside other memory products, the same work in each: `python benchmarks/beside.py --envs DIR`.

Makes a virtual environment for each library in DIR (pip and a network are needed for that, once), runs `beside/work.py`
in each, prints one table and writes beside.json. Always holds: all get the same texts, precomputed vectors and canned
replies of one server on loopback; a cell that could not be filled says why; telemetry is off.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calls import answering
from programs import ROOT, weight
from rich.console import Console
from rich.table import Table
from samples import texts
from side_rows import rows

from seasoned.embed.hashing import HashingEmbedder
from seasoned.types import now

RESULTS = Path(__file__).with_name("beside.json")
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
    """One column: what is installed, what is added for this work alone, and the side in beside/ that does it."""

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
    """Install, measure, print, write; gives the exit code."""
    asked = _asked(arguments)
    peers = [peer for peer in PEERS if not asked.only or peer.side.startswith(asked.only)]
    if not peers or not (asked.here or asked.envs):
        sides = ", ".join(sorted({peer.side.partition(":")[0] for peer in PEERS}))
        print(f"it needs --envs DIR, and --only takes one of {sides}", file=sys.stderr)
        return 2
    found: dict[str, dict[str, Any]] = {peer.name: {} for peer in peers[: 1 if asked.here else None]}
    with TemporaryDirectory(prefix="seasoned-beside-") as folder, answering() as url:
        job = _material(Path(folder), asked, url)
        for peer in peers[: len(found)]:
            python = Path(sys.executable)
            if not asked.here:
                python, facts = prepare(asked.envs, peer, asked.python)
                found[peer.name] = {**facts, "import": _starts(python, peer.module, 5)}
            for size in asked.sizes:
                print(f"{peer.name}: {size:,} lessons ..", file=sys.stderr, flush=True)
                more = size == asked.sizes[0]
                found[peer.name][str(size)] = _work(python, peer, {**job, "size": size, "more": more}, asked.budget)
        _judge(found, Path(job["vectors"]), Path(job["texts"]), job["queries"])
    return _tell(asked, found)


def prepare(envs: Path, peer: Peer, base: str) -> tuple[Path, dict[str, Any]]:
    """The Python of the peer's environment, made where it is not there, and what the library weighs without extras."""
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


def _material(folder: Path, asked: argparse.Namespace, url: str) -> dict[str, Any]:
    """The texts, their vectors and the queries, in files; and the parts of a job that are the same for all."""
    n = max(asked.sizes) + _FRESH
    made = texts(n + _QUERIES)
    lessons = [f"{number} {text}" for number, text in enumerate(made[:n])]
    queries = made[n:]
    told, vectors = folder / "texts.json", folder / "vectors.npy"
    told.write_text(json.dumps(lessons), encoding="utf-8")
    np.save(vectors, HashingEmbedder(DIM).embed([*lessons, *queries]))
    same = {"texts": str(told), "vectors": str(vectors), "queries": queries, "fresh": _FRESH, "url": url}
    return {**same, "repeats": 2 if asked.quick else 10, "folder": str(folder)}


def _work(python: Path, peer: Peer, job: dict[str, Any], budget: float) -> dict[str, Any]:
    """Do one job in a process of its own; a job that fails or takes too long gives the reason instead."""
    with _folder(Path(job["folder"])) as folder:
        wanted, result = folder / "job.json", folder / "result.json"
        wanted.write_text(json.dumps({**job, "folder": str(folder), "budget": budget}), encoding="utf-8")
        command = [str(python), str(WORK), peer.side, str(wanted), str(result)]
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


@contextmanager
def _folder(inside: Path) -> Iterator[Path]:
    with TemporaryDirectory(dir=inside) as folder:
        yield Path(folder)


def _starts(python: Path, module: str, repeats: int) -> list[float]:
    """Seconds of an import above the bare interpreter, in turn."""
    taken = []
    for turn in range(repeats + 1):
        spent = []
        for program in ("pass", f"import {module}"):
            began = time.perf_counter()
            subprocess.run([str(python), "-c", program], check=True, env={**os.environ, **_QUIET})
            spent.append(time.perf_counter() - began)
        if turn:  # the first one warms the disk
            taken.append(spent[1] - spent[0])
    return taken


def _judge(found: dict[str, dict[str, Any]], vectors: Path, told: Path, queries: list[str]) -> None:
    """Put beside each search how many of the ten that are truly nearest it found."""
    matrix, place = np.load(vectors), {text: i for i, text in enumerate(json.loads(told.read_text(encoding="utf-8")))}
    asked = matrix[-len(queries) :]
    for columns in found.values():
        for size, cell in columns.items():
            if not size.isdecimal() or "found" not in cell:
                continue
            hits = []
            for query, given in zip(asked, cell.pop("found"), strict=False):
                scores = matrix[: cell["size"]] @ query
                least = np.partition(scores, -10)[-10] - 1e-5  # equals of the tenth are as good
                hits.append(sum(1 for text in given if scores[place[text]] >= least))
            cell["of_ten"] = statistics.mean(hits)


def _tell(asked: argparse.Namespace, found: dict[str, dict[str, Any]]) -> int:
    from run import machine

    table = Table(title="Beside other memory products", title_justify="left", pad_edge=False)
    table.add_column("what")
    for name in found:
        table.add_column(name, justify="right")
    lines = rows(found, asked.sizes)
    for line in lines:
        table.add_row(*line)
    facts = machine()
    result = {"at": now(), "quick": asked.quick, "machine": facts, "table": lines, "measured": found}
    asked.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    console = Console(width=None if sys.stdout.isatty() else 190)
    console.print(table)
    console.print(f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}; written to {asked.out}")
    return 0


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Seasoned beside LangMem, mem0 and DSPy.")
    parser.add_argument("--envs", type=Path, help="the folder for the environments; kept, and used again")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="makes the environments; LangMem's SQLite wants one that loads extensions",
    )
    parser.add_argument("--sizes", type=_sizes, default=[1_000, 10_000, 100_000], help="lessons, such as 1000,10000")
    parser.add_argument("--only", default="", help="one side: seasoned, langmem, mem0 or dspy")
    parser.add_argument("--here", action="store_true", help="Seasoned alone, with this Python and no environment")
    parser.add_argument("--quick", action="store_true", help="few repeats, to see that it works")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds to fill one store; then fewer lessons")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go (default: %(default)s)")
    return parser.parse_args(arguments)


def _sizes(text: str) -> list[int]:
    return sorted({max(20, int(each)) for each in text.split(",")})


if __name__ == "__main__":
    sys.exit(main())
