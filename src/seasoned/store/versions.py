"""Versions of lessons: histories, snapshots of a scope, differences between two states, and rollback.

A snapshot names a count of the scope's changes, and copies no lesson. Always holds: a rollback writes new versions and
removes none; no snapshot has permanently deleted lessons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select

from seasoned.errors import StoreError
from seasoned.store import lessons as lesson_table
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body
from seasoned.store.database import Database
from seasoned.store.faults import DuplicateRow
from seasoned.types import Lesson, now

NOW = "now"
"""The name of the present state."""

_MAX_SNAPSHOT_NAME = 200
_l, _h, _s = schema.lessons.c, schema.lesson_history.c, schema.snapshots.c


@dataclass(frozen=True)
class Change:
    """One entry of a lesson's history: `at` is UTC in ISO 8601, `lesson` is the lesson after this change."""

    version: int
    at: str
    who: str
    why: str
    lesson: Lesson


@dataclass(frozen=True)
class Snapshot:
    """A name for a state of a scope's lessons; `change` counts the scope's changes up to it."""

    scope: str
    name: str
    change: int
    at: str
    who: str
    why: str


@dataclass(frozen=True)
class Difference:
    """The difference between two states of a scope: lessons added, lessons removed, and pairs of (before, after)."""

    added: tuple[Lesson, ...] = ()
    removed: tuple[Lesson, ...] = ()
    changed: tuple[tuple[Lesson, Lesson], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def history(db: Database, lesson_id: str) -> list[Change]:
    """Every state of a lesson, oldest first."""
    query = select(_h.version, _h.at, _h.who, _h.why, _h.body).where(_h.lesson_id == clean_text(lesson_id))
    with db._read() as connection:
        rows = connection.execute(query.order_by(_h.version)).all()
    name = f"the history of the lesson {lesson_id}"
    return [Change(row.version, row.at, row.who, row.why, from_body(Lesson, row.body, name)) for row in rows]


def add_snapshot(db: Database, scope: str, name: str, who: str, why: str) -> Snapshot:
    """Name the present state of a scope."""
    scope, name = clean_text(scope), clean_text(name).strip()
    if not name or len(name) > _MAX_SNAPSHOT_NAME or name == NOW or _time(name):
        raise StoreError(f"a snapshot's name should be a few words, not {NOW!r} or a time; it was {name[:50]!r}")
    try:
        with db._write() as connection:
            snapshot = Snapshot(scope, name, db._bump(connection, scope), now(), clean_text(who), clean_text(why))
            connection.execute(insert(schema.snapshots), vars(snapshot))
    except DuplicateRow as error:
        raise StoreError(f"{scope!r} has a snapshot {name!r} already; use another name") from error
    return snapshot


def lessons_at(db: Database, scope: str, when: str) -> list[Lesson]:
    """The lessons of a scope at a time, in order of insertion."""
    scope, when = clean_text(scope), clean_text(when).strip()
    if when == NOW:
        return [lesson for lesson in lesson_table.of_scope(db, scope) if lesson.status != "deleted"]
    with db._snapshot() as connection:
        snapshot_change = _snapshot_change(connection, scope, when)
        past = (
            select(_l.seq, _h.lesson_id, _h.body)
            .join(schema.lessons, _l.id == _h.lesson_id)
            .where(_l.scope == scope, _h.version == _last_version(connection, scope, when))
        )
        rows: list[Any] = []
        if snapshot_change is not None:
            # For lessons unchanged since the snapshot, the present state serves.
            past = past.where(_l.change > snapshot_change)
            unchanged = select(_l.seq, _l.id.label("lesson_id"), _l.body)
            unchanged = unchanged.where(_l.scope == scope, _l.change <= snapshot_change)
            rows += connection.execute(unchanged).all()
        rows += connection.execute(past).all()
    rows.sort(key=lambda row: row.seq)
    lessons = [from_body(Lesson, row.body, f"the history of the lesson {row.lesson_id}") for row in rows]
    return [lesson for lesson in lessons if lesson.status != "deleted"]


def rollback(db: Database, scope: str, when: str, who: str, why: str) -> Difference:
    """Restore the lessons of a scope at a time."""
    with db.transaction():
        target = {lesson.id: lesson for lesson in lessons_at(db, scope, when)}
        before = lesson_table.of_scope(db, scope)
        restored = []
        for lesson in before:
            old = target.get(lesson.id, lesson.model_copy(update={"status": "deleted"}))
            if _content(old) != _content(lesson):
                restored.append(old.model_copy(update={"version": lesson.version}))
        lesson_table.update_all(db, restored, who, why or f"rolled back to {when}")
        return difference([x for x in before if x.status != "deleted"], lessons_at(db, scope, NOW))


def _snapshot_change(connection: Connection, scope: str, name: str) -> int | None:
    """The last change in a snapshot; None if the name is unknown."""
    return connection.execute(select(_s.change).where(_s.scope == scope, _s.name == name)).scalar()


def _last_version(connection: Connection, scope: str, when: str) -> ColumnElement[int]:
    """A subquery for the last version of each lesson up to a snapshot or time."""
    snapshot_change = _snapshot_change(connection, scope, when)
    earlier = schema.lesson_history.alias().c
    time = _time(when)
    if snapshot_change is None and time is None:
        names = ", ".join(connection.execute(select(_s.name).where(_s.scope == scope).order_by(_s.at)).scalars())
        raise StoreError(
            f"{when[:80]!r} is neither a snapshot of {scope!r} (there are: {names or 'none'}) nor a time such as "
            f"2026-05-31T12:00, nor {NOW!r}"
        )
    until = earlier.change <= snapshot_change if snapshot_change is not None else earlier.at <= time
    last = select(func.max(earlier.version)).where(earlier.lesson_id == _l.id, until)
    return last.correlate(schema.lessons).scalar_subquery()


def difference(before: Sequence[Lesson], after: Sequence[Lesson]) -> Difference:
    """The difference between two lists of lessons, without regard to versions and times of changes."""
    old, new = ({lesson.id: lesson for lesson in lessons} for lessons in (before, after))
    return Difference(
        added=tuple(lesson for lesson in after if lesson.id not in old),
        removed=tuple(lesson for lesson in before if lesson.id not in new),
        changed=tuple(
            (lesson, new[lesson.id])
            for lesson in before
            if lesson.id in new and _content(lesson) != _content(new[lesson.id])
        ),
    )


def _content(lesson: Lesson) -> Lesson:
    return lesson.model_copy(update={"version": 0, "updated": ""})


def _time(text: str) -> str | None:
    """A time in the history's format; None if the text is not a time."""
    try:
        read = datetime.fromisoformat(text)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return None
