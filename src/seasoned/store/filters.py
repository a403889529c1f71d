"""The filters of the store's lists: columns that equal a value, texts that contain words, and pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, func

from seasoned.errors import StoreError
from seasoned.store.body import clean_text
from seasoned.store.database import Database

MAX_NAME = 2000
"""The most bytes of a lesson's key or a task's id; an index entry in Postgres has at most 2,700 in all."""


def fold(text: str) -> str:
    """The case-folded text, for searches."""
    return clean_text(text).casefold()


def short_name(text: str) -> str:
    """A key or task id as stored; one longer than `MAX_NAME` bytes is cut and ends in its digest."""
    if len(text) <= MAX_NAME // 4 or len(raw := clean_text(text).encode()) <= MAX_NAME:
        return text
    return f"{raw[: MAX_NAME - 20].decode(errors='ignore')}~{hashlib.sha256(raw).hexdigest()[:16]}"


def equal(*pairs: tuple[ColumnElement[Any], str | bool | None]) -> list[ColumnElement[bool]]:
    """A condition for each pair of column and value; None filters nothing."""
    cleaned = ((column, clean_text(value) if isinstance(value, str) else value) for column, value in pairs)
    return [column == value for column, value in cleaned if value is not None]


def contain(db: Database, column: ColumnElement[Any], words: Iterable[str]) -> list[ColumnElement[bool]]:
    """For each word, the condition that the column contains it; no character is a wildcard."""
    # Not LIKE: in SQLite it folds only ASCII, and limits the pattern's length.
    position = func.instr if db._sqlite else func.strpos
    return [position(column, word) > 0 for word in words]


def check_page(limit: int | None, offset: int) -> None:
    """Check the limit and offset of a page.

    Raises:
        StoreError: when limit or offset is negative or too large for a database.
    """
    for name, value in (("limit", limit or 0), ("offset", offset)):
        if not 0 <= value < 2**63:
            raise StoreError(f"{name} should be 0 or more, but is {value}")
