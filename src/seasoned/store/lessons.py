"""Lessons in the store: their present state, every earlier one, where they came from and where they were shown.

Always holds: a lesson's version rises by one with every change, and each version has a row in the history with who made
it and why; a change of a lesson that somebody else has changed meanwhile is refused; no query crosses scopes unless its
scope is None.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from seasoned.errors import ConflictError, StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database, chunks
from seasoned.store.faults import DuplicateRow
from seasoned.types import Lesson, LessonKind, LessonStatus, now

MAX_NAME = 2000
"""Bytes of a lesson's key and of a task's id that are kept: no index of Postgres takes more than 2,700 in all."""

_t = schema.lessons.c
_INSERT = insert(schema.lessons)
_UPDATE = update(schema.lessons).where(_t.id == bindparam("of"))
_CHANGES = select(schema.scopes.c.change, schema.scopes.c.purges).where(schema.scopes.c.scope == bindparam("of"))
_INSERT_HISTORY = insert(schema.lesson_history)
_INSERT_SOURCES = insert(schema.lesson_sources)


class Lessons(Database):
    """The part of `Store` that keeps lessons."""

    def add_lessons(self, scope: str, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Add new lessons, all or none.

        Args:
            scope: the pool they belong to.
            lessons: with ids that the store does not have; their version is kept as it is.
            who: "model", "person" or "rule".
            why: one line for the history.

        Returns:
            The lessons as stored: the same, but for characters that no database takes (see `store.body`), and for keys
            longer than `MAX_NAME` (see `short_name`).

        Raises:
            StoreError: when an id is taken.
        """
        if not lessons:
            return []
        scope, who, why, at = clean_text(scope), clean_text(who), clean_text(why), now()
        pairs = [to_body(_named(lesson)) for lesson in lessons]
        try:
            with self._write() as connection:
                change = self._bump(connection, scope)
                connection.execute(
                    _INSERT, [{"scope": scope, "change": change, **lesson_row(lesson, body)} for lesson, body in pairs]
                )
                _put_history(connection, pairs, change, at, who, why)
                _put_sources(connection, [lesson for lesson, _ in pairs])
        except DuplicateRow as error:
            ids = [lesson.id for lesson, _ in pairs]
            taken = next((i for i in ids if ids.count(i) > 1 or self.scope_of(i) is not None), ids[0])
            raise StoreError(
                f"the lesson {taken} is already in the store; change it with update_lesson, or add it under a new id"
            ) from error
        return [lesson for lesson, _ in pairs]

    def get_lesson(self, lesson_id: str) -> Lesson | None:
        """The lesson in its present state, deleted ones too; None when there is none."""
        with self._read() as connection:
            body = connection.execute(select(_t.body).where(_t.id == clean_text(lesson_id))).scalar()
        return None if body is None else from_body(Lesson, body, f"the lesson {lesson_id}")

    def scope_of(self, lesson_id: str) -> str | None:
        """The scope a lesson belongs to; None when there is no such lesson."""
        with self._read() as connection:
            return connection.execute(select(_t.scope).where(_t.id == clean_text(lesson_id))).scalar()

    def lessons(
        self,
        scope: str | None = None,
        *,
        kind: LessonKind | None = None,
        status: LessonStatus | None = None,
        key: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Lesson]:
        """Lessons in order of insertion.

        Args:
            scope: one pool, or None for all.
            kind: only this kind.
            status: only this status; None gives deleted ones too.
            key: only those with exactly this key.
            query: only those whose key or text contains this, whatever the case; no character is a wildcard.
            limit: at most so many; None for all.
            offset: how many to pass over first.

        Raises:
            StoreError: when limit or offset is negative.
        """
        check_page(limit, offset)
        tests: list[ColumnElement[bool]] = []
        key = None if key is None else short_name(key)
        for column, value in ((_t.scope, scope), (_t.kind, kind), (_t.status, status), (_t.key, key)):
            if value is not None:
                tests.append(column == clean_text(value))
        if query:
            # LIKE folds only ASCII in SQLite and limits the pattern's length, so both sides are folded in Python.
            place = func.instr if self._sqlite else func.strpos
            tests.append(place(_t.folded, fold(query)) > 0)
        wanted = select(_t.id, _t.body).order_by(_t.seq)
        if limit is None and not offset:
            wanted = wanted.where(*tests)
        else:  # the page is cut in an index alone, so that passed-over rows are never read
            page = select(_t.seq).where(*tests).order_by(_t.seq).limit(limit).offset(offset)
            wanted = wanted.where(_t.seq.in_(page))
        with self._read() as connection:
            rows = connection.execute(wanted).all()
        return [from_body(Lesson, body, f"the lesson {lesson_id}") for lesson_id, body in rows]

    def update_lesson(self, lesson: Lesson, *, who: str, why: str = "") -> Lesson:
        """Store a changed lesson under the next version.

        Args:
            lesson: the new state, with the version it was read at.
            who: "model", "person" or "rule".
            why: one line for the history.

        Returns:
            The lesson as stored: version + 1, `updated` now.

        Raises:
            ConflictError: when the stored version is another one.
            StoreError: when there is no such lesson.
        """
        return self.update_lessons([lesson], who=who, why=why)[0]

    def update_lessons(self, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Store changed lessons under their next versions, all or none; otherwise as `update_lesson`.

        Raises:
            ConflictError: when the stored version of one is another.
            StoreError: when there is no such lesson, or it is given twice.
        """
        if not lessons:
            return []
        if len({lesson.id for lesson in lessons}) < len(lessons):
            raise StoreError("a lesson was to be changed twice in one call; give each once, in its last state")
        at = now()
        pairs = [to_body(_named(x).model_copy(update={"version": x.version + 1, "updated": at})) for x in lessons]
        ids = [lesson.id for lesson, _ in pairs]
        with self._write() as connection:
            homes = self._by_id(connection, _t.scope, ids)
            lost = next((i for i in ids if i not in homes), None)
            if lost is not None:
                raise StoreError(f"the lesson {lost} is not in the store; add it first")
            changes = {scope: self._bump(connection, scope) for scope in sorted(set(homes.values()))}
            stored = self._by_id(connection, _t.version, ids)  # after the bump, which keeps other writers out
            for lesson in lessons:
                if stored[clean_text(lesson.id)] != lesson.version:
                    raise _conflict(connection, lesson)
            rows = [{"of": x.id, "change": changes[homes[x.id]], **lesson_row(x, body)} for x, body in pairs]
            connection.execute(_UPDATE, rows)
            for scope, change in changes.items():
                its = [pair for pair in pairs if homes[pair[0].id] == scope]
                _put_history(connection, its, change, at, clean_text(who), clean_text(why))
            sources = schema.lesson_sources
            for part in chunks(ids):
                connection.execute(delete(sources).where(sources.c.lesson_id.in_(part)))
            _put_sources(connection, [lesson for lesson, _ in pairs])
        return [lesson for lesson, _ in pairs]

    def _by_id(self, connection: Connection, column: ColumnElement[Any], ids: Sequence[str]) -> dict[str, Any]:
        rows = (row for part in chunks(ids) for row in connection.execute(select(_t.id, column).where(_t.id.in_(part))))
        return {row[0]: row[1] for row in rows}

    def lesson_uses(self, lesson_id: str) -> list[tuple[str, bool | None]]:
        """The trajectories in which a lesson was shown, oldest first, each with its success (None: unknown)."""
        uses, trajectories = schema.lesson_uses.c, schema.trajectories.c
        with self._read() as connection:
            rows = connection.execute(
                select(trajectories.id, trajectories.success)
                .join(schema.lesson_uses, uses.trajectory_id == trajectories.id)
                .where(uses.lesson_id == clean_text(lesson_id))
                .order_by(trajectories.seq)
            ).all()
        return [(row.id, row.success) for row in rows]

    def changes(self, scope: str) -> tuple[int, int]:
        """Two counters of a scope for whoever caches it: changes of any kind, and removals for good. Both only rise."""
        with self._read() as connection:
            row = connection.execute(_CHANGES, {"of": clean_text(scope)}).first()
        return (0, 0) if row is None else (row.change, row.purges)

    def lessons_since(self, scope: str, change: int) -> list[Lesson]:
        """The lessons that a later change than this one wrote, in order of insertion; 0 gives all of the scope."""
        with self._read() as connection:
            rows = connection.execute(
                select(_t.id, _t.body).where(_t.scope == clean_text(scope), _t.change > change).order_by(_t.seq)
            ).all()
        return [from_body(Lesson, body, f"the lesson {lesson_id}") for lesson_id, body in rows]

    def _check_lessons(self, connection: Connection) -> Iterator[str]:
        last = func.coalesce(func.max(schema.lesson_history.c.version), 0)
        newest = select(last).where(schema.lesson_history.c.lesson_id == _t.id).scalar_subquery()
        columns = (_t.id, _t.kind, _t.key, _t.category, _t.status, _t.version, _t.pinned, _t.body)
        for row in connection.execute(select(*columns, newest.label("newest")).order_by(_t.seq)):
            try:
                lesson = from_body(Lesson, row.body, f"the lesson {row.id}")
            except StoreError as error:
                yield str(error)
                continue
            for name in ("id", "kind", "key", "category", "status", "version", "pinned"):
                if getattr(lesson, name) != getattr(row, name):
                    yield f"the lesson {row.id} has another {name} in its column than in its body; the body counts"
            if row.newest != lesson.version:
                yield f"the lesson {row.id} is at version {lesson.version}, and its history ends at {row.newest}"


def fold(text: str) -> str:
    """The text as a search sees it: without case."""
    return clean_text(text).casefold()


def short_name(text: str) -> str:
    """A key or a task's id as it is kept: of a longer one than `MAX_NAME` bytes the beginning, and a digest of it."""
    if len(text) <= MAX_NAME // 4 or len(raw := clean_text(text).encode()) <= MAX_NAME:
        return text
    return f"{raw[: MAX_NAME - 20].decode(errors='ignore')}~{hashlib.sha256(raw).hexdigest()[:16]}"


def check_page(limit: int | None, offset: int) -> None:
    """Refuse a page that cannot be.

    Raises:
        StoreError: when limit or offset is negative or beyond what a database counts to.
    """
    for name, value in (("limit", limit or 0), ("offset", offset)):
        if not 0 <= value < 2**63:
            raise StoreError(f"{name} should be 0 or more, and is {value}")


def lesson_row(lesson: Lesson, body: str) -> dict[str, Any]:
    """The columns that a lesson has but for its place: scope, change and seq."""
    names = ("id", "kind", "key", "category", "status", "importance", "pinned", "origin", "method", "version")
    row = {name: getattr(lesson, name) for name in (*names, "created", "updated")}
    row["folded"] = f"{lesson.key}\n{lesson.text}".casefold()
    row["body"] = body
    return row


def _named(lesson: Lesson) -> Lesson:
    key = short_name(lesson.key)
    return lesson if key == lesson.key else lesson.model_copy(update={"key": key})


def _put_history(
    connection: Connection, pairs: Sequence[tuple[Lesson, str]], change: int, at: str, who: str, why: str
) -> None:
    same = {"change": change, "at": at, "who": who, "why": why}
    rows = [{"lesson_id": lesson.id, "version": lesson.version, "body": body, **same} for lesson, body in pairs]
    connection.execute(_INSERT_HISTORY, rows)


def _put_sources(connection: Connection, lessons: Sequence[Lesson]) -> None:
    rows = [
        {"lesson_id": lesson.id, "trajectory_id": source}
        for lesson in lessons
        for source in dict.fromkeys(lesson.sources)
    ]
    if rows:
        connection.execute(_INSERT_SOURCES, rows)


def _conflict(connection: Connection, lesson: Lesson) -> ConflictError:
    table = schema.lesson_history.c
    last = connection.execute(
        select(table.version, table.who, table.at)
        .where(table.lesson_id == lesson.id)
        .order_by(table.version.desc())
        .limit(1)
    ).first()
    found = f"version {last.version}, changed by {last.who or 'somebody'} at {last.at}" if last else "gone"
    return ConflictError(
        f"the lesson {lesson.id} was read at version {lesson.version} and is now {found}; "
        "read it again and repeat the change"
    )
