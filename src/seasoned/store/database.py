"""One database under a store, and its transactions.

Always holds: the writes of a returned call survive `kill -9` of the process (write-ahead log with synchronous=NORMAL: a
power cut may lose the last writes, but never the store); durable writes survive a power cut (synchronous=FULL: some
milliseconds, little beside the model call that they store); every database error becomes a `StoreError`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, Insert, Table, text

from seasoned.errors import StoreError, StoreLockedError
from seasoned.store.body import clean_text
from seasoned.store.connections import address, connections
from seasoned.store.faults import DATABASE_ERRORS, translate
from seasoned.store.mapped import drop
from seasoned.store.schema import scopes
from seasoned.store.upgrade import bring_up

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SQLiteInsert
    from sqlalchemy.sql.dml import ReturningInsert

T = TypeVar("T")

_CHUNK = 500  # ids per statement


class Database:
    """Open connections to one SQLite file or Postgres database; safe in threads, not across a fork."""

    def __init__(self, path_or_url: str | Path, *, timeout: float = 10.0) -> None:
        """Open the store; create it, or migrate it to the present layout, if needed.

        Args:
            path_or_url: a file (its folders are created), or a URL such as `postgresql://user@host/name`.
            timeout: seconds to wait for another writer before `StoreLockedError`.

        Raises:
            StoreVersionError: when a newer Seasoned made the store.
            StoreLockedError: when another program locks it for too long.
            StoreError: when it cannot be opened or is not a store.
        """
        url, self.path = address(path_or_url)
        self.where = str(self.path) if self.path else url.render_as_string(hide_password=True)
        self.timeout = timeout
        self._pid = os.getpid()
        self._closed = False
        self._local = threading.local()
        self._upserts: dict[tuple[Table, tuple[str, ...]], Insert] = {}
        self._turn = threading.RLock()  # this process's writers wait here, more fairly than in SQLite
        self._engine = connections(url, timeout)
        # A statement is a transaction of its own, without statements to begin and end one.
        alone: dict[str, Any] = {"seasoned_alone": True} if self._sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._reader = self._engine.execution_options(**alone)
        self._writer = self._engine.execution_options(seasoned_wait=timeout)
        self._durable_writer = self._engine.execution_options(seasoned_wait=timeout, seasoned_durable=True)
        self._release = weakref.finalize(self, self._engine.dispose)
        try:
            with self._faults():
                bring_up(self._engine, self.where, timeout)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Store({self.where!r})"

    def close(self) -> None:
        """Close all connections; when the last program closes a SQLite store, its `-wal` file goes."""
        self._closed = True
        self._release()

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside `transaction()`."""
        return self._held() is not None

    @contextmanager
    def transaction(self, *scopes: str, durable: bool = False) -> Iterator[None]:
        """Make all writes of this thread inside the block one transaction.

        Other writers wait meanwhile, so call no model inside.

        Args:
            scopes: the scopes to lock from the beginning. SQLite locks all scopes, Postgres only these, in a fixed
                order, so that two such blocks never deadlock.
            durable: the writes survive a power cut; a nested block is as durable as the outer one.

        Raises:
            StoreLockedError: when another writer does not finish within the timeout.
        """
        held = self._held()
        if held is not None:
            self._keep_scopes(held, scopes)
            yield
            return
        if not self._turn.acquire(timeout=self.timeout):
            raise StoreLockedError(
                f"another thread has been writing to the store {self.where} for more than {self.timeout:g} s; "
                "keep model calls and other slow work out of transaction()"
            )
        try:
            with self._faults():
                connection = self._connect(self._durable_writer if durable else self._writer)
            with connection:
                with self._faults():
                    connection.begin()
                self._local.connection = connection
                try:
                    self._keep_scopes(connection, scopes)
                    yield
                    self._held()
                except BaseException:
                    with suppress(*DATABASE_ERRORS):
                        connection.rollback()
                    raise
                finally:
                    self._local.connection = self._local.lost = None
                with self._faults():
                    connection.commit()
        finally:
            self._turn.release()

    @contextmanager
    def _write(self, *, durable: bool = False) -> Iterator[Connection]:
        held = self._held()
        if held is None:
            with self.transaction(durable=durable), self._faults():
                yield self._local.connection
            return
        with self._faults():
            point = held.begin_nested()
            try:
                yield held
            except BaseException as error:
                try:
                    point.rollback()
                except DATABASE_ERRORS:  # a full disk rolls back the whole transaction, not only this write
                    self._local.lost = self._translated(error)
                raise
            point.commit()

    @contextmanager
    def _read(self, *, streams: bool = False) -> Iterator[Connection]:
        """A connection for one statement, or several that may read different states.

        With `streams`, results may come in pages, for which Postgres needs a transaction.
        """
        held = self._held()
        with self._faults():
            if held is not None:
                yield held
            else:
                with self._connect(self._engine if streams else self._reader) as connection:
                    yield connection

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """A connection for several statements that must read the same state; `_read` is faster for one."""
        held = self._held()
        with self._faults():
            if held is not None:
                yield held
                return
            with self._connect(self._engine) as connection:
                if not self._sqlite:
                    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
                yield connection

    def _held(self) -> Connection | None:
        lost: BaseException | None = getattr(self._local, "lost", None)
        if lost is not None:
            raise StoreError(f"this transaction was rolled back, and nothing of it was kept: {lost}")
        return getattr(self._local, "connection", None)

    def _connect(self, engine: Engine) -> Connection:
        if self._closed:
            raise StoreError(f"the store {self.where} was closed; open it again")
        if os.getpid() != self._pid:
            raise StoreError(f"the store {self.where} was opened in another process; open it in this one")
        return engine.connect()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except DATABASE_ERRORS as error:
            raise self._translated(error) from error

    def _translated(self, error: BaseException) -> BaseException:
        return translate(error, self.where, self.timeout) if isinstance(error, DATABASE_ERRORS) else error

    @property
    def _sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def _insert(self, table: Table) -> SQLiteInsert | PostgresInsert:
        """An insert with ON CONFLICT, which SQLAlchemy has in a class for each database."""
        if self._sqlite:
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)

    def _upsert(self, table: Table, keys: tuple[str, ...], columns: tuple[str, ...]) -> Insert:
        """An insert that, if a row has the same keys, replaces these columns of it, if any; made once."""
        made = self._upserts.get((table, columns))
        if made is None:
            insert = self._insert(table)
            if columns:
                fresh = {name: insert.excluded[name] for name in columns}
                made = insert.on_conflict_do_update(index_elements=keys, set_=fresh)
            else:
                made = insert.on_conflict_do_nothing(index_elements=keys)
            self._upserts[table, columns] = made
        return made

    def _keep_scopes(self, connection: Connection, scopes: Sequence[str]) -> None:
        with self._faults():
            for scope in () if self._sqlite else sorted(map(clean_text, scopes)):
                self._bump(connection, scope)

    def _bump(self, connection: Connection, scope: str, *, purge: bool = False) -> int:
        """Count a change of the scope, first in each write: in Postgres, the row's lock makes its writers wait."""
        if purge:
            drop(self.path)
        return int(connection.execute(self._count, {"scope": scope, "change": 1, "purges": int(purge)}).scalar_one())

    @cached_property
    def _count(self) -> ReturningInsert[int]:
        insert = self._insert(scopes)
        counted = insert.on_conflict_do_update(
            index_elements=["scope"],
            set_={"change": scopes.c.change + 1, "purges": scopes.c.purges + insert.excluded.purges},
        )
        return counted.returning(scopes.c.change)


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items in chunks small enough for one statement."""
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]
