"""Figures of a large namespace on Postgres with pgvector: `python benchmarks/server.py [--lessons N]`.

A server is started in a temporary folder and filled; a fresh process is the client. Always holds: the client's memory
is the peak of its own process; the share of the true ten nearest is counted against an exact search over all vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from timing import machine, seconds

from seasoned.embed import embedder
from seasoned.lab.benchmarks.emoji import OWN_TEXTS
from seasoned.memory import Memory
from seasoned.store.server import postgres_in
from seasoned.types import Lesson, now

_BATCH = 5_000
_QUERIES = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, measure and print; as the client, only measure."""
    parser = argparse.ArgumentParser(description="Measure a large namespace on Postgres with pgvector.")
    parser.add_argument("--lessons", type=int, default=200_000)
    parser.add_argument("--client", help="measure at this address, which is filled")
    parser.add_argument("--out", type=Path, help="a file for the figures, as JSON")
    args = parser.parse_args(arguments)
    if args.client:
        print(json.dumps(_client(args.client)))
        return 0
    with TemporaryDirectory(prefix="seasoned-bench-") as folder, postgres_in(Path(folder) / "pg", roomy=True) as where:
        figures = {"at": now(), "machine": machine(), "lessons": args.lessons, **_filled(where, args.lessons)}
        command = [sys.executable, __file__, "--client", where]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        figures |= json.loads(output.splitlines()[-1])
    print(json.dumps(figures, indent=2))
    if args.out:
        args.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def sentences(seed: int) -> Iterator[str]:
    """Endless sentences of 12 English words, of which 9 belong to one of 500 topics, as in an agent's work."""
    rows = (json.loads(line) for line in OWN_TEXTS.read_text(encoding="utf-8").splitlines())
    words = sorted({word for row in rows for word in row["text"].lower().split()})
    topics = [random.Random(topic).sample(words, 40) for topic in range(500)]
    rng = random.Random(seed)
    while True:
        yield " ".join((*rng.choices(rng.choice(topics), k=9), *rng.choices(words, k=3)))


def _filled(where: str, count: int) -> dict[str, float]:
    """Fill the store, and return the seconds of that, and the share of the ten nearest that is found."""
    source, made = sentences(1), embedder("static")
    texts = [next(source) for _ in range(count)]
    began = time.perf_counter()
    with Memory(where, embedder=made) as memory:
        for start in range(0, count, _BATCH):
            batch = texts[start : start + _BATCH]
            memory.store.add_lessons(memory.pool.scope, [Lesson(kind="heuristic", text=t) for t in batch], who="rule")
        loaded = time.perf_counter()
        memory.pool.nearest_lessons("refund order 17", 10)
        embedded = time.perf_counter()
        memory.recall("refund order 17")  # compares the tasks that lessons come from, so it embeds these, too
        ready = time.perf_counter()
        rows = np.concatenate([made.embed(texts[start : start + _BATCH]) for start in range(0, count, _BATCH)])
        asked, hits = sentences(2), []
        for _ in range(50):
            query = next(asked)
            scores = rows @ made.embed([query])[0]
            least = np.partition(scores, -10)[-10] - 1e-3  # half precision
            place = {texts[i]: scores[i] for i in np.flatnonzero(scores > least - 0.2)}
            found = memory.pool.nearest_lessons(query, 10)
            hits.append(sum(place.get(lesson.text, -1.0) >= least for lesson, _ in found) / 10)
    return {
        "seconds to add all": round(loaded - began, 1),
        "seconds to embed and index": round(embedded - loaded, 1),
        "the same for recall": round(ready - embedded, 1),
        "share of the nearest ten": round(statistics.mean(hits), 3),
    }


def _client(where: str) -> dict[str, float]:
    """Milliseconds of recall, search and addition, and the megabytes of a process that did nothing else."""
    source = sentences(3)
    began = time.perf_counter()
    with Memory(where, embedder=embedder("static")) as memory:
        memory.recall(next(source))
        first = time.perf_counter() - began
        timed = {
            "recall": seconds(lambda: memory.recall(next(source)), _QUERIES),
            "nearest ten": seconds(lambda: memory.pool.nearest_lessons(next(source), 10), _QUERIES),
            "add one": seconds(lambda: memory.add(next(source)), _QUERIES // 4),
            "add one, then recall": seconds(partial(_again, memory, source), _QUERIES // 4),
        }
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = [float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")]
    figures = {f"{name}, ms": round(1e3 * statistics.median(each), 2) for name, each in timed.items()}
    return {"first recall of a process, s": round(first, 2), **figures, "the client's memory, MB": round(peak[0])}


def _again(memory: Memory, source: Iterator[str]) -> None:
    text = next(source)
    memory.add(text)
    memory.recall(text)


if __name__ == "__main__":
    sys.exit(main())
