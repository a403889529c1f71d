"""Checks every row of a store, and repairs what can be repaired without guessing.

Always holds: a SQLite file is copied before anything is changed; in a readable body, only the version may change;
repair removes only rows that can be made again (vectors, replies of models) or that point to missing rows; a second
repair finds nothing to do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, delete, func, insert, select, update

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import from_body, from_json
from seasoned.store.database import Database
from seasoned.store.lessons import lesson_row
from seasoned.store.runs import run_of
from seasoned.store.trajectories import trajectory_row
from seasoned.store.upgrade import stored_version
from seasoned.store.vectors import OWNERS
from seasoned.types import Lesson, Reply, Trajectory, now

_l, _h, _t, _v = schema.lessons.c, schema.lesson_history.c, schema.trajectories.c, schema.vectors.c
_SIZE = func.length(_v.data)
_KINDS: dict[Table, type[Lesson] | type[Trajectory] | type[Reply]] = {
    schema.lessons: Lesson,
    schema.lesson_history: Lesson,
    schema.trajectories: Trajectory,
    schema.journal: Reply,
}
_NAMES = {
    schema.lessons: "the lesson {id}",
    schema.lesson_history: "version {version} of the lesson {lesson_id}",
    schema.trajectories: "the trajectory {id}",
    schema.journal: "the journalled reply {key} of {scope!r}",
    schema.marks: "the mark {name!r} of {scope!r}",
}


def problems(db: Database) -> list[str]:
    """Check every row: a sentence for each problem, or an empty list if the store is sound."""
    sentences: list[str] = []
    try:
        with db._snapshot() as connection:
            stored_version(connection, db.where)
            if db._sqlite:
                lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
                sentences += [f"SQLite finds the file damaged: {line}" for line in lines if line != "ok"]
                for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
                    sentences.append(f"row {row} of the table {table} points to a row of {parent} that is gone")
            for table in (schema.runs, schema.trajectories, schema.lessons, schema.lesson_history):
                sentences += _rows(connection, table)
            sentences += _inconsistent(connection)
            for table in (schema.journal, schema.marks):
                sentences += _rows(connection, table)
    except StoreError as error:
        sentences.append(str(error))
    return sentences


def repair(db: Database) -> list[str]:
    """Repair what can be repaired; `Store.check` then reports the rest.

    Returns:
        A sentence for each repair; an empty list, and no copy, if the store is sound.

    Raises:
        StoreError: when the copy cannot be made, or the store cannot be written.
    """
    if not problems(db):
        return []
    done = []
    if db.path:
        done.append(f"before the repair, the store was copied to {_copy(db.path)}")
    with db.transaction(), db._write() as connection:
        if db._sqlite:
            connection.exec_driver_sql("REINDEX")
            done += _drop_unlinked(connection)
        for step in (_mend_lessons, _mend_trajectories, _drop_vectors, _drop_unreadable):
            done += step(connection)
        connection.execute(update(schema.scopes).values(purges=schema.scopes.c.purges + 1))  # resets caches
    return done


def _rows(connection: Connection, table: Table) -> Iterator[str]:
    """The problems of single rows of a table."""
    for row in connection.execute(select(table).order_by(*table.primary_key)).mappings():
        try:
            value = _value(table, row)
        except StoreError as error:
            yield str(error)
            continue
        for column in _wrong_columns(value, row) if table in (schema.lessons, schema.trajectories) else ():
            yield f"{_name(table, row)} has another {column} in its column than in its body; the body counts"


def _value(table: Table, row: RowMapping) -> Any:
    """The value in a row.

    Raises:
        StoreError: when it cannot be read.
    """
    if table is schema.runs:
        return run_of(row)
    if table is schema.marks:
        return from_json(row["value"], _name(table, row))
    return from_body(_KINDS[table], row["body"], _name(table, row))


def _name(table: Table, row: RowMapping) -> str:
    return _NAMES[table].format(**row)


def _wrong_columns(value: Lesson | Trajectory, row: RowMapping) -> list[str]:
    """The columns that differ from the body, except `folded`: case folding differs between versions of Python."""
    expected = lesson_row(value, row["body"]) if isinstance(value, Lesson) else trajectory_row(value, row["body"])
    return [column for column, each in expected.items() if row[column] != each and column != "folded"]


def _inconsistent(connection: Connection) -> Iterator[str]:
    """Problems between rows of several tables."""
    last = func.coalesce(func.max(_h.version), 0)
    newest = select(last).where(_h.lesson_id == _l.id).scalar_subquery()
    for row_id, version, end in connection.execute(select(_l.id, _l.version, newest).where(_l.version != newest)):
        yield f"the lesson {row_id} is at version {version}, and its history ends at {end}"
    e = schema.episodes.c
    alone = select(e.run_id, e.key).outerjoin(schema.trajectories, _t.id == e.trajectory_id).where(_t.id.is_(None))
    for run_id, key in connection.execute(alone.order_by(e.run_id, e.key)):
        yield f"the episode {key} of the run {run_id} has no trajectory; drop it with drop_episodes"
    wrong = select(_v.owner, _v.id, _v.embedder, _v.dim, _SIZE).where(_v.dim * 4 != _SIZE)
    for owner, row_id, embedder, dim, size in connection.execute(wrong):
        yield (
            f"the vector of the {owner} {row_id} by {embedder} should have {dim * 4} bytes, and has {size}; "
            "remove the row, and the vector is computed again"
        )
    for owner, table in OWNERS.items():
        joined = select(_v.id, _v.embedder).outerjoin(table, table.c.id == _v.id)
        for row_id, embedder in connection.execute(joined.where(_v.owner == owner, table.c.id.is_(None))):
            yield f"a vector by {embedder} belongs to the {owner} {row_id}, which is not in the store"


def _copy(path: Path) -> Path:
    target = path.with_name(f"{path.name}.before-repair-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except sqlite3.Error as error:
        with suppress(OSError):
            target.unlink()
        raise StoreError(
            f"the store could not be copied to {target} before the repair: {error}; nothing was changed. "
            f"Free some space there, or save what can be read with `sqlite3 {path.name} .recover`"
        ) from error
    return target


def _drop_unlinked(connection: Connection) -> Iterator[str]:
    """Remove rows that point to missing rows."""
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        if table in schema.metadata.tables:
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE rowid = {int(row)}")
            yield f"a row of the table {table} pointed to a row of {parent} that is gone, and was removed"


def _mend_lessons(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(schema.lessons).order_by(_l.seq)).mappings().all():
        name = _name(schema.lessons, row)
        newest = connection.execute(select(func.max(_h.version)).where(_h.lesson_id == row["id"])).scalar() or 0
        try:
            stored = lesson = from_body(Lesson, row["body"], name)
        except StoreError:
            last = _last_readable(connection, row["id"])
            if last is None:
                continue  # `check` still reports it
            stored, lesson = last, last.model_copy(update={"version": newest + 1})
            yield f"{name} could not be read, so its version {last.version} was restored"
        version = lesson.version if lesson.version >= newest else newest + 1
        lesson = lesson.model_copy(update={"id": row["id"], "version": version})
        body = row["body"] if lesson == stored else lesson.model_dump_json()
        yield from _set_columns(connection, schema.lessons, row, lesson_row(lesson, body))
        if lesson.version != newest:
            state = {"lesson_id": lesson.id, "version": lesson.version, "body": body, "change": row["change"]}
            how = {"at": now(), "who": "rule", "why": "repaired: the history did not hold this state"}
            connection.execute(insert(schema.lesson_history).values({**state, **how}))
            yield f"{name}: its present state was added to its history as version {lesson.version}"


def _last_readable(connection: Connection, lesson_id: str) -> Lesson | None:
    query = select(_h.body).where(_h.lesson_id == lesson_id).order_by(_h.version.desc())
    for body in connection.execute(query).scalars():
        with suppress(StoreError):
            return from_body(Lesson, body, lesson_id)
    return None


def _mend_trajectories(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(schema.trajectories).order_by(_t.seq)).mappings().all():
        with suppress(StoreError):
            stored = from_body(Trajectory, row["body"], row["id"])
            trajectory = stored.model_copy(update={"id": row["id"]})
            body = row["body"] if trajectory == stored else trajectory.model_dump_json()
            yield from _set_columns(connection, schema.trajectories, row, trajectory_row(trajectory, body))


def _set_columns(connection: Connection, table: Table, row: RowMapping, expected: dict[str, Any]) -> Iterator[str]:
    """Set the columns of a row to the values in its body."""
    wrong = [column for column, value in expected.items() if row[column] != value]
    if wrong:
        connection.execute(update(table).where(table.c.seq == row["seq"]).values(expected))
        yield f"{_name(table, row)}: its columns were set to the values in its body ({', '.join(wrong)})"


def _drop_vectors(connection: Connection) -> Iterator[str]:
    short = connection.execute(delete(schema.vectors).where(_v.dim * 4 != _SIZE)).rowcount
    if short:
        yield f"{short} vectors of a wrong size were removed; they are computed again when needed"
    for owner, table in OWNERS.items():
        alone = _v.id.not_in(select(table.c.id))
        count = connection.execute(delete(schema.vectors).where(_v.owner == owner, alone)).rowcount
        if count:
            yield f"{count} vectors belonged to no {owner} and were removed"


def _drop_unreadable(connection: Connection) -> Iterator[str]:
    """Remove unreadable replies and marks, which will be made again."""
    for table in (schema.journal, schema.marks):
        for row in connection.execute(select(table)).mappings().all():
            try:
                _value(table, row)
            except StoreError:
                key = [column == row[column.name] for column in table.primary_key]
                connection.execute(delete(table).where(*key))
                yield f"{_name(table, row)} could not be read and was removed"
