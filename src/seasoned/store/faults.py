"""Translates database errors into `StoreError`s.

Always holds: no exception of sqlite3, psycopg or SQLAlchemy leaves the store, and no message contains a password.
"""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from seasoned.errors import StoreError, StoreLockedError

DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error, OverflowError)


class DuplicateRow(StoreError):  # noqa: N818 - caught by the module of the table
    """A row with this key exists. Never leaves the store: the module of the table words the message."""


class MissingRow(StoreError):  # noqa: N818 - as above
    """A row points to a missing row. Never leaves the store."""


_SQLITE = {
    "READONLY": "cannot be written: the file or its folder is read-only; change its permissions, or copy the store to "
    "a folder where you may write",
    "CANTOPEN": "cannot be opened: check that you may read and write the file and its folder",
    "PERM": "cannot be opened: you may not read or write the file; change its permissions",
    "AUTH": "cannot be opened: you may not read or write the file; change its permissions",
    "FULL": "cannot grow: the disk is full; nothing of this write was kept. Free some space and try again",
    "NOTADB": "is not a store: the file is something other than an SQLite database; give another path",
    "CORRUPT": "is damaged: the file is no longer a sound SQLite database; restore a copy, or save what can be read "
    "with `sqlite3 FILE .recover`",
    "IOERR": "cannot be read or written: the disk reports an error; check its space and its health",
    "TOOBIG": "cannot take a value of more than 1 GB; shorten it",
}

_POSTGRES = {
    "28": "refuses the user or the password; check the URL",
    "3D": "is a database that does not exist on the server; create it with `createdb`",
    "42501": "does not let this user do that; grant the user the rights on the schema",
    "25006": "is read-only on the server; open the primary server instead",
    "53100": "cannot grow: the server's disk is full; nothing of this write was kept",
    "53300": "has too many connections at the server; close some, or raise max_connections",
    "57P": "was shut down while it was in use; start the server and try again",
}

_CROWDED = re.compile(r"too many (?:clients|connections)|connection slots")
_DUPLICATE = ("CONSTRAINT_UNIQUE", "CONSTRAINT_PRIMARYKEY", "23505")
_MISSING = ("CONSTRAINT_FOREIGNKEY", "23503")
_LOCKED = ("BUSY", "LOCKED")
_LOCKED_STATES = ("55P03", "40P01", "57014")


def translate(error: Exception, where: str, timeout: float) -> StoreError:
    """The `StoreError` for a database error.

    Args:
        error: one of `DATABASE_ERRORS`.
        where: the path, or the URL without its password.
        timeout: seconds that a writer waits for a lock.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(error, PoolTimeoutError):
        return _locked(where, timeout)
    name = str(getattr(cause, "sqlite_errorname", "") or "").removeprefix("SQLITE_")
    state = str(getattr(cause, "sqlstate", "") or "")
    if name.startswith(_LOCKED) or state in _LOCKED_STATES:
        return _locked(where, timeout)
    if name in _DUPLICATE or state in _DUPLICATE:
        return DuplicateRow(_first_line(cause))
    if name in _MISSING or state in _MISSING:
        return MissingRow(_first_line(cause))
    for start, sentence in _SQLITE.items():
        if name.startswith(start):
            return StoreError(f"the store {where} {sentence}")
    if not state and crowded(cause):  # a refused connection has no state
        state = "53300"
    for start, sentence in _POSTGRES.items():
        if state.startswith(start):
            return StoreError(f"the store {where} {sentence}")
    if not state and not name and isinstance(error, DBAPIError) and not isinstance(cause, sqlite3.Error):
        return StoreError(f"the store {where} cannot be reached: {_first_line(cause)}; check the URL and the server")
    return StoreError(f"the store {where} refused: {_first_line(cause)} ({name or state or type(cause).__name__})")


def crowded(error: BaseException) -> bool:
    """Whether a Postgres server refused a connection because it has as many as it allows."""
    return getattr(error, "sqlstate", None) == "53300" or bool(_CROWDED.search(str(error)))


def _locked(where: str, timeout: float) -> StoreLockedError:
    return StoreLockedError(
        f"another program has locked the store {where} for more than {timeout:g} s; "
        "wait until it ends, or close it, and try again. Nothing of this write was kept"
    )


def _first_line(cause: BaseException) -> str:
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0][:300]
