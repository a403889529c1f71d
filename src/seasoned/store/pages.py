"""Pages of lists for browsing, by queries that read only the rows they return.

A page starts at the `seq` where the previous one ended, so that the thousandth is as fast as the first. Always holds:
newest first; nothing is written; a query reads at most `limit` bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, func, select

from seasoned.store import lessons as lesson_table
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body
from seasoned.store.database import Database, chunks
from seasoned.store.filters import contain, equal, fold
from seasoned.types import Lesson

_l, _t, _u = schema.lessons.c, schema.trajectories.c, schema.lesson_uses.c
_TASK = func.substr(_t.task, 1, 400).label("task")  # a list shows the beginning
_LINE = (_t.seq, _t.id, _t.scope, _t.run_id, _t.agent, _t.category, _t.success, _t.reason, _t.created, _TASK)
_MAX_INT = 2**63 - 1


@dataclass(frozen=True)
class LessonLine:
    """A lesson in a list: `seq` is its place, for the next page; `note` shows the value that sorts the list."""

    seq: int
    scope: str
    lesson: Lesson
    note: str = ""


@dataclass(frozen=True)
class AttemptLine:
    """A trajectory in a list, without its steps; `task` is the beginning of the task's text."""

    seq: int
    id: str
    scope: str
    run_id: str
    agent: str
    category: str
    success: bool | None
    reason: str
    created: str
    task: str


@dataclass(frozen=True)
class Uses:
    """The outcomes of the attempts that were shown a lesson, and the newest of these attempts."""

    right: int
    wrong: int
    unknown: int
    newest: tuple[AttemptLine, ...]


def lesson_page(
    store: Database,
    *,
    scope: str | None = None,
    kind: str | None = None,
    status: str | None = None,
    query: str = "",
    before: int | None = None,
    limit: int = 50,
    by_use: bool = False,
) -> list[LessonLine]:
    """Lessons, newest first, at most `limit`. None filters nothing, but a `status` of None leaves out deleted ones.

    The key or text contains all words of `query`, in any case. `before` is the `seq` of the previous page's last line.
    `by_use` sorts by the number of attempts that were shown a lesson, most first; `before` is then the number of lines
    on the previous pages.
    """
    tests: list[ColumnElement[bool]] = [_l.status != "deleted"] if status is None else [_l.status == status]
    tests += equal((_l.scope, scope), (_l.kind, kind))
    tests += contain(store, _l.folded, _words(fold(query[:1000])))
    columns = (_l.seq, _l.scope, _l.id, _l.body)
    if by_use:
        uses = select(_u.lesson_id, func.count().label("uses")).group_by(_u.lesson_id).subquery()
        count = func.coalesce(uses.c.uses, 0)
        selected: Select[Any] = select(*columns, count.label("uses")).outerjoin(uses, uses.c.lesson_id == _l.id)
        selected = selected.where(*tests).order_by(count.desc(), _l.seq.desc())
        selected = selected.limit(limit).offset(min(before or 0, _MAX_INT))
    else:
        page = _page(select(_l.seq), tests, _l.seq, before, limit)
        selected = select(*columns).where(_l.seq.in_(page)).order_by(_l.seq.desc())
    with store._read() as connection:
        rows = connection.execute(selected).all()
    return [
        LessonLine(
            row.seq,
            row.scope,
            from_body(Lesson, row.body, f"the lesson {row.id}"),
            {0: "never used", 1: "used once"}.get(row.uses, f"used {row.uses:,} times") if by_use else "",
        )
        for row in rows
    ]


def lesson_counts(store: Database, scope: str | None = None) -> dict[str, int]:
    """The number of lessons with each status, in one scope or all."""
    query = select(_l.status, func.count()).where(*equal((_l.scope, scope))).group_by(_l.status)
    with store._read() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def attempt_page(
    store: Database,
    *,
    scope: str | None = None,
    run_id: str | None = None,
    success: str = "",
    query: str = "",
    before: int | None = None,
    limit: int = 50,
) -> list[AttemptLine]:
    """Trajectories, newest first.

    `success` is "yes", "no", "unknown", or "" for all; the other arguments are those of `lesson_page`.
    """
    tests = equal((_t.scope, scope), (_t.run_id, run_id))
    if success:
        tests.append(_t.success.is_(None) if success == "unknown" else _t.success == (success == "yes"))
    task, folded = (func.casefold(_t.task), str.casefold) if store._sqlite else (func.lower(_t.task), str.lower)
    tests += contain(store, task, _words(folded(clean_text(query[:1000]))))
    page = _page(select(_t.seq), tests, _t.seq, before, limit)
    return _lines(store, select(*_LINE).where(_t.seq.in_(page)).order_by(_t.seq.desc()))


