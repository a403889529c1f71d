"""The store: everything Seasoned remembers, in one SQLite file or one Postgres database.

`Store` has what several packages use: short queries, and functions of the modules beside it as methods. A query that
one package needs is only a function there. `schema.py` describes the tables.

Always holds: the writes of a returned call survive the end of the process, however it ends; many threads and processes
may use one store at once; every error is a `StoreError` that says what to do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, delete, func, or_, select, update

from seasoned.store import check as check_table
from seasoned.store import forget, learned, schema, waiting
from seasoned.store import journal as journal_table
from seasoned.store import lessons as lesson_table
from seasoned.store import runs as run_table
from seasoned.store import trajectories as trajectory_table
from seasoned.store import vectors as vector_table
from seasoned.store import versions as version_table
from seasoned.store.body import clean_text, from_body
from seasoned.store.database import Database
from seasoned.store.filters import check_page, contain, equal, fold, short_name
from seasoned.store.nearby import open_nearby
from seasoned.store.runs import RunRow
from seasoned.store.trajectories import TaskText
from seasoned.store.versions import Change, Difference, Snapshot
from seasoned.types import Lesson, LessonKind, LessonStatus, Reply, Trajectory, Usage

__all__ = ["Change", "Difference", "RunRow", "Snapshot", "Store", "TaskText"]

_t, _l, _u = schema.trajectories.c, schema.lessons.c, schema.lesson_uses.c
_s, _e, _j, _m = schema.snapshots.c, schema.leases.c, schema.journal.c, schema.marks.c
_COUNT = select(func.count()).where(_t.scope.in_(bindparam("scopes", expanding=True)))
_COUNT_AT_TASK = _COUNT.where(_t.task_id == bindparam("task"))
_CHANGES = select(schema.scopes.c.change, schema.scopes.c.purges).where(schema.scopes.c.scope == bindparam("of"))


class Store(Database):
    """A store, open until `close()` or the end of a `with` block. Safe in threads; each process opens its own.

    `transaction()` groups several writes. In the methods, `scope` is a text that separates pools, `who` is "model",
    "person" or "rule", and `why` is one line for a lesson's history. Unknown ids are skipped unless stated otherwise.
    """

    def __init__(self, path_or_url: str | Path, *, timeout: float = 10.0) -> None:
        super().__init__(path_or_url, timeout=timeout)
        self._journal = journal_table.JournalQueue()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def scopes(self) -> list[str]:
        """The scopes that hold a lesson or a trajectory, sorted."""
        scope = schema.scopes.c.scope
        used = (select(t.c.scope).where(t.c.scope == scope).exists() for t in (schema.lessons, schema.trajectories))
        with self._read() as connection:
            return list(connection.execute(select(scope).where(or_(*used)).order_by(scope)).scalars())

    def changes(self, scope: str) -> tuple[int, int]:
        """Two counters of a scope for caches, of all changes and of permanent deletions; both only rise."""
        with self._read() as connection:
            row = connection.execute(_CHANGES, {"of": clean_text(scope)}).first()
        return (0, 0) if row is None else (row.change, row.purges)

    check = check_table.problems

    # Trajectories and episodes

    add_trajectories = trajectory_table.add
    revise_trajectory = trajectory_table.revise

    def get_trajectory(self, trajectory_id: str) -> Trajectory | None:
        """The trajectory, or None."""
        return next(iter(self.get_trajectories([trajectory_id])), None)

    get_trajectories = trajectory_table.get
    find_trajectories = trajectory_table.find

    def trajectories(
        self,
        scope: str | None = None,
        *,
        run_id: str | None = None,
        task_id: str | None = None,
        success: bool | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Trajectory]:
        """Trajectories in order of insertion: at most `limit`, after the first `offset`. None filters nothing.

        Raises:
            StoreError: when limit or offset is negative.
        """
        check_page(limit, offset)
        task = None if task_id is None else short_name(task_id)
        tests = equal((_t.scope, scope), (_t.run_id, run_id), (_t.task_id, task), (_t.success, success))
        page = select(_t.seq).where(*tests).order_by(_t.seq).limit(limit).offset(offset)
        return trajectory_table.read(self, select(_t.id, _t.body).where(_t.seq.in_(page)).order_by(_t.seq))

    def task_texts(self, scope: str, after: int = 0) -> list[TaskText]:
        """The searchable fields of the scope's trajectories after this `seq`, in order of insertion."""
        query = select(_t.seq, _t.id, _t.task, _t.success).where(_t.scope == clean_text(scope), _t.seq > after)
        with self._read() as connection:
            return [TaskText(**row._mapping) for row in connection.execute(query.order_by(_t.seq))]

    def count_trajectories(self, scopes: Sequence[str], task_id: str | None = None) -> int:
        """The number of attempts in these scopes, at all tasks or one."""
        values: dict[str, Any] = {"scopes": [clean_text(scope) for scope in scopes]}
        if task_id is not None:
            values["task"] = clean_text(short_name(task_id))
        with self._read() as connection:
            return int(connection.execute(_COUNT if task_id is None else _COUNT_AT_TASK, values).scalar_one())

    save_episode = trajectory_table.save_episode
    episodes = trajectory_table.episodes

    def drop_episodes(self, run_id: str, keys: Sequence[str]) -> int:
        """Delete episodes and their trajectories, so that they can be repeated; return how many there were.

        Lessons learned from them stay, and still name them as sources.
        """
        with self._write() as connection:
            return trajectory_table.drop(self, connection, clean_text(run_id), [clean_text(key) for key in keys])

    # Lessons

    add_lessons = lesson_table.add

    def get_lesson(self, lesson_id: str) -> Lesson | None:
        """The present state of a lesson, even if deleted; None if the id is unknown."""
        return next(iter(self.get_lessons([lesson_id])), None)

    get_lessons = lesson_table.get

    def scope_of(self, lesson_id: str) -> str | None:
        """The scope of a lesson; None if the id is unknown."""
        with self._read() as connection:
            return connection.execute(select(_l.scope).where(_l.id == clean_text(lesson_id))).scalar()

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
        """Lessons in order of insertion: at most `limit`, after the first `offset`. None filters nothing.

        With `query`, the key or text contains it, in any case; no character is a wildcard.

        Raises:
            StoreError: when limit or offset is negative.
        """
        check_page(limit, offset)
        key = None if key is None else short_name(key)
        tests = equal((_l.scope, scope), (_l.kind, kind), (_l.status, status), (_l.key, key))
        tests += contain(self, _l.folded, [fold(query)] if query else [])
        wanted = select(_l.id, _l.body).order_by(_l.seq)
        if limit is None and not offset:
            return lesson_table.read(self, wanted.where(*tests))
        # An index finds the page, so skipped rows are never read.
        page = select(_l.seq).where(*tests).order_by(_l.seq).limit(limit).offset(offset)
        return lesson_table.read(self, wanted.where(_l.seq.in_(page)))

    lessons_since = lesson_table.of_scope

    nearby = cached_property(open_nearby)

    def update_lesson(self, lesson: Lesson, *, who: str, why: str = "") -> Lesson:
        """Store one changed lesson as its next version; see `update_lessons`."""
        return self.update_lessons([lesson], who=who, why=why)[0]

    update_lessons = lesson_table.update_all
    remove_lesson = forget.remove_lesson

    def lesson_uses(self, lesson_id: str) -> list[tuple[str, bool | None]]:
        """The trajectories that were shown a lesson, oldest first, each with its success (None: unknown)."""
        shown = select(_t.id, _t.success).join(schema.lesson_uses, _u.trajectory_id == _t.id)
        with self._read() as connection:
            rows = connection.execute(shown.where(_u.lesson_id == clean_text(lesson_id)).order_by(_t.seq))
            return [(row.id, row.success) for row in rows]

    # Versions of lessons

    def history(self, lesson_id: str) -> list[Change]:
        """Every state of a lesson, oldest first; empty if the id is unknown."""
        return version_table.history(self, lesson_id)

    def add_snapshot(self, scope: str, name: str, *, who: str, why: str = "") -> Snapshot:
        """Name the present state of a scope.

        Raises:
            StoreError: when the scope has a snapshot of this name, or the name is empty, too long, "now" or a time.
        """
        return version_table.add_snapshot(self, scope, name, who, why)

    def snapshots(self, scope: str | None = None) -> list[Snapshot]:
        """The snapshots of one scope, or of all, oldest first."""
        query = select(schema.snapshots).where(*equal((_s.scope, scope))).order_by(_s.at, _s.scope, _s.name)
        with self._read() as connection:
            return [Snapshot(**row._mapping) for row in connection.execute(query)]

    def lessons_at(self, scope: str, when: str) -> list[Lesson]:
        """The lessons of a scope at a time, in order of insertion, without deleted ones.

        Raises:
            StoreError: when `when` is not a snapshot's name, a time in ISO 8601 (UTC if it names no zone), or "now".
        """
        return version_table.lessons_at(self, scope, when)

    def rollback(self, scope: str, when: str, *, who: str, why: str = "") -> Difference:
        """Restore the lessons of a scope at a time as new versions; later lessons get the status "deleted".

        Returns:
            The difference between the state before and the state now.

        Raises:
            StoreError: when there is no such snapshot or time; see `lessons_at`.
        """
        return version_table.rollback(self, scope, when, who, why)

    # Learning marks and leases

    def unlearned(self, scope: str, method: str, limit: int | None = None) -> list[Trajectory]:
        """Trajectories of a scope that a method has not learned from, in order of insertion, at most `limit`."""
        return waiting.pending(self, scope, method, None, limit)

    mark_learned = learned.mark_learned
    mark_begun = learned.mark_begun
    take_lease = learned.take_lease

    def keep_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Renew a lease for this many seconds; False if another holder has it, or had it meanwhile."""
        own = (_e.name == clean_text(name), _e.holder == clean_text(holder))
        with self._write() as connection:
            result = connection.execute(update(schema.leases).where(*own).values(until=time.time() + seconds))
            return result.rowcount == 1

    def drop_lease(self, name: str, holder: str) -> None:
        """Release a lease, if this holder still has it."""
        own = (_e.name == clean_text(name), _e.holder == clean_text(holder))
        with self._write() as connection:
            connection.execute(delete(schema.leases).where(*own))

    # Permanent deletion

    remove_trajectories = forget.remove_trajectories
    blank_demonstrations = forget.blank_demonstrations
    clear_scope = forget.clear_scope
    lessons_from = forget.lessons_from
    drop_loose_vectors = forget.drop_loose_vectors
    scrub = forget.scrub

    # Vectors

    put_vectors = vector_table.put
    get_vectors = vector_table.get

    # Runs, the journal of models' replies, and marks

    add_run = run_table.add_run
    finish_run = run_table.finish_run

    def runs(self, limit: int | None = 50, offset: int = 0) -> list[RunRow]:
        """Runs, newest first: at most `limit` (None: all), after the first `offset`.

        Raises:
            StoreError: when limit or offset is negative.
        """
        return run_table.runs(self, None, limit, offset)

    def get_run(self, run_id: str) -> RunRow | None:
        """The run, or None."""
        return next(iter(run_table.runs(self, run_id, 1, 0)), None)

    journal_get = journal_table.get

    def journal_put(self, scope: str, key: str, reply: Reply, also: Mapping[str, Reply] | None = None) -> None:
        """Store a reply, and others by key, so that they survive a power cut; the first reply under a key stays."""
        replies = {key: reply, **(also or {})}
        self._journal.put(self, [journal_table.row(scope, each, replies[each]) for each in replies])

    def journal_drop(self, scope: str) -> int:
        """Delete the replies of a scope, so that its calls are repeated; return how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.journal).where(_j.scope == clean_text(scope))).rowcount

    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]:
        """Pairs (scope, reply) of keys with this ending in scopes that begin with `prefix`, oldest first."""
        tests = _j.scope.startswith(clean_text(prefix), autoescape=True), _j.key.endswith(ending, autoescape=True)
        query = select(_j.scope, _j.key, _j.body).where(*tests).order_by(_j.created, _j.scope, _j.key)
        with self._read() as connection:
            rows = connection.execute(query).all()
        return [(row.scope, from_body(Reply, row.body, f"the journalled reply {row.key}")) for row in rows]

    def journal_usage(self, prefix: str) -> Usage:
        """The sum of the usage of all replies in scopes that begin with `prefix`."""
        return sum((reply.usage for _, reply in self.journal_ending(prefix, "")), Usage())

    mark = run_table.mark

    def marked(self, scope: str, name: str) -> Any:
        """The value under this name of a scope, or None."""
        return next(iter(run_table.marks(self, scope, name).values()), None)

    marks = run_table.marks

    def unmark(self, scope: str, name: str | None = None) -> int:
        """Delete one mark of a scope, or all; return how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.marks).where(*equal((_m.scope, scope), (_m.name, name)))).rowcount
