"""Pages of lists, for people who browse: read-only queries that touch only the rows they give.

A page is found by the place (`seq`) where the one before it ended, so the thousandth is as quick as the first. Always
holds: newest first; nothing is written; a query reads at most `limit` bodies.
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
_TASK = func.substr(_t.task, 1, 400).label("task")  # what a list shows of a task
_LINE = (_t.seq, _t.id, _t.scope, _t.run_id, _t.agent, _t.category, _t.success, _t.reason, _t.created, _TASK)
_MOST = 2**63 - 1


@dataclass(frozen=True)
class LessonLine:
    """A lesson in a list: `seq` is its place, for the next page."""

    seq: int
    scope: str
    lesson: Lesson


@dataclass(frozen=True)
class AttemptLine:
    """A trajectory in a list, without its steps; `task` is the beginning of its text."""

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
    """How the attempts ended in which a lesson was shown, and the newest of them."""

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
) -> list[LessonLine]:
    """Lessons, newest first, at most `limit`. None filters nothing, but a `status` of None leaves out deleted ones.

    `query` is words that the key or the text contains, whatever the case; `before` is where the page before ended: the
    `seq` of its last line.
    """
    tests: list[ColumnElement[bool]] = [_l.status != "deleted"] if status is None else [_l.status == status]
    tests += equal((_l.scope, scope), (_l.kind, kind))
    tests += contain(store, _l.folded, _words(fold(query[:1000])))
    page = _page(select(_l.seq), tests, _l.seq, before, limit)
    with store._read() as connection:
        rows = connection.execute(
            select(_l.seq, _l.scope, _l.id, _l.body).where(_l.seq.in_(page)).order_by(_l.seq.desc())
        ).all()
    return [LessonLine(row.seq, row.scope, from_body(Lesson, row.body, f"the lesson {row.id}")) for row in rows]


def lesson_counts(store: Database, scope: str | None = None) -> dict[str, int]:
    """How many lessons a scope, or all, has in each status."""
    wanted = select(_l.status, func.count()).where(*equal((_l.scope, scope))).group_by(_l.status)
    with store._read() as connection:
        return {row[0]: row[1] for row in connection.execute(wanted)}


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

    `success` is "yes", "no" or "unknown", "" for all; the rest is as `lesson_page` has it.
    """
    tests = equal((_t.scope, scope), (_t.run_id, run_id))
    if success:
        tests.append(_t.success.is_(None) if success == "unknown" else _t.success == (success == "yes"))
    task, folded = (func.casefold(_t.task), str.casefold) if store._sqlite else (func.lower(_t.task), str.lower)
    tests += contain(store, task, _words(folded(clean_text(query[:1000]))))
    page = _page(select(_t.seq), tests, _t.seq, before, limit)
    return _lines(store, select(*_LINE).where(_t.seq.in_(page)).order_by(_t.seq.desc()))


def attempt_lines(store: Database, ids: Sequence[str]) -> dict[str, AttemptLine]:
    """The trajectories with these ids that the store has, by id, in the order of the ids."""
    wanted = [clean_text(one) for one in ids]
    found = {line.id: line for part in chunks(wanted) for line in _lines(store, select(*_LINE).where(_t.id.in_(part)))}
    return {one: found[one] for one in wanted if one in found}


def uses(store: Database, lesson_id: str, limit: int = 20) -> Uses:
    """In how many attempts a lesson was shown, how they ended, and the newest of them."""
    shown = schema.trajectories.join(schema.lesson_uses, _u.trajectory_id == _t.id)
    mine = _u.lesson_id == clean_text(lesson_id)
    with store._read() as connection:
        counted = select(_t.success, func.count()).select_from(shown).where(mine).group_by(_t.success)
        ended: dict[bool | None, int] = {row[0]: row[1] for row in connection.execute(counted)}
    newest = select(*_LINE).select_from(shown).where(mine).order_by(_t.seq.desc()).limit(limit)
    return Uses(ended.get(True, 0), ended.get(False, 0), ended.get(None, 0), tuple(_lines(store, newest)))


def lessons_of(store: Database, trajectory_id: str, limit: int = 50) -> list[Lesson]:
    """The lessons that came from a trajectory, oldest first."""
    sources = schema.lesson_sources.c
    made = (
        select(_l.id, _l.body)
        .join(schema.lesson_sources, sources.lesson_id == _l.id)
        .where(sources.trajectory_id == clean_text(trajectory_id))
        .order_by(_l.seq)
        .limit(limit)
    )
    with store._read() as connection:
        return [from_body(Lesson, row.body, f"the lesson {row.id}") for row in connection.execute(made)]


def lessons_named(store: Database, ids: Sequence[str]) -> list[Lesson]:
    """The lessons with these ids that the store has, in the order of the ids."""
    return lesson_table.get(store, ids)


def changed_since(store: Database, scope: str, change: int, limit: int) -> list[tuple[Lesson | None, Lesson]]:
    """Lessons of a scope that were written after a count of its changes, each as it was then (None: not there) and now.

    Reads only those; what was deleted for good meanwhile is not among them.
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
    """The pools of lessons that belong to a run: those whose names begin with its id and a slash."""
    start = clean_text(run_id) + "/"
    pools = schema.scopes.c.scope
    wanted = (
        select(pools)
        .where(pools.startswith(start, autoescape=True), select(_l.seq).where(_l.scope == pools).exists())
        .order_by(pools)
    )
    with store._read() as connection:
        return list(connection.execute(wanted).scalars())


def _words(text: str) -> list[str]:
    """The words to look for, the longest first: it is the rarest, and the others are then asked of few rows."""
    return sorted(text.split(), key=len, reverse=True)


def _page(
    wanted: Select[Any], tests: list[ColumnElement[bool]], seq: ColumnElement[int], before: int | None, limit: int
) -> Select[Any]:
    if before is not None:
        tests = [*tests, seq < min(before, _MOST)]
    return wanted.where(*tests).order_by(seq.desc()).limit(limit)


def _lines(store: Database, wanted: Select[Any]) -> list[AttemptLine]:
    with store._read() as connection:
        rows: Sequence[Row[Any]] = connection.execute(wanted).all()
    return [AttemptLine(**row._mapping) for row in rows]
