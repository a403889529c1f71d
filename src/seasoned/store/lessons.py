"""Lessons in the store: present states, histories and sources.

Always holds: each change raises a lesson's version by one and adds a row to its history, with who made it and why; a
change based on an outdated version is refused; no query crosses scopes unless its scope is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
    tuple_,
    update,
)

from seasoned.errors import ConflictError, StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database, chunks
from seasoned.store.faults import DuplicateRow
from seasoned.store.filters import fold, short_name
from seasoned.types import Lesson, LessonKind, now

Of = Callable[[Lesson], str]
"""Returns the text of a lesson to compare with. A module-level function: vectors are stored under its name."""

PAGE = 1024
"""Lessons that `pages` reads at once."""

_l = schema.lessons.c
_AFTER = (
    select(_l.id, _l.body, _l.change, _l.seq)
    .where(_l.scope == bindparam("scope"), tuple_(_l.change, _l.seq) > tuple_(bindparam("change"), bindparam("seq")))
    .order_by(_l.change, _l.seq)
    .limit(bindparam("page"))
)
_OF_SCOPE = select(_l.id, _l.body).where(_l.scope == bindparam("of"), _l.change > bindparam("since")).order_by(_l.seq)
_STORED = select(_l.id, _l.body).where(_l.id.in_(bindparam("ids", expanding=True)))
_BEGINS = 60  # characters of the words of a lesson that are in the index for `with_words`
_BEGIN = func.substr(_l.folded, literal_column("1"), literal_column(str(_BEGINS)))
_BEGINNING = select(_l.seq, _l.id, _l.body).where(
    _l.scope == bindparam("of"), _BEGIN.in_(bindparam("begins", expanding=True))
)


def add(db: Database, scope: str, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
    """Add new lessons, all or none; their version is kept as it is.

    Returns:
        The lessons as stored, without characters that no database accepts (see `body`), and with long keys shortened
        (see `short_name`).

    Raises:
        StoreError: when an id is taken.
    """
    if not lessons:
        return []
    scope, at = clean_text(scope), now()
    pairs = [to_body(x.model_copy(update={"key": short_name(x.key)})) for x in lessons]
    try:
        with db._write() as connection:
            change = db._bump(connection, scope)
            rows = [{"scope": scope, "change": change, **lesson_row(lesson, body)} for lesson, body in pairs]
            connection.execute(insert(schema.lessons), rows)
            _put_states(connection, pairs, change, at, who, why)
    except DuplicateRow as error:
        ids = [lesson.id for lesson, _ in pairs]
        taken = next((i for i in ids if ids.count(i) > 1 or get(db, [i])), ids[0])
        raise StoreError(
            f"the lesson {taken} is already in the store; change it with update_lesson, or add it under a new id"
        ) from error
    return [lesson for lesson, _ in pairs]


def get(db: Database, lesson_ids: Sequence[str]) -> list[Lesson]:
    """The present states of these lessons, deleted ones too, in the order of the ids."""
    ids_cleaned = [clean_text(i) for i in lesson_ids]
    stored = {x.id: x for part in chunks(ids_cleaned) for x in read(db, _STORED, {"ids": part})}
    return [stored[i] for i in ids_cleaned if i in stored]


def update_all(db: Database, lessons: Sequence[Lesson], who: str, why: str = "") -> list[Lesson]:
    """Store changed lessons as their next versions, all or none; each is given with the version it was read at.

    Returns:
        The lessons as stored, with version + 1 and a new `updated`.

    Raises:
        ConflictError: when a stored version differs.
        StoreError: when a lesson is not in the store, or is given twice.
    """
    if not lessons:
        return []
    if len({lesson.id for lesson in lessons}) < len(lessons):
        raise StoreError("a lesson is changed twice in one call; give each once, in its last state")
    at = now()
    pairs = [
        to_body(x.model_copy(update={"key": short_name(x.key), "version": x.version + 1, "updated": at}))
        for x in lessons
    ]
    ids = [lesson.id for lesson, _ in pairs]
    with db._write() as connection:
        scopes = _by_id(connection, _l.scope, ids)
        unknown = next((i for i in ids if i not in scopes), None)
        if unknown is not None:
            raise StoreError(f"the lesson {unknown} is not in the store; add it first")
        changes = {scope: db._bump(connection, scope) for scope in sorted(set(scopes.values()))}
        stored = _by_id(connection, _l.version, ids)  # after _bump, which makes other writers wait
        for lesson in lessons:
            if stored[clean_text(lesson.id)] != lesson.version:
                raise _conflict(connection, lesson)
        rows = [{"of": x.id, "change": changes[scopes[x.id]], **lesson_row(x, body)} for x, body in pairs]
        connection.execute(update(schema.lessons).where(_l.id == bindparam("of")), rows)
        for part in chunks(ids):
            sources = schema.lesson_sources
            connection.execute(delete(sources).where(sources.c.lesson_id.in_(part)))
        for scope, change in changes.items():
            in_scope = [pair for pair in pairs if scopes[pair[0].id] == scope]
            _put_states(connection, in_scope, change, at, who, why)
    return [lesson for lesson, _ in pairs]


def lesson_row(lesson: Lesson, body: str) -> dict[str, Any]:
    """The columns of a lesson's row, except scope, change and seq."""
    names = ("id", "kind", "key", "category", "status", "importance", "pinned", "origin", "method", "version")
    row = {name: getattr(lesson, name) for name in (*names, "created", "updated")}
    row["folded"] = folded(lesson)
    row["body"] = body
    return row


