"""Figures of Memory: adding and recalling lessons, whole attempts, and many processes that write into one store.

Always holds: the store is a real one in a file, and Memory does all its work: it masks secrets, checks texts, and each
write is durable when it returns.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from crowd import counted
from samples import fresh_address, fresh_store, texts
from timing import Figure, Sizes, seconds

from seasoned.embed import embedder
from seasoned.embed.hashing import HashingEmbedder
from seasoned.errors import MissingExtraError
from seasoned.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seasoned.protocols import Embedder

_NEAREST = 10


def figures(sizes: Sizes) -> list[Figure]:
    """Adding one by one and in batches, recall among few and many, and a complete attempt."""
    with _memory() as memory:
        number = count()
        one = seconds(lambda: memory.add(_text(number)), sizes.repeats, inner=10)
        batch = texts(sizes.batch)
        many = seconds(lambda: memory.add([f"{next(number)} {text}" for text in batch]), sizes.repeats)
        results = [
            Figure("memory: add one lesson, durable", one, target=1e-3),
            Figure(
                f"memory: add {sizes.batch:,} lessons at once, each",
                tuple(taken / len(batch) for taken in many),
                unit="us",
                target=1e-4,
            ),
        ]
    return [*results, *_among(sizes.lessons, 1e-3, sizes), *_among(sizes.vectors, 2e-2, sizes)]


def _among(size: int, target: float, sizes: Sizes) -> list[Figure]:
    queries, turn = texts(20), count()
    with _memory() as memory:
        memory.add([f"{n} {text}" for n, text in enumerate(texts(size))])

        def search() -> None:
            memory.pool.nearest_lessons(queries[next(turn) % 20], _NEAREST)

        near = seconds(search, sizes.repeats, inner=5)
        recalled = seconds(lambda: memory.recall(queries[next(turn) % 20]), sizes.repeats, inner=5)
        attempted = seconds(lambda: _attempt(memory), sizes.repeats, inner=5)
        with Memory(memory.store, method="erl", embedder=_embedder()) as usual:
            chosen = seconds(lambda: usual.recall(queries[next(turn) % 20]), sizes.repeats)
    return [
        Figure(f"memory: top-{_NEAREST} of {size:,} lessons by meaning", near, target=target),
        Figure(f"Memory.recall among {size:,} lessons, framed", recalled, target=5e-2),
        Figure(f"Memory.recall of erl among {size:,} heuristics, framed", chosen, target=5e-2),
        Figure(f"memory: an attempt of two steps, recall among {size:,} lessons included", attempted),
    ]


def processes(sizes: Sizes) -> list[Figure]:
    """Eight processes that record attempts into the same namespace of one file at once."""
    attempts = sizes.calls * 25
    writers = 8 if attempts >= 1000 else 2
    with fresh_address() as where:
        counts = counted(where, writers, 1, attempts)
    what = f"{writers} processes x {attempts:,} attempts into one file"
    return [
        Figure(f"{what}: lost", (float(counts.lost),), unit="attempts", target=0.0),
        Figure(f"{what}: failed", (float(counts.failed),), unit="attempts", target=0.0),
        Figure(f"{what}: problems of the store", (float(counts.problems),), unit="problems", target=0.0),
        Figure(f"{what}, starts included", (writers * attempts / counts.seconds,), unit="attempts/s"),
    ]


@contextmanager
def _memory() -> Iterator[Memory]:
    with fresh_store() as store, Memory(store, method="expnote", embedder=_embedder()) as memory:
        yield memory


def _embedder() -> Embedder:
    try:
        return embedder("static")
    except MissingExtraError:
        return HashingEmbedder(256)


def _text(number: count[int]) -> str:
    return f"Look up order {next(number)} before anything is refunded, and say what was found."


def _attempt(memory: Memory) -> None:
    with memory.attempt("refund order 17") as attempt:
        attempt.step(action="lookup_order(17)", observation="shipped on 3 May, paid by card")
        attempt.step(action="refund(17)", observation="refused: it was shipped")
        attempt.finish(success=False, answer="It cannot be refunded.")
