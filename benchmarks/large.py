"""Figures of many lessons and of the first recall of a process, with their targets.

Always holds: a store is a real file; the first recall is measured in a fresh process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, cycle

import numpy as np
from calls import answering_model
from numpy.typing import NDArray
from samples import fresh_store, texts, unit_rows
from timing import Figure, Sizes, seconds

from seasoned.embed.hashing import HashingEmbedder
from seasoned.memory import Memory
from seasoned.store.matrix import Matrix
from seasoned.types import Lesson

DIM = 384
_RULE = {"analysis": "a", "trigger": "customer NUMBER is refused a refund", "action": "look parcel NUMBER up first"}
_TAUGHT = {"role": "assistant", "content": json.dumps(_RULE)}
_FRESH = """
import sys, time
from pathlib import Path
from seasoned.embed.hashing import HashingEmbedder
from seasoned.memory import Memory
before = time.perf_counter()
with Memory(sys.argv[1], embedder=HashingEmbedder(int(sys.argv[2]))) as memory:
    memory.recall("refund order 17")
    taken = time.perf_counter() - before
# Not getrusage: its peak includes that of the process that started this one.
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(taken, *(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


def figures(sizes: Sizes) -> list[Figure]:
    """Adding and recalling lessons, learning, search, and the first recall of a process."""
    results = []
    small, usual, big = max(sizes.lessons // 10, 1), sizes.lessons, sizes.vectors
    targets = {small: (3e-3, None), usual: (5e-3, 1e-2), big: (25e-3, 4e-2)}
    for size, (again, learns) in targets.items():
        with _filled(size) as memory:
            results.append(_again(memory, size, again, sizes))
            if learns is not None:
                results.append(_learned(memory, size, learns, sizes))
            if size == big:
                results += _first_recall(memory, size, sizes)
    return [*results, *_tops(sizes)]


@contextmanager
def _filled(size: int) -> Iterator[Memory]:
    """A default memory with `size` heuristics and their stored vectors."""
    with (
        fresh_store() as store,
        answering_model(told=_TAUGHT) as model,
        Memory(store, llm=model, learn="manual", embedder=HashingEmbedder(DIM)) as memory,
    ):
        rules = (f"When {text}: look order {n} up." for n, text in enumerate(texts(size)))
        memory.pool.add([Lesson(kind="heuristic", text=rule) for rule in rules])
        memory.recall("refund order 17")
        yield memory


def _again(memory: Memory, size: int, target: float, sizes: Sizes) -> Figure:
    number = count()

    def work() -> None:
        turn = next(number)
        memory.add(f"When customer {turn} asks for a refund: look the order up first.")
        memory.recall(f"refund order {turn}")

    return Figure(f"Memory (erl): add one among {size:,}, then recall", seconds(work, sizes.repeats), target=target)


def _learned(memory: Memory, size: int, target: float, sizes: Sizes) -> Figure:
    """Learning from one attempt, without the model's time: the server answers at once, in its own process."""
    number, taken = count(), []
    for turn in range(sizes.repeats + 1):
        with memory.attempt(f"refund order {next(number)}") as attempt:
            attempt.step(action="refund(17)", observation="refused: it was shipped")
            attempt.finish(success=False)
        began = time.perf_counter()
        memory.learn()
        if turn:
            taken.append(time.perf_counter() - began)
    return Figure(f"Memory (erl): learn from one attempt among {size:,}", tuple(taken), target=target)


def _first_recall(memory: Memory, size: int, sizes: Sizes) -> list[Figure]:
    """A search by a common word, and the first recall and the memory of a fresh process."""
    scope, path = memory.pool.scope, memory.store.path
    word = seconds(lambda: memory.store.lessons(scope, query="order", limit=50), sizes.repeats)
    taken, rss = [], []
    for _ in range(min(sizes.repeats, 3)):
        command = [sys.executable, "-c", _FRESH, str(path), str(DIM)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        taken.append(float(output[0]))
        rss += [float(peak) / 1e3 for peak in output[1:]]
    return [
        Figure(f"search for a common word, {size:,} lessons", word, target=0.05),
        Figure(f"first recall of a process, {size:,} lessons with vectors", tuple(taken), unit="s", target=0.5),
        Figure(f"memory of that process (target: 1,200 MB with 788,000), {size:,}", tuple(rss), unit="MB", target=1200),
    ]


def _tops(sizes: Sizes) -> list[Figure]:
    """The search for the best ten of many vectors, and the share of the true ten that it finds."""
    results = []
    for size, target in ((sizes.vectors, 2e-3), (10 * sizes.vectors, 1e-2)):
        rows, queries = unit_rows(size, DIM), unit_rows(10, DIM)
        matrix = Matrix(DIM)
        matrix.hold(rows)
        hits = [len({*matrix.best(q, 10)[0]} & {*np.argsort(-(rows @ q), kind="stable")[:10]}) for q in queries]
        taken = seconds(partial(_search, matrix, cycle(queries)), sizes.repeats, inner=5)
        share = f"{sum(hits) / 100:.2f} of the best ten"
        results.append(Figure(f"Matrix.best: top-10 of {size:,} x {DIM}, {share}", taken, target=target))
    return results


def _search(matrix: Matrix, queries: Iterator[NDArray[np.float32]]) -> None:
    matrix.best(next(queries), 10)
