"""Vectors of a SQLite store in files beside it, which processes map into memory instead of reading all rows.

The files are derived from the store and may be deleted at any time. Always holds: an unreadable file is ignored;
permanent deletion from a store deletes these files too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seasoned.store.matrix import rounded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST = 20_000
"""The least vectors for which a file is written; fewer are read in less than a second."""

_HEADER = 4096  # bytes of the header
_SUFFIX = ".vectors"


class Mapped(NamedTuple):
    """Vectors in a file: what their owner wrote about them, rows, and the rows rounded to bytes with their scales."""

    about: Any
    rows: Any
    codes: Any
    scales: Any


def save(store: Path, owner: str, embedder: str, about: Any, blocks: Iterable[NDArray[np.float32]], count: int) -> None:
    """Write an owner's vectors into a file; does nothing if the disk refuses.

    Args:
        store: the store's file.
        owner: names the file, together with the embedder.
        embedder: the embedder's name.
        about: what belongs to the rows, such as their ids, as JSON.
        blocks: the rows in order, as arrays of shape (m, dim).
        count: the number of rows.
    """
    written = json.dumps(about).encode()
    path = _file(store, owner, embedder)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(exist_ok=True)
        partial.touch(store.stat().st_mode & 0o777)
        with partial.open("wb") as file:
            file.seek(_HEADER)
            codes: list[NDArray[np.int8]] = []
            scales: list[NDArray[np.float32]] = []
            dim = 0
            for rows in blocks:
                dim = rows.shape[1]
                file.write(rows.astype("<f4", copy=False).data)
                new = rounded(rows)
                codes.append(new[0])
                scales.append(new[1])
            for code in codes:
                file.write(code.data)
            for scale in scales:
                file.write(scale.astype("<f4", copy=False).data)
            file.write(written)
            file.seek(0)
            head = {"version": 2, "embedder": embedder, "count": count, "dim": dim, "about": len(written)}
            file.write(json.dumps(head).encode().ljust(_HEADER))
        partial.replace(path)
    except (OSError, ValueError):
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def load(store: Path, owner: str, embedder: str, dim: int) -> Mapped | None:
    """The vectors in the file, mapped copy-on-write; None if no usable file exists."""
    import numpy as np

    path = _file(store, owner, embedder)
    try:
        with path.open("rb") as file:
            head = json.loads(file.read(_HEADER))
            count = int(head["count"])
            sizes = (4 * count * dim, count * dim, 4 * count, int(head["about"]))
            usable = head["version"] == 2 and head["embedder"] == embedder and head["dim"] == dim
            if not usable or path.stat().st_size != _HEADER + sum(sizes) or not count:
                return None
            file.seek(_HEADER + sum(sizes[:3]))
            about = json.loads(file.read())
        offsets = (_HEADER, _HEADER + sizes[0], _HEADER + sizes[0] + sizes[1])
        rows = np.memmap(path, dtype="<f4", mode="c", offset=offsets[0], shape=(count, dim))
        codes = np.memmap(path, dtype=np.int8, mode="c", offset=offsets[1], shape=(count, dim))
        scales = np.memmap(path, dtype="<f4", mode="c", offset=offsets[2], shape=(count,))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Mapped(about, *map(np.asarray, (rows, codes, scales)))


def drop(store: Path | None) -> None:
    """Delete the files of a store; programs that have mapped them keep their copies."""
    if store is None:
        return
    with suppress(OSError):
        for path in _folder(store).iterdir():
            path.unlink(missing_ok=True)
        _folder(store).rmdir()


def _folder(store: Path) -> Path:
    return store.with_name(store.name + _SUFFIX)


def _file(store: Path, owner: str, embedder: str) -> Path:
    return _folder(store) / f"{owner}-{hashlib.sha256(embedder.encode()).hexdigest()[:12]}"
