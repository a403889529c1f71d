import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError, InvalidRequestError, TimeoutError

from seasoned.errors import StoreError, StoreLockedError
from seasoned.store.faults import DuplicateRow, MissingRow, translate


def sqlite_error(name):
    error = sqlite3.OperationalError("words of the database")
    error.sqlite_errorname = name
    return error


class PostgresError(Exception):
    def __init__(self, state):
        super().__init__("words of the server\nDETAIL: more")
        self.sqlstate = state


def wrapped(cause):
    return DBAPIError("INSERT ...", {"secret": "parameter"}, cause)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_READONLY", "read-only"),
        ("SQLITE_READONLY_DIRECTORY", "read-only"),
        ("SQLITE_CANTOPEN", "cannot be opened"),
        ("SQLITE_FULL", "disk is full"),
        ("SQLITE_NOTADB", "other than an SQLite database"),
        ("SQLITE_CORRUPT_INDEX", "damaged"),
        ("SQLITE_IOERR_WRITE", "disk reports an error"),
        ("SQLITE_ERROR", "refused: words of the database"),
    ],
)
@pytest.mark.parametrize("wrap", [wrapped, lambda cause: cause])
def test_sqlite(name, words, wrap):
    made = translate(wrap(sqlite_error(name)), "/a/b.db", 10)
    assert type(made) is StoreError
    assert words in str(made)
    assert "/a/b.db" in str(made)
    assert "secret" not in str(made)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("28P01", "password"),
        ("3D000", "does not exist"),
        ("42501", "does not let this user"),
        ("53100", "disk is full"),
        ("57P01", "shut down"),
        ("22P02", "refused: words of the server (22P02)"),
        (None, "cannot be reached: words of the server; check the URL"),
    ],
)
def test_postgres(state, words):
    made = translate(wrapped(PostgresError(state)), "postgresql://host/name", 10)
    assert type(made) is StoreError
    assert words in str(made)
    assert "DETAIL" not in str(made)


@pytest.mark.parametrize(
    "error",
    [wrapped(sqlite_error("SQLITE_BUSY_SNAPSHOT")), wrapped(PostgresError("55P03")), TimeoutError("pool")],
)
def test_locked(error):
    made = translate(error, "x.db", 2.5)
    assert type(made) is StoreLockedError
    assert "more than 2.5 s" in str(made)


def test_what_the_tables_explain_themselves():
    assert type(translate(wrapped(sqlite_error("SQLITE_CONSTRAINT_UNIQUE")), "x", 1)) is DuplicateRow
    assert type(translate(wrapped(PostgresError("23505")), "x", 1)) is DuplicateRow
    assert type(translate(wrapped(sqlite_error("SQLITE_CONSTRAINT_FOREIGNKEY")), "x", 1)) is MissingRow
    assert type(translate(wrapped(PostgresError("23503")), "x", 1)) is MissingRow


def test_anything_else_is_still_a_sentence():
    assert "refused: too large" in str(translate(OverflowError("too large"), "x", 1))
    assert "(InvalidRequestError)" in str(translate(InvalidRequestError("no"), "x", 1))
