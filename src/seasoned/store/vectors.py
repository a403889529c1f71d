"""Vectors in the store, exact search over them, and a matrix that is kept in memory for it.

Always holds: a vector is stored with its embedder's name, its dimension and a digest of the text it was made from, so a
search never mixes embedders and never uses the vector of an older text. Bytes on disk are little-endian float32.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from seasoned.errors import ContractError, EmbedderMismatchError, StoreError
from seasoned.protocols import Embedder
from seasoned.store import schema
from seasoned.store.body import clean_text
from seasoned.store.database import Database, chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_v = schema.vectors.c
_OWNERS = {"lesson": schema.lessons, "trajectory": schema.trajectories}
_BATCH = 1024  # texts that an embedder gets at once
_SLACK = 1e-5  # more than the rounding of a float32 product of unit rows


class Vectors(Database):
    """The part of `Store` that keeps vectors; `owner` is "lesson" or "trajectory"."""

    def put_vectors(
        self,
        owner: str,
        ids: Sequence[str],
        embedder_name: str,
        matrix: NDArray[np.float32],
        *,
        digests: Sequence[str] | None = None,
    ) -> None:
        """Store vectors; one that is there under the same owner, id and embedder is replaced.

        One of a lesson or a trajectory that is not in the store (it was forgotten meanwhile) is passed over.

        Args:
            owner: whose vectors these are.
            ids: of lessons or trajectories, n of them.
            embedder_name: which embedder made them.
            matrix: shape (n, dim), finite.
            digests: `digest` of each text; without them, `get_vectors` cannot tell old ones.

        Raises:
            StoreError: when the shapes do not fit, or a value is not finite.
        """
        import numpy as np

        rows = np.asarray(matrix, dtype="<f4")
        marks = [""] * len(ids) if digests is None else list(digests)
        if rows.ndim != 2 or rows.shape[0] != len(ids) or len(marks) != len(ids):
            raise StoreError(f"{len(ids)} vectors need a matrix of {len(ids)} rows, and this has shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise StoreError("a vector should hold finite numbers, and one here does not; look at the embedder")
        if not len(ids):
            return
        insert = self._insert(schema.vectors)
        new = insert.excluded
        statement = insert.on_conflict_do_update(
            index_elements=["owner", "id", "embedder"], set_={"dim": new.dim, "digest": new.digest, "data": new.data}
        )
        same: dict[str, Any] = {"owner": clean_text(owner), "embedder": clean_text(embedder_name), "dim": rows.shape[1]}
        values = [
            {**same, "id": clean_text(i), "digest": mark, "data": row.tobytes()}
            for i, mark, row in zip(ids, marks, rows, strict=True)
        ]
        with self._write() as connection:
            there = _there(connection, owner, [value["id"] for value in values])
            if kept := [value for value in values if value["id"] in there]:
                connection.execute(statement, kept)

    def get_vectors(
        self,
        owner: str,
        ids: Sequence[str] | None,
        embedder_name: str,
        *,
        digests: Sequence[str] | None = None,
        dim: int | None = None,
    ) -> tuple[list[str], NDArray[np.float32]]:
        """Stored vectors of one embedder.

        Args:
            owner: "lesson" or "trajectory".
            ids: the wanted ones, or None for all of the owner.
            embedder_name: no other embedder's vectors are given.
            digests: of the texts, one for each id: vectors of other texts are left out.
            dim: vectors of another dimension are left out.

        Returns:
            The ids that have a vector (in the order given, or sorted), and float32 of shape (n, dim).

        Raises:
            EmbedderMismatchError: when `dim` is not given and the vectors have several dimensions.
        """
        import numpy as np

        tests = [_v.owner == clean_text(owner), _v.embedder == clean_text(embedder_name)]
        if dim is not None:
            tests.append(_v.dim == dim)
        wanted = select(_v.id, _v.digest, _v.data).where(*tests)
        cleaned = None if ids is None else [clean_text(i) for i in ids]
        with self._read() as connection:
            if cleaned is None:
                rows = list(connection.execute(wanted.order_by(_v.id)))
            else:
                rows = [row for part in chunks(cleaned) for row in connection.execute(wanted.where(_v.id.in_(part)))]
        found = {row.id: (row.digest, row.data) for row in rows}
        order = list(found) if cleaned is None else [i for i in dict.fromkeys(cleaned) if i in found]
        if digests is not None and cleaned is not None:
            marks = dict(zip(cleaned, digests, strict=True))
            order = [i for i in order if found[i][0] == marks[i]]
        blobs = [found[i][1] for i in order]
        if len({len(blob) for blob in blobs}) > 1 or any(len(blob) % 4 for blob in blobs[:1]):
            raise EmbedderMismatchError(
                f"the vectors of {embedder_name} in the store have several dimensions; "
                "say which one is wanted, or remove the rows of the other from the table `vectors`"
            )
        width = len(blobs[0]) // 4 if blobs else dim or 0
        flat = np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32)
        return order, flat.reshape(len(order), width)

    def _check_vectors(self, connection: Connection) -> Iterator[str]:
        size = func.length(_v.data)
        for row in connection.execute(select(_v.owner, _v.id, _v.embedder, _v.dim, size).where(size != _v.dim * 4)):
            yield (
                f"the vector of the {row.owner} {row.id} by {row.embedder} should have {row.dim * 4} bytes, and has "
                f"{row[4]}; remove the row, and it is made anew"
            )
        for owner, table in _OWNERS.items():
            lost = select(_v.id, _v.embedder).outerjoin(table, table.c.id == _v.id)
            lost = lost.where(_v.owner == owner, table.c.id.is_(None)).order_by(_v.id)
            for its_id, embedder in connection.execute(lost):
                yield f"a vector by {embedder} belongs to the {owner} {its_id}, which is not in the store"


def _there(connection: Connection, owner: str, ids: Sequence[str]) -> set[str]:
    """Those of these ids whose owners are in the store, and stay there until the transaction ends; of texts, all."""
    if owner not in _OWNERS:
        return set(ids)
    table = _OWNERS[owner]
    found = (select(table.c.id).where(table.c.id.in_(part)).with_for_update(read=True) for part in chunks(ids))
    return {row for wanted in found for row in connection.execute(wanted).scalars()}


def digest(text: str) -> str:
    """What a stored vector remembers of its text: 16 hexadecimal digits."""
    return hashlib.sha256(clean_text(text).encode()).hexdigest()[:16]


def top_k(
    matrix: NDArray[np.float32], query: NDArray[np.float32], k: int, rows: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The k rows with the greatest inner product with the query, exactly.

    A float32 product of a whole matrix rounds equal rows differently at different places, so it only picks the
    candidates; these are scored again in float64. Equal rows then tie, and the one that stands first comes first.

    Args:
        matrix: unit rows, shape (n, dim).
        query: a unit vector, shape (dim,).
        k: how many; all when k > n, none when k <= 0.
        rows: the only indices to look at, in the order that breaks ties; None for all, lower indices first.

    Returns:
        Indices into the matrix and scores, best first; both of length min(k, candidates).
    """
    import numpy as np

    among = matrix.shape[0] if rows is None else len(rows)
    k = min(k, among)
    if k <= 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.float32)
    rough = matrix @ query
    if rows is not None:
        rough = rough[rows]
    picked = np.arange(among) if k == among else np.flatnonzero(rough >= -np.partition(-rough, k - 1)[k - 1] - _SLACK)
    candidates = picked if rows is None else rows[picked]
    scores = (matrix[candidates].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    best = np.argsort(-scores, kind="stable")[:k]
    return candidates[best].astype(np.intp), scores[best].astype(np.float32)


class VectorCache:
    """The vectors of one owner in memory: those asked for, taken from the store, or embedded once and stored.

    Not safe in threads by itself, but for `made`: `ExperiencePool` holds its lock around the rest. `filling` is held by
    whoever makes vectors without that lock, so that no text is embedded twice.
    """

    def __init__(self, store: Vectors, owner: str, embedder: Embedder) -> None:
        import numpy as np

        self.filling = threading.Lock()
        self._store, self._owner, self._embedder = store, owner, embedder
        self._place: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: dict[str, str] = {}
        self._matrix = np.zeros((0, embedder.dim), dtype=np.float32)

    def fill(self, items: Iterable[tuple[str, str]]) -> None:
        """Have a vector for each (id, text): all that are missing or of an older text are fetched or made in batches.

        Raises:
            ContractError: when the embedder gives something else than finite float32 of shape (n, dim).
        """
        missing = self.missing(items)
        for ids, vectors in self.made(missing):
            self.keep(ids, vectors, missing)

    def missing(self, items: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Those of the (id, text) that have no vector here, or one of another text."""
        return {i: text for i, text in items if self._texts.get(i) != text}

    def made(self, texts: Mapping[str, str]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Vectors of texts by id: first those that the store has, then those that are made and stored, in batches.

        Raises:
            ContractError: as `fill`.
        """
        if not texts:
            return
        marks = {i: digest(text) for i, text in texts.items()}
        name, dim = self._embedder.name, self._embedder.dim
        ids, found = self._store.get_vectors(self._owner, list(texts), name, digests=list(marks.values()), dim=dim)
        yield ids, found
        known = set(ids)
        left = [i for i in texts if i not in known]
        for start in range(0, len(left), _BATCH):
            part = left[start : start + _BATCH]
            vectors = embed(self._embedder, [texts[i] for i in part])
            self._store.put_vectors(self._owner, part, name, vectors, digests=[marks[i] for i in part])
            yield part, vectors

    def keep(self, ids: Sequence[str], vectors: NDArray[np.float32], texts: Mapping[str, str]) -> None:
        """Take the vectors of these texts into memory."""
        import numpy as np

        for i in ids:
            if i not in self._place:
                self._place[i] = len(self._ids)
                self._ids.append(i)
            self._texts[i] = texts[i]
        if len(self._place) > len(self._matrix):
            grown = np.zeros((max(len(self._place), 2 * len(self._matrix)), vectors.shape[1]), dtype=np.float32)
            grown[: len(self._matrix)] = self._matrix
            self._matrix = grown
        if len(ids):
            self._matrix[self.rows(ids)] = vectors

    def rows(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Where the vectors of these ids stand; every id has been filled before."""
        import numpy as np

        return np.fromiter((self._place[i] for i in ids), dtype=np.intp, count=len(ids))

    def matrix(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these ids, as rows of a new matrix; every id has been filled before."""
        return self._matrix[self.rows(ids)]

    def search(self, query: NDArray[np.float32], k: int, rows: NDArray[np.intp]) -> list[tuple[str, float]]:
        """`top_k` among these rows: ids and scores, best first."""
        places, scores = top_k(self._matrix[: len(self._place)], query, k, rows)
        return [(self._ids[place], score) for place, score in zip(places.tolist(), scores.tolist(), strict=True)]

    def places(self, query: NDArray[np.float32], rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """Places in `rows`, where a row may stand several times, by score; equals in their order."""
        import numpy as np

        scores = (self._matrix[: len(self._place)] @ query)[rows]
        if k is None or k >= len(rows):
            return list(np.argsort(-scores, kind="stable").tolist())
        picked = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
        best: list[int] = picked[np.argsort(-scores[picked], kind="stable")][:k].tolist()
        return best


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The texts' vectors, shape (n, dim), after a look at what the embedder gave.

    Raises:
        ContractError: when it is something else than finite numbers of that shape.
    """
    import numpy as np

    made = np.asarray(embedder.embed(texts), dtype=np.float32)
    if made.shape != (len(texts), embedder.dim) or not np.isfinite(made).all():
        raise ContractError(
            f"the embedder {embedder.name} should give finite numbers of shape ({len(texts)}, {embedder.dim}), "
            f"and gave shape {made.shape}; look at its embed()"
        )
    return made
