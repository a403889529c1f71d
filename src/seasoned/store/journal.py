"""The journal of models' replies, written by many threads at once.

Always holds: a returned write survives a power cut; the first reply under a key stays. Concurrent writers share one
durable transaction, since most of its time is the disk's, for one row as for many.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from sqlalchemy import bindparam, select

from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database
from seasoned.types import Reply, now

_j = schema.journal.c
_REPLY = select(_j.body).where(_j.scope == bindparam("of"), _j.key == bindparam("under"))
_BATCH = 500  # writes per transaction


class JournalQueue:
    """Replies that wait to be written to one store; the first thread writes those of all waiting threads."""

    def __init__(self) -> None:
        self._waiting: list[tuple[list[dict[str, Any]], Future[None]]] = []
        self._writing = threading.Lock()
        self._lock = threading.Lock()

    def put(self, db: Database, rows: list[dict[str, Any]]) -> None:
        """Write rows together with those of other threads; returns when they are on the disk."""
        if db.in_transaction:
            _write(db, rows)
            return
        written: Future[None] = Future()
        with self._lock:
            self._waiting.append((rows, written))
        with self._writing:
            while not written.done():
                with self._lock:
                    batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
                self._write_all(db, batch)
        written.result()

    def _write_all(self, db: Database, batch: Sequence[tuple[list[dict[str, Any]], Future[None]]]) -> None:
        try:
            _write(db, [row for rows, _ in batch for row in rows])
        except Exception as error:
            for _, future in batch:
                future.set_exception(error)
        except BaseException:  # this thread was interrupted: the others write the rows
            with self._lock:
                self._waiting = [*batch, *self._waiting]
            raise
        else:
            for _, future in batch:
                future.set_result(None)


def get(db: Database, scope: str, key: str) -> Reply | None:
    """The journalled reply under this key, or None."""
    with db._read() as connection:
        body = connection.execute(_REPLY, {"of": clean_text(scope), "under": clean_text(key)}).scalar()
    return None if body is None else from_body(Reply, body, f"the journalled reply {key}")


def row(scope: str, key: str, reply: Reply) -> dict[str, Any]:
    """The row that stores a reply."""
    return {"scope": clean_text(scope), "key": clean_text(key), "created": now(), "body": to_body(reply)[1]}


def _write(db: Database, rows: list[dict[str, Any]]) -> None:
    with db._write(durable=True) as connection:
        connection.execute(db._upsert(schema.journal, ("scope", "key"), ()), rows)
