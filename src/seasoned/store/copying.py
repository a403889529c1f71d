"""Copies a store into another one, from a SQLite file to Postgres or back.

Always holds: a copy is complete, with equal digests, or the target stays empty; the source is read in one
snapshot and never written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select

from seasoned.errors import StoreError
from seasoned.store.database import Database
from seasoned.store.schema import metadata

_BATCH = 1000  # rows
_MODULUS = 2**256


def copy(source: Database, target: Database) -> tuple[dict[str, int], str]:
    """Copy all rows into an empty store.

    Returns:
        The number of rows of each table, and the digest of both stores.

    Raises:
        StoreError: when the target is not empty, or its content differs from the source afterwards.
    """
    if source.where == target.where:
        raise StoreError(f"{source.where} cannot be copied into itself; give another store")
    counts: dict[str, int] = {}
    sums: dict[str, int] = {}
    with source._snapshot() as reading, target._write() as writing:
        for table in metadata.sorted_tables:
            if writing.execute(select(table).limit(1)).first() is not None:
                raise StoreError(f"{target.where} is not empty (its table {table.name} has rows); give a new store")
        for table in metadata.sorted_tables:
            counts[table.name] = sums[table.name] = 0
            for rows in _rows(reading, table):
                writing.execute(table.insert(), [dict(row._mapping) for row in rows])
                counts[table.name] += len(rows)
                sums[table.name] = (sums[table.name] + sum(map(_digest, rows))) % _MODULUS
            if not target._sqlite and "seq" in table.c and counts[table.name]:
                last = select(func.max(table.c.seq)).scalar_subquery()
                writing.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "seq"), last)))
        copied = {table.name: _sum(writing, table) for table in metadata.sorted_tables}
        if copied != sums:
            wrong = ", ".join(name for name in sums if sums[name] != copied[name])
            raise StoreError(f"{target.where} returned other rows than were written ({wrong}), so nothing was copied")
    return counts, _combined(sums)


def digest(store: Database) -> str:
    """A digest of a store's content, the same in any database: 64 hexadecimal digits."""
    with store._snapshot() as reading:
        return _combined({table.name: _sum(reading, table) for table in metadata.sorted_tables})


def _combined(sums: dict[str, int]) -> str:
    return hashlib.sha256("\n".join(f"{name} {sums[name]:x}" for name in sorted(sums)).encode()).hexdigest()


def _sum(connection: Connection, table: Table) -> int:
    """The sum of the rows' digests: it does not depend on the order, as databases sort texts differently."""
    return sum(sum(map(_digest, rows)) for rows in _rows(connection, table)) % _MODULUS


def _rows(connection: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    result = connection.execute(select(table).execution_options(yield_per=_BATCH))
    yield from (list(rows) for rows in result.partitions())


def _digest(row: Row[Any]) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(map(_plain, row)).encode()).digest())


def _plain(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return f"{type(value).__name__} {value!r}"
