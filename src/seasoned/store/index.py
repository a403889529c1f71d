"""An in-memory index of a pool's vectors, with exact search over them.

Always holds: a text's vector is made once, and the vector of an older text is never used; only the search itself waits
for an embedder, unless texts were added or changed meanwhile.
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

_BATCH = 1024  # texts per call of an embedder


class VectorIndex:
    """The vectors of one owner, loaded from the store on demand, or embedded once and stored.

    Safe in threads by `compare`; its other methods are called with the lock held.

    Args:
        store: stores the vectors.
        owner: "lesson", "trajectory", or "text" for other texts, whose ids are their digests.
        embedder: makes the vectors.
        lock: the pool's lock, which is free while the embedder works.
    """

    def __init__(self, store: Store, owner: str, embedder: Embedder, lock: threading.RLock) -> None:
        self._store, self._owner, self._embedder, self._lock = store, owner, embedder, lock
        self._filling = threading.Lock()  # held while vectors are made, so that no text is embedded twice
        self._place: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: dict[str, int] = {}  # the `hash` of each text
        self._matrix = Matrix(embedder.dim)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query text, shape (dim,); it is not stored."""
        vector: NDArray[np.float32] = embed(self._embedder, [text])[0]
        return vector

    def compare(
        self, look: Callable[[], tuple[State, Iterable[tuple[str, str]]]], use: Callable[[State], Result]
    ) -> Result:
        """Run `use` when all the vectors it needs are there; missing ones are made without the lock.

        Args:
            look: returns the current state, and the (id, text) pairs whose vectors it needs.
            use: uses that state and the vectors. Both are called with the lock held.

        Raises:
            ContractError: when the embedder does not return finite float32 of shape (n, dim).
        """
        with self._lock:
            first, items = look()
            missing = self._missing(items)
            if not missing:
                return use(first)
        with self._filling:
            with self._lock:
                missing = self._missing(missing.items())  # another thread may have made them meanwhile
            fresh = list(self._vectors(missing))
            with self._lock:
                state, items = look()
                texts = self._missing(missing.items() if state is first else items)
                for ids, vectors in fresh:
                    still = [n for n, i in enumerate(ids) if texts.get(i) == missing[i]]  # a text may have changed
                    self._keep([ids[n] for n in still], vectors[still], missing)
                self.fill(texts.items())  # texts added meanwhile
                return use(state)

    def fill(self, items: Iterable[tuple[str, str]]) -> None:
        """Load or make the vector of each (id, text), if it is missing or of an older text."""
        missing = self._missing(items)
        for ids, vectors in self._vectors(missing):
            self._keep(ids, vectors, missing)

    def rows(self, ids: Sequence[str], before: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """The rows of these ids' vectors, appended to `before`; every id must be filled already."""
        import numpy as np

        if before is not None and not len(ids):
            return before
        rows = np.fromiter((self._place[i] for i in ids), dtype=np.intp, count=len(ids))
        return rows if before is None else np.concatenate((before, rows))

    def matrix(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these ids, as rows of a new matrix; every id must be filled already."""
        return self._matrix.take(self.rows(ids))

    def search(self, query: NDArray[np.float32], k: int, rows: NDArray[np.intp]) -> list[tuple[str, float]]:
        """The best k of these rows: ids and scores, best first."""
        places, scores = self._matrix.best(query, k, rows)
        return [(self._ids[row], score) for row, score in zip(rows[places].tolist(), scores.tolist(), strict=True)]

    def places(self, query: NDArray[np.float32], rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """Places in `rows`, which may repeat rows, by score; equals in their order."""
        best: list[int] = self._matrix.best(query, k, rows)[0].tolist()
        return best

    def _missing(self, items: Iterable[tuple[str, str]]) -> dict[str, str]:
        """The (id, text) pairs without a vector, or with one of another text."""
        return {i: text for i, text in items if self._texts.get(i) != hash(text)}

    def _vectors(self, texts: Mapping[str, str]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Vectors of texts by id: first those in the store, then the others, made and stored in batches."""
        import numpy as np

        if not texts:
            return
        digests = {i: digest(text) for i, text in texts.items()}
        name, dim = self._embedder.name, self._embedder.dim
        known = self._mapped_of(digests, texts)
        lacking = {i: mark for i, mark in digests.items() if i not in known} if known else digests
        ids, stored = self._store.get_vectors(self._owner, list(lacking), name, digests=list(lacking.values()), dim=dim)
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
        """Which of these texts have their vectors from the file beside the store, which is loaded once."""
        path, name, dim = self._store.path, self._embedder.name, self._embedder.dim
        if path is None or self._place or len(digests) < mapped.LEAST:
            return set()
        file = mapped.load(path, self._owner, name, dim)
        if file is None:
            return set()
        with self._lock:
            if self._place:
                return set()
            self._matrix.hold(file.rows, (file.codes, file.scales))
            self._ids = file.ids
            self._place = {i: place for place, i in enumerate(file.ids)}
            fits = {i for i, digest in zip(file.ids, file.digests, strict=True) if digests.get(i) == digest}
            self._texts.update((i, hash(texts[i])) for i in fits)
        return fits

    def _keep(self, ids: Sequence[str], vectors: NDArray[np.float32], texts: Mapping[str, str]) -> None:
        """Add the vectors of these texts to memory."""
        for i in ids:
            if i not in self._place:
                self._place[i] = len(self._ids)
                self._ids.append(i)
            self._texts[i] = hash(texts[i])
        self._matrix.put(self.rows(ids), vectors)
