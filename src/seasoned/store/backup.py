"""Backs up a store into one file while programs keep writing to it, and restores it.

Always holds: a backup is complete, or no file is written; a backup overwrites no file, and a restore keeps the previous
store beside the new one; both are verified by reading the result.
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

_STEP = 1000  # pages at once, so that other writers can write in between


def backup(store: Store, file: Path) -> int:
    """Copy a store into a new file, and return its size in bytes.

    Raises:
        StoreError: when the file exists or cannot be written, or the store is damaged.
    """
    if file.exists():
        raise StoreError(f"{file} exists already, and a backup overwrites nothing: name another file")
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if store.path is None:
            with Store(partial) as fresh:
                copy(store, fresh)
        else:
            _copy_pages(store.path, partial)
        with Store(partial) as copied:
            problems = copied.check()
        if problems:
            raise StoreError(
                f"{store.where} is damaged ({problems[0]}), so no backup was made: run `seasoned doctor --repair` first"
            )
        os.link(partial, file)  # unlike a rename, it fails if the file exists by now
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}; name another file") from error
    finally:
        _remove_files(partial)
    return file.stat().st_size


def restore(file: Path, address: str, *, replace: bool = False) -> Path | None:
    """Restore a store from a backup.

    Args:
        file: the backup; one with an older layout is migrated.
        address: the target: a file, or a database without rows.
        replace: replace an existing store, after copying it into a file beside it.

    Returns:
        The file with the previous store, if there was one.

    Raises:
        StoreError: when the file is not a store, or the target exists and `replace` is False.
    """
    if not file.is_file():
        raise StoreError(f"there is no file {file} to restore from")
    previous: Path | None = None
    exists = "://" not in address and Path(address).exists()
    if exists and not replace:
        raise StoreError(f"{address} exists already: add --replace to replace it; it is kept beside the new store")
    with Store(file) as source, Store(address) as target:
        if source.path == target.path:
            raise StoreError(f"{file} cannot be restored into itself; name another store with --store")
        if target.path is None:
            copy(source, target)
            return None
        if exists:
            previous = target.path.with_name(f"{target.path.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}")
            backup(target, previous)
        drop(target.path)
        _copy_pages(source.path or file, target.path)
        if digest(source) != digest(target):
            raise StoreError(f"{address} differs from {file}: stop the programs that write to it, and restore again")
    return previous


def _copy_pages(source: Path, target: Path) -> None:
    try:
        with closing(sqlite3.connect(source, timeout=30)) as old, closing(sqlite3.connect(target, timeout=30)) as new:
            old.backup(new, pages=_STEP, sleep=0.01)
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied to {target}: {error}; try again") from error


def _remove_files(partial: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(f"{partial}{ending}").unlink()