def folded(lesson: Lesson) -> str:
    """A lesson's key and text without case, for searches."""
    return fold(f"{short_name(lesson.key)}\n{lesson.text}")


def of_scope(db: Database, scope: str, change: int = -1) -> list[Lesson]:
    """The scope's lessons written after this change (default: all), deleted ones too, in order of insertion."""
    return read(db, _OF_SCOPE, {"of": clean_text(scope), "since": change})


def pages(db: Database, scope: str, change: int) -> Iterator[list[tuple[Lesson, int, int]]]:
    """The lessons written after a change, each with the change that wrote it and its `seq`, in pages."""
    after, full = (change, 2**62), True
    while full:
        values = {"scope": clean_text(scope), "change": after[0], "seq": after[1], "page": PAGE}
        with db._read() as connection:
            rows = connection.execute(_AFTER, values).all()
        if rows:
            yield [(from_body(Lesson, row.body, f"the lesson {row.id}"), row.change, row.seq) for row in rows]
            after = rows[-1].change, rows[-1].seq
        full = len(rows) == PAGE


def with_words(db: Database, scope: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """The lessons of a scope whose keys and texts differ from those of a given lesson in case only, oldest first."""
    words = {folded(lesson) for lesson in lessons}
    found = dict[int, Lesson]()
    with db._read() as connection:
        for part in chunks(sorted({each[:_BEGINS] for each in words})):
            for row in connection.execute(_BEGINNING, {"of": clean_text(scope), "begins": part}):
                found[row.seq] = from_body(Lesson, row.body, f"the lesson {row.id}")
    return [found[seq] for seq in sorted(found) if folded(found[seq]) in words]


def taught(db: Database, scope: str, kind: LessonKind, trajectory_ids: Sequence[str]) -> set[str]:
    """The ids of those of these trajectories that lessons of a kind were learned from."""
    source, found = schema.lesson_sources.c, set[str]()
    pairs = select(source.lesson_id, source.trajectory_id)
    with db._read() as connection:
        for part in chunks(list(map(clean_text, trajectory_ids))):
            sources = connection.execute(pairs.where(source.trajectory_id.in_(part))).all()
            for ids in chunks(list({row.lesson_id for row in sources})):
                wanted = select(_l.id).where(_l.id.in_(ids), _l.scope == clean_text(scope), _l.kind == kind)
                of_kind = set(connection.execute(wanted).scalars())
                found |= {row.trajectory_id for row in sources if row.lesson_id in of_kind}
    return found


def quarantined(db: Database, scope: str) -> list[Lesson]:
    """The quarantined lessons of a scope, in order of insertion; fast among many, see `index_many`."""
    those = _l.scope == clean_text(scope), _l.status == literal_column("'quarantined'")  # as in the index
    return read(db, select(_l.id, _l.body).where(*those).order_by(_l.seq))


def index_many(connection: Connection) -> None:
    """Make the indexes that `with_words` and `quarantined` need among many lessons, if they are missing."""
    begin = f"substr(folded, 1, {_BEGINS})"
    connection.execute(text(f"CREATE INDEX IF NOT EXISTS lessons_by_beginning ON lessons (scope, {begin})"))
    waiting = "lessons (scope, seq) WHERE status = 'quarantined'"
    connection.execute(text(f"CREATE INDEX IF NOT EXISTS lessons_quarantined ON {waiting}"))


def has(db: Database, scope: str, count: int) -> bool:
    """Whether a scope has at least this many lessons, deleted ones included."""
    last = select(_l.seq).where(_l.scope == clean_text(scope)).order_by(_l.seq).offset(count - 1).limit(1)
    with db._read() as connection:
        return connection.execute(last).first() is not None


def read(db: Database, query: Select[tuple[str, str]], values: Mapping[str, Any] | None = None) -> list[Lesson]:
    """The lessons that a query for ids and bodies returns."""
    with db._read() as connection:
        rows = connection.execute(query, values).all()
    return [from_body(Lesson, row.body, f"the lesson {row.id}") for row in rows]


def _by_id(connection: Connection, column: ColumnElement[Any], ids: Sequence[str]) -> dict[str, Any]:
    rows = (row for part in chunks(ids) for row in connection.execute(select(_l.id, column).where(_l.id.in_(part))))
    return {row[0]: row[1] for row in rows}


def _put_states(
    connection: Connection, pairs: Sequence[tuple[Lesson, str]], change: int, at: str, who: str, why: str
) -> None:
    """Store the present states of lessons in their histories, and their sources."""
    shared = {"change": change, "at": at, "who": clean_text(who), "why": clean_text(why)}
    rows = [{"lesson_id": lesson.id, "version": lesson.version, "body": body, **shared} for lesson, body in pairs]
    connection.execute(insert(schema.lesson_history), rows)
    sources = [{"lesson_id": x.id, "trajectory_id": i} for x, _ in pairs for i in dict.fromkeys(x.sources)]
    if sources:
        connection.execute(insert(schema.lesson_sources), sources)


def _conflict(connection: Connection, lesson: Lesson) -> ConflictError:
    h = schema.lesson_history.c
    states = select(h.version, h.who, h.at).where(h.lesson_id == lesson.id)
    last = connection.execute(states.order_by(h.version.desc()).limit(1)).first()
    present = f"version {last.version}, changed by {last.who or 'somebody'} at {last.at}" if last else "gone"
    return ConflictError(
        f"the lesson {lesson.id} was read at version {lesson.version} and is now {present}; "
        "read it again and repeat the change"
    )
