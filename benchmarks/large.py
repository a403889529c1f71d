"""Figures of many lessons, many threads and the start of a process, with their targets.

Always holds: a store is real, in a file or in Postgres; the start of a process is measured in a fresh one; if the ideal
is known, the figure is relative to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openai
from calls import answering
from numpy.typing import NDArray
from parts import DIM
from samples import fresh_store, texts, unit_rows
from timing import Figure, Sizes, above, seconds

from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import MissingExtraError
from seasoned.jobs import run_jobs
from seasoned.lab.run.experiment import run
from seasoned.lab.run.recipe import make_recipe
from seasoned.llm.openai import OpenAIChat
from seasoned.memory import Memory
from seasoned.store.matrix import Matrix
from seasoned.store.server import postgres_in
from seasoned.store.sql import Store
from seasoned.types import Lesson

_RULE = {"analysis": "a", "trigger": "customer NUMBER is refused a refund", "action": "look parcel NUMBER up first"}
_TAUGHT = {"role": "assistant", "content": json.dumps(_RULE)}
_FRESH = """
import resource, sys, time
from seasoned.embed.hashing import HashingEmbedder
from seasoned.memory import Memory
before = time.perf_counter()
with Memory(sys.argv[1], method="expnote", embedder=HashingEmbedder(int(sys.argv[2]))) as memory:
    memory.recall("refund order 17")
    taken = time.perf_counter() - before
print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
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
    return [*results, *_tops(sizes), *_imports(sizes)]


@contextmanager
def _filled(size: int) -> Iterator[Memory]:
    """A default memory with `size` heuristics and their stored vectors."""
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="seasoned-bench-"))
        url = stack.enter_context(answering())
        with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
            client.put("/told", body=_TAUGHT, cast_to=object)
        model = stack.enter_context(closing(OpenAIChat("m", base_url=url, max_retries=0)))
        options = {"llm": model, "learn": "manual", "embedder": HashingEmbedder(DIM)}
        memory = stack.enter_context(Memory(Path(folder) / "memory.db", **options))
        rules = (f"When {text}: look order {n} up." for n, text in enumerate(texts(size)))
        memory.pool.add([Lesson(kind="heuristic", text=rule) for rule in rules])
        memory.recall("refund order 17")
        yield memory


def _again(memory: Memory, size: int, target: float, sizes: Sizes) -> Figure:
    number = count()

    def work() -> None:
        memory.add(f"When customer {next(number)} asks for a refund: look the order up first.")
        memory.recall("refund order 17")

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
        rss.append(float(output[1]) / 1e3)
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
        endless = cycle(queries)
        taken = seconds(partial(_search, matrix, endless), sizes.repeats, inner=5)
        share = f"{sum(hits) / 100:.2f} of the best ten"
        results.append(Figure(f"Matrix.best: top-10 of {size:,} x {DIM}, {share}", taken, target=target))
    return results


def _search(matrix: Matrix, queries: Iterator[NDArray[np.float32]]) -> None:
    matrix.best(next(queries), 10)


def _imports(sizes: Sizes) -> list[Figure]:
    taken: dict[str, list[float]] = {"pass": [], "import seasoned.memory": []}
    for turn in range(sizes.repeats + 1):
        for program, samples in taken.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            if turn:
                samples.append(time.perf_counter() - began)
    return [above("`import seasoned.memory`, without the interpreter", *taken.values(), target=0.2)]


def threads(sizes: Sizes) -> list[Figure]:
    """Jobs and episodes on up to 64 threads; the ideal is the waiting time of all calls, shared by the threads."""
    one, many = sizes.job_seconds, 64
    taken = seconds(lambda: run_jobs(lambda _: time.sleep(one), range(many), many), max(5, sizes.repeats // 2))
    results = [Figure(f"64 jobs of {one * 1e3:g} ms on 64 threads", taken, target=1.05 * one)]
    for kind in ("SQLite", "Postgres"):
        for workers, target in ((16, 1.05), (64, 1.3)):
            what = f"{sizes.calls * 25:,} episodes of EMOJI on {workers} threads, {kind}, over the ideal"
            try:
                over = tuple(_episodes(kind, workers, sizes) for _ in range(2))
            except MissingExtraError as error:
                results.append(Figure(what, unit="x", target=target, missing=str(error)))
                continue
            results.append(Figure(what, over, unit="x", target=target))
    return results


def _episodes(kind: str, workers: int, sizes: Sizes) -> float:
    """An experiment's time as a multiple of the ideal; a run of few episodes is subtracted, for start and report."""
    spent = [_experiment(kind, workers, episodes, sizes) for episodes in (2, sizes.calls * 25)]
    (few, calls_few), (all_, calls) = spent
    return (all_ - few) / ((calls - calls_few) * sizes.job_seconds / workers)


def _experiment(kind: str, workers: int, episodes: int, sizes: Sizes) -> tuple[float, int]:
    """The seconds and the model calls of an experiment with this number of episodes."""
    with ExitStack() as stack:
        url = stack.enter_context(answering(sizes.job_seconds))
        model = stack.enter_context(closing(OpenAIChat("m", base_url=url, max_retries=0)))
        if kind == "SQLite":
            store = stack.enter_context(fresh_store())
        else:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="seasoned-pg-")))
            store = stack.enter_context(Store(stack.enter_context(postgres_in(folder / "pg"))))
        raw = {"name": "bench", "conditions": ["cot"], "baseline": "cot", "train": 0, "workers": workers}
        raw |= {"test": min(episodes, 100), "seeds": [*range(max(episodes // 100, 1))]}
        recipe = make_recipe({**raw, "benchmark": {"name": "emoji", "symbols": "codes"}})
        runs = stack.enter_context(TemporaryDirectory(prefix="seasoned-bench-"))
        began = time.perf_counter()
        made = run(recipe, store=store, runs_dir=runs, quiet=True, llm=model)
        wall = time.perf_counter() - began
        rows = [json.loads(line) for line in (made / "results.jsonl").read_text(encoding="utf-8").splitlines()]
        return wall, sum(row["usage"]["calls"] for row in rows)
