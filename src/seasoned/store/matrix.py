"""A matrix of many vectors in memory, with search over its rows.

Search is exact below `ROUNDED` rows, and without `simsimd`. Otherwise rows rounded to bytes select the rows to score:
this reads a quarter of the memory, and finds all of the best ten of a million random rows. Always holds: scores are
exact, in float64 rounded to float32; of equal rows, the first comes first; up to `SEVERAL` rows, a search uses one
thread, so that it does not wait for a busy processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Score = Callable[["_Part", NDArray[np.float32]], NDArray[np.float32]]

ROUNDED = 5_000
"""The least rows for which rounded rows are searched first; below, the exact search is as fast."""

SEVERAL = 400_000
"""The least rows that several threads search."""

_SPARE = 120  # rows scored exactly, beyond twice those requested
_SLACK = 1e-5  # more than the rounding error of a float32 product of unit rows
_LEAST = 1024  # least rows of a part
_WIDE = 64  # scores per block when the best are selected
_RARE = 4  # times as many blocks as scores to select
_BLOCK = 16_384  # rows per block when all are scored


class Matrix:
    """Rows of float32, in parts, so that adding rows copies none. Not safe in threads."""

    def __init__(self, dim: int) -> None:
        self.dim, self.count = dim, 0
        self._parts: list[_Part] = []

    def hold(self, rows: NDArray[np.float32], rounded: tuple[Any, Any] | None = None) -> None:
        """Replace all rows by these, without a copy, such as a mapped file, and their rounded bytes and scales."""
        self._parts, self.count = [_Part(0, rows, rounded)], len(rows)

    def put(self, places: NDArray[np.intp], rows: NDArray[np.float32]) -> None:
        """Set rows; places from `count` on are new and in order."""
        if not len(places):
            return
        self._grow(max(self.count, int(places.max()) + 1))
        for part, chosen in self._split(places):
            part.put(places[chosen] - part.start, rows[chosen])

    def take(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """A copy of these rows."""
        import numpy as np

        taken = np.empty((len(places), self.dim), dtype=np.float32)
        for part, chosen in self._split(places):
            taken[chosen] = part.rows[places[chosen] - part.start]
        return taken

    def best(
        self, query: NDArray[np.float32], k: int | None, rows: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The places and scores of the k rows with the greatest inner products with the query, best first.

        Args:
            query: shape (dim,).
            k: None for all.
            rows: the rows to search (None: all); places are then positions in `rows`.
        """
        import numpy as np

        total = self.count if rows is None else len(rows)
        k = total if k is None else min(k, total)
        if k <= 0:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.float32)
        picked = np.arange(total) if k == total else self._picked(query, k, rows, total)
        places, exact = picked if rows is None else rows[picked], np.empty(len(picked))
        for start in range(0, len(picked), _BLOCK):
            block = slice(start, start + _BLOCK)
            products = self.take(places[block]).astype(np.float64)
            products *= query.astype(np.float64)
            exact[block] = products.sum(axis=1)
        order = np.argsort(-exact, kind="stable")[:k]
        return picked[order], exact[order].astype(np.float32)

    def _picked(
        self, query: NDArray[np.float32], k: int, rows: NDArray[np.intp] | None, total: int
    ) -> NDArray[np.intp]:
        """The places that may be among the best k, in ascending order."""
        import numpy as np

        dots = _dots() if self.count >= ROUNDED else None
        count, slack = (k, _SLACK) if dots is None else (min(2 * k + _SPARE, total), 0.0)
        if dots is not None:
            for part in self._parts:
                part.rounded()
        rough = self._scores(query, _exact if dots is None else dots)
        if rows is not None:
            rough = rough[rows]
        return np.flatnonzero(rough >= _least_of_best(rough, count) - slack)

    def _scores(self, query: NDArray[np.float32], score: Score) -> NDArray[np.float32]:
        import numpy as np

        scores = np.empty(self.count, dtype=np.float32)

        def fill(piece: _Part) -> None:
            scores[piece.start : piece.start + len(piece.rows)] = score(piece, query)

        several = self.count >= SEVERAL
        step = SEVERAL // 8 if several else self.count
        pieces = [
            part.piece(start, min(start + step, self.count - part.start))
            for part in self._parts
            for start in range(0, min(len(part.rows), self.count - part.start), step)
        ]
        list(_threads().map(fill, pieces) if several else map(fill, pieces))
        return scores

    def _grow(self, count: int) -> None:
        import numpy as np

        room = self._parts[-1].start + len(self._parts[-1].rows) if self._parts else 0
        if count > room:
            size = max(count - room, _LEAST, self.count // 8)
            self._parts.append(_Part(room, np.zeros((size, self.dim), dtype=np.float32), None))
        self.count = count

    def _split(self, places: NDArray[np.intp]) -> Iterator[tuple[_Part, NDArray[np.bool_]]]:
        for part in self._parts:
            chosen = (places >= part.start) & (places < part.start + len(part.rows))
            if chosen.any():
                yield part, chosen


class _Part:
    """Consecutive rows from `start`, with rounded bytes and scales, computed when needed."""

    def __init__(self, start: int, rows: Any, rounded: tuple[Any, Any] | None) -> None:
        self.start, self.rows, self._rounded = start, rows, rounded

    def put(self, places: NDArray[np.intp], rows: NDArray[np.float32]) -> None:
        self.rows[places] = rows
        if self._rounded is not None:
            self._rounded[0][places], self._rounded[1][places] = rounded(rows)

    def rounded(self) -> tuple[Any, Any]:
        if self._rounded is None:
            self._rounded = rounded(self.rows)
        return self._rounded

    def piece(self, start: int, stop: int) -> _Part:
        """Some of its rows, with their computed bytes and scales, as views."""
        codes = None if self._rounded is None else (self._rounded[0][start:stop], self._rounded[1][start:stop])
        return _Part(self.start + start, self.rows[start:stop], codes)


def rounded(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as bytes, with the scale of each row: bytes times scale is about the row."""
    import numpy as np

    codes = np.empty(rows.shape, dtype=np.int8)
    scales = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        piece = slice(start, start + _BLOCK)
        scales[piece] = np.abs(rows[piece]).max(axis=1, initial=0.0) / 127
        divisors = np.where(scales[piece] > 0, scales[piece], 1)[:, None]
        np.rint(rows[piece] / divisors, out=codes[piece], casting="unsafe")
    return codes, scales


def _least_of_best(scores: NDArray[np.float32], count: int) -> np.float32:
    """A score that at least `count` of the scores reach, and few others."""
    import numpy as np

    blocks = len(scores) // _WIDE
    if count * _RARE <= blocks:  # then few blocks have two of the best, and theirs are compared instead of all
        best = scores[: blocks * _WIDE].reshape(blocks, _WIDE).max(axis=1)
        scores = np.concatenate((best, scores[blocks * _WIDE :]))
    least: np.float32 = np.partition(scores, len(scores) - count)[len(scores) - count]
    return least


def _exact(part: _Part, query: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    # Not `@`: a BLAS's threads wait for one another, which takes ten times as long if the processor is busy.
    scores: NDArray[np.float32] = np.einsum("ij,j->i", part.rows, query)
    return scores


@cache
def _dots() -> Score | None:
    """The function that scores rounded rows; None if simsimd is not installed."""
    try:
        from simsimd import cdist
    except ImportError:
        return None
    import numpy as np

    def dots(part: _Part, query: NDArray[np.float32]) -> NDArray[np.float32]:
        codes, scales = part.rounded()
        products = np.asarray(cdist(codes, rounded(query[None])[0], metric="dot", out_dtype="f32"))
        scores: NDArray[np.float32] = products[:, 0]
        scores *= scales
        return scores

    return dots


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(8, os.cpu_count() or 1), "seasoned-search")