def attempt_lines(store: Database, ids: Sequence[str]) -> dict[str, AttemptLine]:
    """The existing trajectories with these ids, by id, in the order of the ids."""
    names = [clean_text(one) for one in ids]
    lines = {line.id: line for part in chunks(names) for line in _lines(store, select(*_LINE).where(_t.id.in_(part)))}
    return {one: lines[one] for one in names if one in lines}


def uses(store: Database, lesson_id: str, limit: int = 20) -> Uses:
    """How many attempts with each outcome were shown a lesson, and the newest of them."""
    shown = schema.trajectories.join(schema.lesson_uses, _u.trajectory_id == _t.id)
    used = _u.lesson_id == clean_text(lesson_id)
    with store._read() as connection:
        counts = select(_t.success, func.count()).select_from(shown).where(used).group_by(_t.success)
        outcomes: dict[bool | None, int] = {row[0]: row[1] for row in connection.execute(counts)}
    newest = select(*_LINE).select_from(shown).where(used).order_by(_t.seq.desc()).limit(limit)
    return Uses(outcomes.get(True, 0), outcomes.get(False, 0), outcomes.get(None, 0), tuple(_lines(store, newest)))


def lessons_of(store: Database, trajectory_id: str, limit: int = 50) -> list[Lesson]:
    """The lessons learned from a trajectory, oldest first."""
    sources = schema.lesson_sources.c
    query = (
        select(_l.id, _l.body)
        .join(schema.lesson_sources, sources.lesson_id == _l.id)
        .where(sources.trajectory_id == clean_text(trajectory_id))
        .order_by(_l.seq)
        .limit(limit)
    )
    return lesson_table.read(store, query)


def changed_since(store: Database, scope: str, change: int, limit: int) -> list[tuple[Lesson | None, Lesson]]:
    """Pairs (before, now) of a scope's lessons written after a change; `before` is None for new lessons.

    Reads no other lessons; permanently deleted ones are missing.
    """
    h = schema.lesson_history.c
    written = select(_l.id, _l.body).where(_l.scope == clean_text(scope), _l.change > change)
    earlier: dict[str, Lesson] = {}
    with store._read() as connection:
        now = {row.id: row.body for row in connection.execute(written.order_by(_l.seq).limit(limit))}
        for part in chunks(list(now)):
            states = select(h.lesson_id, h.body).where(h.lesson_id.in_(part), h.change <= change).order_by(h.version)
            for row in connection.execute(states):
                earlier[row.lesson_id] = from_body(Lesson, row.body, f"the history of the lesson {row.lesson_id}")
    return [(earlier.get(i), from_body(Lesson, body, f"the lesson {i}")) for i, body in now.items()]


def run_scopes(store: Database, run_id: str) -> list[str]:
    """The scopes with lessons of a run: their names begin with its id and a slash."""
    start = clean_text(run_id) + "/"
    scope = schema.scopes.c.scope
    query = (
        select(scope)
        .where(scope.startswith(start, autoescape=True), select(_l.seq).where(_l.scope == scope).exists())
        .order_by(scope)
    )
    with store._read() as connection:
        return list(connection.execute(query).scalars())


def _words(text: str) -> list[str]:
    """The words of a query, longest first: long words are rare, so few rows are checked for the others."""
    return sorted(text.split(), key=len, reverse=True)


def _page(
    query: Select[Any], tests: list[ColumnElement[bool]], seq: ColumnElement[int], before: int | None, limit: int
) -> Select[Any]:
    if before is not None:
        tests = [*tests, seq < min(before, _MAX_INT)]
    return query.where(*tests).order_by(seq.desc()).limit(limit)


def _lines(store: Database, query: Select[Any]) -> list[AttemptLine]:
    with store._read() as connection:
        rows: Sequence[Row[Any]] = connection.execute(query).all()
    return [AttemptLine(**row._mapping) for row in rows]
