"""Vectors in the store.

Always holds: a vector is stored with the embedder's name, its dimension and the digest of its text, so a search never
mixes embedders and never uses the vector of an older text. Vectors are stored as little-endian float32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Integer, bindparam, or_, select

from seasoned.errors import ContractError, EmbedderMismatchError, StoreError
from seasoned.protocols import Embedder
from seasoned.store import schema
from seasoned.store.body import clean_text
from seasoned.store.database import Database, chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OWNERS = {"lesson": schema.lessons, "trajectory": schema.trajectories}
"""The table of each owner of vectors; bare texts have none."""

_v = schema.vectors.c
_wide = bindparam("wide", type_=Integer)
_OF_ONE = select(_v.id, _v.digest, _v.data).where(
    _v.owner == bindparam("by"), _v.embedder == bindparam("made"), or_(_wide.is_(None), _v.dim == _wide)
)
_ALL = _OF_ONE.order_by(_v.id)
_SOME = _OF_ONE.where(_v.id.in_(bindparam("ids", expanding=True)))
_KEYS, _VALUES = ("owner", "id", "embedder"), ("dim", "digest", "data")
_FEW = 32  # vectors


def put(
    db: Database,
    owner: str,
    ids: Sequence[str],
    embedder_name: str,
    matrix: NDArray[np.float32],
    *,
    digests: Sequence[str] | None = None,
) -> None:
    """Store vectors; replaces those with the same owner, id and embedder.

    Skips vectors of lessons or trajectories that are not in the store (deleted meanwhile).

    Args:
        db: the store.
        owner: "lesson", "trajectory", or "text" for other texts.
        ids: n ids.
        embedder_name: the embedder that computed the vectors.
        matrix: shape (n, dim), finite.
        digests: `digest` of each text; without them, `get` cannot detect vectors of older texts.

    Raises:
        StoreError: when the shapes do not fit, or a value is not finite.
    """
    import numpy as np

    rows = np.asarray(matrix, dtype="<f4")
    texts = [""] * len(ids) if digests is None else list(digests)
    if rows.ndim != 2 or rows.shape[0] != len(ids) or len(texts) != len(ids):
        raise StoreError(f"{len(ids)} vectors need a matrix of {len(ids)} rows, but this has shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise StoreError("vectors should have finite numbers, but one has not; check the embedder")
    if not len(ids):
        return
    shared: dict[str, Any] = {"owner": clean_text(owner), "embedder": clean_text(embedder_name), "dim": rows.shape[1]}
    values = [
        {**shared, "id": clean_text(i), "digest": text, "data": row.tobytes()}
        for i, text, row in zip(ids, texts, rows, strict=True)
    ]
    with db._write() as connection:
        existing = _existing(connection, owner, [value["id"] for value in values])
        if kept := [value for value in values if value["id"] in existing]:
            connection.execute(db._upsert(schema.vectors, _KEYS, _VALUES), kept)


def get(
    db: Database,
    owner: str,
    ids: Sequence[str] | None,
    embedder_name: str,
    digests: Sequence[str] | None = None,
    dim: int | None = None,
) -> tuple[list[str], NDArray[np.float32]]:
    """Stored vectors of one embedder.

    Args:
        db: the store.
        owner: as in `put`.
        ids: None for all of the owner.
        embedder_name: the embedder whose vectors are returned.
        digests: the digest of each id's text; leaves out vectors of other texts.
        dim: leaves out vectors of another dimension.

    Returns:
        The ids that have a vector (in the given order, or sorted), and float32 of shape (n, dim).

    Raises:
        EmbedderMismatchError: when `dim` is not given and the vectors have several dimensions.
    """
    import numpy as np

    values = {"by": clean_text(owner), "made": clean_text(embedder_name), "wide": dim}
    cleaned = None if ids is None else [clean_text(i) for i in ids]
    with db._read() as connection:
        if cleaned is None:
            rows = list(connection.execute(_ALL, values))
        else:
            rows = [row for part in chunks(cleaned) for row in connection.execute(_SOME, {**values, "ids": part})]
    stored = {row.id: (row.digest, row.data) for row in rows}
    order = list(stored) if cleaned is None else [i for i in dict.fromkeys(cleaned) if i in stored]
    if digests is not None and cleaned is not None:
        texts = dict(zip(cleaned, digests, strict=True))
        order = [i for i in order if stored[i][0] == texts[i]]
    blobs = [stored[i][1] for i in order]
    if len({len(blob) for blob in blobs}) > 1 or any(len(blob) % 4 for blob in blobs[:1]):
        raise EmbedderMismatchError(
            f"the vectors of {embedder_name} in the store have several dimensions; "
            "give `dim`, or remove the rows of the other dimensions from the table `vectors`"
        )
    width = len(blobs[0]) // 4 if blobs else dim or 0
    flat = np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32)
    return order, flat.reshape(len(order), width)


def _existing(connection: Connection, owner: str, ids: Sequence[str]) -> set[str]:
    """The ids of stored owners, locked until the transaction ends; for bare texts, all ids."""
    if owner not in OWNERS:
        return set(ids)
    table = OWNERS[owner]
    queries = (select(table.c.id).where(table.c.id.in_(part)).with_for_update(read=True) for part in chunks(ids))
    return {row for query in queries for row in connection.execute(query).scalars()}


def digest(text: str) -> str:
    """The digest of a text, stored with its vector: 16 hexadecimal digits."""
    return hashlib.sha256(clean_text(text).encode()).hexdigest()[:16]


def recomputed(embedder: Embedder, count: int) -> bool:
    """Whether this many vectors are computed rather than read or stored, since that takes less time."""
    return count < _FEW and getattr(embedder, "instant", False)


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of texts, shape (n, dim), after a check of the embedder's result.

    Raises:
        ContractError: when the result is not finite numbers of that shape.
    """
    import numpy as np

    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dim) or not np.isfinite(vectors).all():
        raise ContractError(
            f"the embedder {embedder.name} should return finite numbers of shape ({len(texts)}, {embedder.dim}), "
            f"but returned shape {vectors.shape}; check its embed()"
        )
    return vectors
