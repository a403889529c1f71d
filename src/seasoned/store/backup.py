"""A store kept as one file while programs go on writing to it, and brought back from there.

Always holds: a backup is whole or not made at all; no file is written over, and what a restored store held before lies
beside it; both are read again and compared before they count.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from seasoned.errors import StoreError
from seasoned.store.copying import copy, digest
from seasoned.store.mapped import drop
from seasoned.store.sql import Store

_STEP = 1000  # pages at once, so that writers get their turn


def backup(store: Store, file: Path) -> int:
    """Keep a store as a file, by SQLite's online backup or row by row from a server; gives the bytes.

    Raises:
        StoreError: when the file is there already or cannot be written, or what was written cannot be read back.
    """
    if file.exists():
        raise StoreError(f"{file} is there already, and a backup writes over nothing: name another file")
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if store.path is None:
            with Store(beside) as fresh:
                copy(store, fresh)
        else:
            _pages(store.path, beside)
        with Store(beside) as made:
            problems = made.check()
        if problems:
            raise StoreError(
                f"{store.where} is damaged ({problems[0]}): `seasoned doctor --repair` first; nothing was kept"
            )
        os.link(beside, file)  # unlike a rename it refuses a file that came meanwhile
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}; name another file") from error
    finally:
        _remove(beside)
    return file.stat().st_size


def restore(file: Path, address: str, *, replace: bool = False) -> Path | None:
    """Bring a store back from a backup.

    Args:
        file: the backup; one of an older layout is brought up to the present one.
        address: where to: a file, or a database that holds no rows.
        replace: write over a store that is there; it is kept in a file beside it first.

    Returns:
        Where the store that was there lies now, if there was one.

    Raises:
        StoreError: when the file is not a store, or the target holds one already.
    """
    if not file.is_file():
        raise StoreError(f"there is no file {file} to restore from")
    kept: Path | None = None
    there = "://" not in address and Path(address).exists()
    if there and not replace:
        raise StoreError(f"{address} is there already: add --replace, and it is kept beside the restored one")
    with Store(file) as source, Store(address) as target:
        if source.path == target.path:
            raise StoreError(f"{file} cannot be restored into itself; name another store with --store")
        if target.path is None:
            copy(source, target)
            return None
        if there:
            kept = target.path.with_name(f"{target.path.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}")
            backup(target, kept)
        drop(target.path)
        _pages(source.path or file, target.path)
        if digest(source) != digest(target):
            raise StoreError(f"{address} does not hold what {file} holds; is another program writing? Restore again")
    return kept


def _pages(source: Path, target: Path) -> None:
    try:
        with closing(sqlite3.connect(source, timeout=30)) as old, closing(sqlite3.connect(target, timeout=30)) as new:
            old.backup(new, pages=_STEP, sleep=0.01)
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied to {target}: {error}; try again") from error


def _remove(beside: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(f"{beside}{ending}").unlink()
