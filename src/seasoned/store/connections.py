"""The address of a store, and the settings of each connection to it.

Always holds: a write takes the lock at its start (`BEGIN IMMEDIATE`), so writers wait and none fails halfway; deleted
data are overwritten; no message contains a password; a process has at most ten connections to a server, and waits if
the server has no more.
"""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from seasoned.errors import MissingExtraError, StoreError
from seasoned.store.faults import crowded

_IDLE = 5.0  # seconds after which a connection is checked before use


def address(path_or_url: str | Path) -> tuple[URL, Path | None]:
    """The URL of a store, and the path if it is a file, whose folders are created.

    Args:
        path_or_url: a file, or a URL such as `postgresql://user@host/name`.

    Raises:
        StoreError: when it is neither, or cannot be used.
    """
    if isinstance(path_or_url, str) and "://" in path_or_url:
        try:
            url = make_url(path_or_url)
        except (ArgumentError, ValueError) as error:
            raise StoreError("the store's URL cannot be read; write it as postgresql://user@host:5432/name") from error
        if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
            return url.set(drivername="postgresql+psycopg"), None
        if url.drivername != "sqlite" or not url.database:
            raise StoreError(
                f"a store is a file or a Postgres database, not {url.drivername}; give a path, or a URL such as "
                "postgresql://user@host:5432/name"
            )
        path_or_url = url.database
    if str(path_or_url) == ":memory:":
        raise StoreError("a store is a file or a Postgres database, not :memory:; give a path in a temporary folder")
    try:
        path = Path(path_or_url).expanduser().absolute()
        if "\x00" in str(path):
            raise ValueError("it holds a NUL character")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise StoreError(f"the store {path} should be a file, but is a folder or a device; give the path of a file")
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"the store's path {str(path_or_url)!r} cannot be used: {error}; give another path") from error
    return URL.create("sqlite", database=str(path)), path


def connections(url: URL, timeout: float) -> Engine:
    """An engine whose connections have this module's settings.

    Args:
        url: the store's URL, from `address`.
        timeout: seconds to wait for another writer, or for a server.

    Raises:
        MissingExtraError: when the driver of Postgres is not installed.
    """
    if url.drivername == "sqlite":
        engine = create_engine(
            url, pool_size=8, max_overflow=-1, connect_args={"timeout": timeout, "check_same_thread": False}
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        engine = create_engine(
            url,
            pool_size=8,
            max_overflow=2,
            pool_timeout=timeout,
            pool_use_lifo=True,
            connect_args={"connect_timeout": max(2, round(timeout))},
        )
    except ImportError as error:
        raise MissingExtraError("postgres", "psycopg") from error

    def set_up(dbapi: Any, _record: Any) -> None:
        dbapi.execute(f"SET lock_timeout = {round(timeout * 1000)}")
        dbapi.execute("SET hnsw.ef_search = 100")  # for `nearby`; a server without pgvector ignores both
        dbapi.execute("SET hnsw.iterative_scan = 'strict_order'")
        dbapi.commit()

    def connect(dialect: Any, _record: Any, args: Any, options: Any) -> Any:
        deadline = time.monotonic() + timeout
        while True:
            try:
                return dialect.connect(*args, **options)
            except dialect.loaded_dbapi.OperationalError as error:
                if not crowded(error) or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0.02, 0.2))

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "checkin", lambda _, record: record.info.update(idle_since=time.monotonic()))
    event.listen(engine, "checkout", _check_idle)
    return engine


def _check_idle(dbapi: Any, record: Any, _proxy: Any) -> None:
    """Check an idle connection before use; a check before each use would cost a round trip."""
    if time.monotonic() - record.info.get("idle_since", time.monotonic()) < _IDLE:
        return
    try:
        dbapi.execute("SELECT 1")
        dbapi.rollback()
    except Exception as error:  # of any driver: a new connection is opened
        raise DisconnectionError from error


def _set_up_sqlite(dbapi: Any, _record: Any) -> None:
    dbapi.isolation_level = None  # _begin_sqlite begins transactions, not sqlite3
    dbapi.execute("PRAGMA foreign_keys=ON")
    dbapi.execute("PRAGMA synchronous=NORMAL")
    dbapi.execute("PRAGMA mmap_size=134217728")  # halves the time to search 100,000 lessons
    dbapi.execute("PRAGMA secure_delete=ON")  # whatever SQLite's build sets
    dbapi.create_function("casefold", 1, lambda text: str(text).casefold(), deterministic=True)  # lower() is ASCII only


def _begin_sqlite(connection: Connection) -> None:
    dbapi: Any = connection.connection.dbapi_connection
    options = connection.get_execution_options()
    timeout_s: float | None = options.get("seasoned_wait")
    if options.get("seasoned_alone"):
        return
    if timeout_s is None:
        dbapi.execute("BEGIN")
        return
    # SQLite retries less and less often, up to every 100 ms, so the writer that has waited longest loses to new ones.
    # Frequent retries at random times are fair enough for dozens of processes.
    deadline = time.monotonic() + timeout_s
    durable = options.get("seasoned_durable", False)
    dbapi.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    dbapi.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                dbapi.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0.001, 0.01))
    finally:
        dbapi.execute(f"PRAGMA busy_timeout={round(timeout_s * 1000)}")
