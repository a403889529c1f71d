"""Repair of a store: what `Store.check` finds and what can be mended without guessing.

Always holds: a copy of an SQLite file is made before anything is changed; a body that can be read is never changed but
for its version; what was removed can be made anew (vectors, replies of models) or pointed to nothing; a second repair
finds nothing to do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select, update

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import from_body
from seasoned.store.lessons import lesson_row
from seasoned.store.sql import Store
from seasoned.store.trajectories import trajectory_row
from seasoned.types import Lesson, Reply, Trajectory, now

_l, _h, _t, _v, _j = (
    table.c for table in (schema.lessons, schema.lesson_history, schema.trajectories, schema.vectors, schema.journal)
)


def repair(store: Store) -> list[str]:
    """Mend what can be mended; ask `store.check()` again for what is left.

    Returns:
        A sentence for each thing that was done; an empty list, and no copy, where the store is sound.

    Raises:
        StoreError: when the copy cannot be made, or the store cannot be written.
    """
    if not store.check():
        return []
    done = []
    if store.path:
        done.append(f"a copy of the store as it was lies at {_copy(store.path)}")
    with store.transaction(), store._write() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("REINDEX")
            done += _unlinked(connection)
        for step in (_lessons, _trajectories, _vectors, _replies):
            done += step(connection)
        connection.execute(update(schema.scopes).values(purges=schema.scopes.c.purges + 1))  # caches begin anew
    return done


def _copy(path: Path) -> Path:
    target = path.with_name(f"{path.name}.before-repair-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except sqlite3.Error as error:
        with suppress(OSError):
            target.unlink()
        raise StoreError(
            f"before a repair the store is copied to {target}, and that failed: {error}; nothing was changed. "
            f"Make room there, or save what can be read with `sqlite3 {path.name} .recover`"
        ) from error
    return target


def _unlinked(connection: Connection) -> Iterator[str]:
    """Rows that point to rows that are gone."""
    lost = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    tables = set(schema.metadata.tables)
    for table, row, parent, _ in lost:
        if table in tables:
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE rowid = {int(row)}")
            yield f"a row of the table {table} pointed to a row of {parent} that is gone, and was removed"


def _lessons(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(schema.lessons).order_by(_l.seq)).mappings().all():
        name = f"the lesson {row['id']}"
        newest = connection.execute(select(func.max(_h.version)).where(_h.lesson_id == row["id"])).scalar() or 0
        try:
            stored = lesson = from_body(Lesson, row["body"], name)
        except StoreError:
            last = _last_readable(connection, row["id"])
            if last is None:
                continue  # nothing to mend it from: `check` goes on to name it
            stored, lesson = last, last.model_copy(update={"version": newest + 1})
            yield f"{name} could not be read and is again as its version {last.version} was"
        version = lesson.version if lesson.version >= newest else newest + 1
        lesson = lesson.model_copy(update={"id": row["id"], "version": version})
        body = row["body"] if lesson == stored else lesson.model_dump_json()
        right = lesson_row(lesson, body)
        wrong = [column for column, value in right.items() if row[column] != value]
        if wrong:
            connection.execute(update(schema.lessons).where(_l.seq == row["seq"]).values(right))
            yield f"{name}: its columns were set to what its body says ({', '.join(wrong)})"
        if lesson.version != newest:
            state = {"lesson_id": lesson.id, "version": lesson.version, "body": body, "change": row["change"]}
            how = {"at": now(), "who": "rule", "why": "repaired: the history did not hold this state"}
            connection.execute(insert(schema.lesson_history).values({**state, **how}))
            yield f"{name}: its present state was added to its history as version {lesson.version}"


def _last_readable(connection: Connection, lesson_id: str) -> Lesson | None:
    wanted = select(_h.body).where(_h.lesson_id == lesson_id).order_by(_h.version.desc())
    for body in connection.execute(wanted).scalars():
        with suppress(StoreError):
            return from_body(Lesson, body, lesson_id)
    return None


def _trajectories(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(schema.trajectories).order_by(_t.seq)).mappings().all():
        with suppress(StoreError):
            stored = from_body(Trajectory, row["body"], row["id"])
            trajectory = stored.model_copy(update={"id": row["id"]})
            right = trajectory_row(trajectory, row["body"] if trajectory == stored else trajectory.model_dump_json())
            wrong = [column for column, value in right.items() if row[column] != value]
            if wrong:
                connection.execute(update(schema.trajectories).where(_t.seq == row["seq"]).values(right))
                yield f"the trajectory {row['id']}: its columns were set to what its body says ({', '.join(wrong)})"


def _vectors(connection: Connection) -> Iterator[str]:
    wrong = func.length(_v.data) != _v.dim * 4
    short = connection.execute(delete(schema.vectors).where(wrong)).rowcount
    if short:
        yield f"{short} vectors of a wrong size were removed; they are made anew when they are needed"
    for owner, table in (("lesson", schema.lessons), ("trajectory", schema.trajectories)):
        lost = _v.id.not_in(select(table.c.id))
        count = connection.execute(delete(schema.vectors).where(_v.owner == owner, lost)).rowcount
        if count:
            yield f"{count} vectors belonged to no {owner} and were removed"


def _replies(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(_j.scope, _j.key, _j.body)).all():
        try:
            from_body(Reply, row.body, row.key)
        except StoreError:
            connection.execute(delete(schema.journal).where(_j.scope == row.scope, _j.key == row.key))
            yield f"the journalled reply {row.key} of {row.scope!r} could not be read and was removed"
