"""Vectors of what a pool compares, in memory, and exact search over them.

Always holds: a text's vector is made once, and one of an older text is never used; only a search waits for an embedder,
unless something came or changed while that was at work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from seasoned.protocols import Embedder
from seasoned.store import mapped
from seasoned.store.matrix import Matrix
from seasoned.store.sql import Store
from seasoned.store.vectors import digest, embed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Result = TypeVar("Result")
State = TypeVar("State")

_BATCH = 1024  # texts that an embedder gets at once


class VectorIndex:
    """The vectors of one owner: those asked for, taken from the store, or embedded once and stored.

    Safe in threads by `compare`; its other methods are called with the lock held.

    Args:
        store: keeps the vectors.
        owner: "lesson", "trajectory", or "text" for texts of nobody, whose ids are their digests.
        embedder: makes them.
        lock: the pool's own, which is free while the embedder is at work.
    """

    def __init__(self, store: Store, owner: str, embedder: Embedder, lock: threading.RLock) -> None:
        self._store, self._owner, self._embedder, self._lock = store, owner, embedder, lock
        self._filling = threading.Lock()  # held by whoever makes vectors, so that no text is embedded twice
        self._place: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: dict[str, int] = {}  # what `hash` makes of each text
        self._matrix = Matrix(embedder.dim)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to look for, shape (dim,); it is not kept."""
        vector: NDArray[np.float32] = embed(self._embedder, [text])[0]
        return vector

    def compare(
        self, look: Callable[[], tuple[State, Iterable[tuple[str, str]]]], use: Callable[[State], Result]
    ) -> Result:
        """Use the vectors of all that is to be compared; those that are missing are made without the lock.

        Args:
            look: gives what is searched now, and the (id, text) that it needs vectors of.
            use: what is done with them. Both are called with the lock held.

        Raises:
            ContractError: when the embedder gives something else than finite float32 of shape (n, dim).
        """
        with self._lock:
            first, items = look()
            missing = self._missing(items)
            if not missing:
                return use(first)
        with self._filling:
            with self._lock:
                missing = self._missing(missing.items())  # others may have made them meanwhile
            fresh = list(self._vectors(missing))
            with self._lock:
                state, items = look()
                wanted = self._missing(missing.items() if state is first else items)
                for ids, vectors in fresh:
                    still = [n for n, i in enumerate(ids) if wanted.get(i) == missing[i]]  # a text may have changed
                    self._keep([ids[n] for n in still], vectors[still], missing)
                self.fill(wanted.items())  # what came meanwhile
                return use(state)

    def fill(self, items: Iterable[tuple[str, str]]) -> None:
        """Have a vector for each (id, text): those that are missing or of an older text are fetched or made."""
        missing = self._missing(items)
        for ids, vectors in self._vectors(missing):
            self._keep(ids, vectors, missing)

    def rows(self, ids: Sequence[str], before: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Where the vectors of these ids stand, behind the rows before; every id has been filled before."""
        import numpy as np

        if before is not None and not len(ids):
            return before
        rows = np.fromiter((self._place[i] for i in ids), dtype=np.intp, count=len(ids))
        return rows if before is None else np.concatenate((before, rows))

    def matrix(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these ids, as rows of a new matrix; every id has been filled before."""
        return self._matrix.take(self.rows(ids))

    def search(self, query: NDArray[np.float32], k: int, rows: NDArray[np.intp]) -> list[tuple[str, float]]:
        """The k best among these rows: ids and scores, best first."""
        places, scores = self._matrix.best(query, k, rows)
        return [(self._ids[row], score) for row, score in zip(rows[places].tolist(), scores.tolist(), strict=True)]

    def places(self, query: NDArray[np.float32], rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """Places in `rows`, where a row may stand several times, by score; equals in their order."""
        best: list[int] = self._matrix.best(query, k, rows)[0].tolist()
        return best

    def _missing(self, items: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Those of the (id, text) that have no vector here, or one of another text."""
        return {i: text for i, text in items if self._texts.get(i) != hash(text)}

    def _vectors(self, texts: Mapping[str, str]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Vectors of texts by id: first those that the store has, then those that are made and stored, in batches."""
        import numpy as np

        if not texts:
            return
        digests = {i: digest(text) for i, text in texts.items()}
        name, dim = self._embedder.name, self._embedder.dim
        known = self._mapped_of(digests, texts)
        asked = {i: made for i, made in digests.items() if i not in known} if known else digests
        ids, stored = self._store.get_vectors(self._owner, list(asked), name, digests=list(asked.values()), dim=dim)
        if self._store.path is not None and len(ids) >= max(mapped.LEAST, len(known) // 4):
            before = sorted(known)
            rows = np.concatenate((self.matrix(before), stored)) if before else stored
            every = [*before, *ids]
            mapped.save(self._store.path, self._owner, name, every, [digests[i] for i in every], rows)
        yield ids, stored
        known.update(ids)
        left = [i for i in texts if i not in known]
        for start in range(0, len(left), _BATCH):
            part = left[start : start + _BATCH]
            vectors = embed(self._embedder, [texts[i] for i in part])
            self._store.put_vectors(self._owner, part, name, vectors, digests=[digests[i] for i in part])
            yield part, vectors

    def _mapped_of(self, digests: Mapping[str, str], texts: Mapping[str, str]) -> set[str]:
        """Which of these texts have their vectors from the file beside the store, which is looked into once."""
        path, name, dim = self._store.path, self._embedder.name, self._embedder.dim
        if path is None or self._place or len(digests) < mapped.LEAST:
            return set()
        found = mapped.load(path, self._owner, name, dim)
        if found is None:
            return set()
        with self._lock:
            if self._place:
                return set()
            self._matrix.hold(found.rows, (found.codes, found.scales))
            self._ids = found.ids
            self._place = {i: place for place, i in enumerate(found.ids)}
            fits = {i for i, made in zip(found.ids, found.digests, strict=True) if digests.get(i) == made}
            self._texts.update((i, hash(texts[i])) for i in fits)
        return fits

    def _keep(self, ids: Sequence[str], vectors: NDArray[np.float32], texts: Mapping[str, str]) -> None:
        """Take the vectors of these texts into memory."""
        for i in ids:
            if i not in self._place:
                self._place[i] = len(self._ids)
                self._ids.append(i)
            self._texts[i] = hash(texts[i])
        self._matrix.put(self.rows(ids), vectors)
