"""An in-memory index of a pool's vectors, with search over them.

Always holds: each text is embedded once in a process, and the vector of an older text is never used; other threads do
not wait while a search embeds texts, unless texts were added or changed meanwhile. Vectors are stored, so that other
processes need not embed the texts again, except a few of an embedder that is faster than the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from seasoned.protocols import Embedder
from seasoned.store import mapped
from seasoned.store.matrix import Matrix
from seasoned.store.sql import Store
from seasoned.store.vectors import digest, embed, recomputed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Result = TypeVar("Result")
State = TypeVar("State")

_BATCH = 1024  # texts per call of the embedder


class VectorIndex:
    """The vectors of one owner, loaded from the store when needed, or embedded once and stored.

    `compare` is safe in threads; the other methods need the lock.

    Args:
        store: stores the vectors.
        owner: "lesson", "trajectory", or "text" for other texts, whose ids are their digests.
        embedder: computes the vectors.
        lock: the pool's lock, which is not held during calls of the embedder.
    """

    def __init__(self, store: Store, owner: str, embedder: Embedder, lock: threading.RLock) -> None:
        self._store, self._owner, self._embedder, self._lock = store, owner, embedder, lock
        self._filling = threading.Lock()  # held during embedding, so that no text is embedded twice
        self._place: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: dict[str, int] = {}  # hashes of texts by id
        self._matrix = Matrix(embedder.dim)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query text, shape (dim,); it is not stored."""
        vector: NDArray[np.float32] = embed(self._embedder, [text])[0]
        return vector

    def compare(
        self, look: Callable[[], tuple[State, Iterable[tuple[str, str]]]], use: Callable[[State], Result]
    ) -> Result:
        """Run `use` once all vectors that it needs exist; missing ones are computed without the lock.

        Args:
            look: returns the current state, and the (id, text) pairs whose vectors it needs; called with the lock held.
            use: uses that state and the vectors; called with the lock held.

        Raises:
            ContractError: when the embedder does not return finite float32 of shape (n, dim).
        """
        with self._lock:
            first, items = look()
            missing = self._missing(items)
            if not missing or recomputed(self._embedder, len(missing)):
                self.fill(missing.items())
                return use(first)
        with self._filling:
            with self._lock:
                missing = self._missing(missing.items())  # another thread may have added them meanwhile
            fresh = list(self._vectors(missing))
            with self._lock:
                state, items = look()
                texts = self._missing(missing.items() if state is first else items)
                for ids, vectors in fresh:
                    current = [n for n, i in enumerate(ids) if texts.get(i) == missing[i]]  # a text may have changed
                    self._keep([ids[n] for n in current], vectors[current], missing)
                self.fill(texts.items())  # texts added meanwhile
                return use(state)

    def fill(self, items: Iterable[tuple[str, str]]) -> None:
        """Load or compute the vectors of (id, text) pairs that are missing or belong to an older text."""
        missing = self._missing(items)
        for ids, vectors in self._vectors(missing):
            self._keep(ids, vectors, missing)

    def rows(self, ids: Sequence[str], before: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """The rows of these ids, appended to `before`; `fill` must have been called for them."""
        import numpy as np

        if before is not None and not len(ids):
            return before
        rows = np.fromiter((self._place[i] for i in ids), dtype=np.intp, count=len(ids))
        return rows if before is None else np.concatenate((before, rows))

    def matrix(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these ids, as a new matrix; `fill` must have been called for them."""
        return self._matrix.take(self.rows(ids))

    def search(self, query: NDArray[np.float32], k: int, rows: NDArray[np.intp]) -> list[tuple[str, float]]:
        """The ids and scores of the best k of these rows, best first."""
        places, scores = self._matrix.best(query, k, rows)
        return [(self._ids[row], score) for row, score in zip(rows[places].tolist(), scores.tolist(), strict=True)]

    def places(self, query: NDArray[np.float32], rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """Positions in `rows` (which may repeat rows) of the best k, best first; of equals, the first."""
        best: list[int] = self._matrix.best(query, k, rows)[0].tolist()
        return best

    def _missing(self, items: Iterable[tuple[str, str]]) -> dict[str, str]:
        """The (id, text) pairs without a current vector."""
        return {i: text for i, text in items if self._texts.get(i) != hash(text)}

    def _vectors(self, texts: Mapping[str, str]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Ids and vectors of texts: first the stored ones, then the others, computed and stored in batches."""
        import numpy as np

        if not texts:
            return
        digests = {i: digest(text) for i, text in texts.items()}
        name, dim = self._embedder.name, self._embedder.dim
        known = self._load_mapped(digests, texts)
        missing = {i: mark for i, mark in digests.items() if i not in known} if known else digests
        if recomputed(self._embedder, len(missing)):
            yield list(missing), embed(self._embedder, [texts[i] for i in missing])
            return
        ids, stored = self._store.get_vectors(self._owner, list(missing), name, digests=list(missing.values()), dim=dim)
        if self._store.path is not None and len(ids) >= max(mapped.LEAST, len(known) // 4):
            before = sorted(known)
            rows = np.concatenate((self.matrix(before), stored)) if before else stored
            all_ids = [*before, *ids]
            about = [all_ids, [digests[i] for i in all_ids]]
            mapped.save(self._store.path, self._owner, name, about, [rows], len(rows))
        yield ids, stored
        known.update(ids)
        rest = [i for i in texts if i not in known]
        for start in range(0, len(rest), _BATCH):
            part = rest[start : start + _BATCH]
            vectors = embed(self._embedder, [texts[i] for i in part])
            self._store.put_vectors(self._owner, part, name, vectors, digests=[digests[i] for i in part])
            yield part, vectors

    def _load_mapped(self, digests: Mapping[str, str], texts: Mapping[str, str]) -> set[str]:
        """Load the file of vectors beside the store, once; return the ids whose vectors are current."""
        path, name, dim = self._store.path, self._embedder.name, self._embedder.dim
        if path is None or self._place or len(digests) < mapped.LEAST:
            return set()
        file = mapped.load(path, self._owner, name, dim)
        if file is None:
            return set()
        try:
            ids, marks = file.about
            current = {i for i, mark in zip(ids, marks, strict=True) if digests.get(i) == mark}
        except (TypeError, ValueError):
            return set()
        with self._lock:
            if self._place or len(ids) != len(file.rows):
                return set()
            self._matrix.hold(file.rows, (file.codes, file.scales))
            self._ids = ids
            self._place = {i: place for place, i in enumerate(ids)}
            self._texts.update((i, hash(texts[i])) for i in current)
        return current

    def _keep(self, ids: Sequence[str], vectors: NDArray[np.float32], texts: Mapping[str, str]) -> None:
        """Add the vectors of these texts to memory."""
        for i in ids:
            if i not in self._place:
                self._place[i] = len(self._ids)
                self._ids.append(i)
            self._texts[i] = hash(texts[i])
        self._matrix.put(self.rows(ids), vectors)
