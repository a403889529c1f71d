"""The store: everything Seasoned remembers, in one SQLite file or one Postgres database.

`Store` has what several packages use, and delegates longer queries to the modules beside it. A query that one package
needs is a function there. `schema.py` describes the tables.

Always holds: the writes of a returned call survive the end of the process, however it ends; many threads and processes
may use one store at once; every error is a `StoreError` that says what to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Change", "Difference", "RunRow", "Snapshot", "Store", "TaskText"]

_t, _l, _u = schema.trajectories.c, schema.lessons.c, schema.lesson_uses.c
_s, _e, _j, _m = schema.snapshots.c, schema.leases.c, schema.journal.c, schema.marks.c
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

    def check(self) -> list[str]:
        """Check every row: a sentence for each problem, or an empty list if the store is sound."""
        return check_table.problems(self)

    # Trajectories and episodes

    def add_trajectories(self, scope: str, trajectories: Sequence[Trajectory], run_id: str = "") -> None:
        """Add trajectories, all or none; existing ones stay unchanged. Task ids are shortened by `short_name`.

        Raises:
            StoreError: when an id belongs to another trajectory, or to this one in another scope.
        """
        trajectory_table.add(self, scope, trajectories, run_id)

    def revise_trajectory(self, trajectory: Trajectory, *, relearn: bool) -> None:
        """Replace the outcome and meta of a trajectory; with `relearn`, every method learns from it again."""
        trajectory_table.revise(self, trajectory, relearn)

    def get_trajectory(self, trajectory_id: str) -> Trajectory | None:
        """The trajectory, or None."""
        return next(iter(self.get_trajectories([trajectory_id])), None)

    def get_trajectories(self, trajectory_ids: Sequence[str]) -> list[Trajectory]:
        """The trajectories with these ids, in the order of the ids."""
        return trajectory_table.get(self, trajectory_ids)

    def find_trajectories(self, beginning: str, limit: int) -> list[Trajectory]:
        """At most `limit` trajectories whose ids begin with a text; an exact match is returned alone."""
        return trajectory_table.find(self, beginning, limit)

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
        tests = equal((_t.task_id, None if task_id is None else short_name(task_id)))
        query = select(func.count()).where(_t.scope.in_(map(clean_text, scopes)), *tests)
        with self._read() as connection:
            return int(connection.execute(query).scalar_one())

    def save_episode(self, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
        """Store an episode of a run together with its trajectory; replaces an earlier one under the same key.

        Raises:
            StoreError: when the run is not in the store, or the trajectory belongs to another episode.
        """
        trajectory_table.save_episode(self, run_id, key, scope, trajectory)

    def episodes(self, run_id: str) -> dict[str, Trajectory]:
        """The trajectories of a run's episodes by their keys, in order of insertion."""
        return trajectory_table.episodes(self, run_id)

    def drop_episodes(self, run_id: str, keys: Sequence[str]) -> int:
        """Delete episodes and their trajectories, so that they can be repeated; return how many there were.

        Lessons learned from them stay, and still name them as sources.
        """
        with self._write() as connection:
            return trajectory_table.drop(self, connection, clean_text(run_id), [clean_text(key) for key in keys])

    # Lessons

    def add_lessons(self, scope: str, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Add new lessons, all or none; their version is kept as it is.

        Returns:
            The lessons as stored, without characters that no database accepts (see `store.body`) and with long keys
            shortened (see `short_name`).

        Raises:
            StoreError: when an id is taken.
        """
        return lesson_table.add(self, scope, lessons, who, why)

    def get_lesson(self, lesson_id: str) -> Lesson | None:
        """The present state of a lesson, even if deleted; None if the id is unknown."""
        return next(iter(self.get_lessons([lesson_id])), None)

    def get_lessons(self, lesson_ids: Sequence[str]) -> list[Lesson]:
        """The present states of these lessons, deleted ones too, in the order of the ids."""
        return lesson_table.get(self, lesson_ids)

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

    def lessons_since(self, scope: str, change: int) -> list[Lesson]:
        """The scope's lessons written after this change (0: all), in order of insertion."""
        return lesson_table.of_scope(self, scope, change)

    nearby = cached_property(open_nearby)

    def update_lesson(self, lesson: Lesson, *, who: str, why: str = "") -> Lesson:
        """Store one changed lesson as its next version; see `update_lessons`."""
        return self.update_lessons([lesson], who=who, why=why)[0]

    def update_lessons(self, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Store changed lessons as their next versions, all or none; each is given with the version it was read at.

        Returns:
            The lessons as stored, with version + 1 and a new `updated`.

        Raises:
            ConflictError: when a stored version differs.
            StoreError: when a lesson is not in the store, or is given twice.
        """
        return lesson_table.update_all(self, lessons, who, why)

    def remove_lesson(self, lesson_id: str, *, who: str, why: str = "", purge: bool = False) -> None:
        """Set the status "deleted", which keeps the lesson and its history; `purge` deletes the rows permanently.

        Attempts that were shown a purged lesson lose their guidance and every literal copy of the lesson's text in any
        version. If `who` is a person, journalled prompts and replies with that text are deleted in all scopes, so an
        unfinished run may have to request them again. Otherwise only prompts below the lesson's scope are deleted,
        since another run may have learned the same text.

        Raises:
            StoreError: when there is no such lesson, or an attempt that was shown it cannot be read.
        """
        forget.remove_lesson(self, lesson_id, who, why, purge=purge)

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

    def mark_learned(self, method: str, trajectory_ids: Sequence[str]) -> None:
        """Record that a method has learned from these; skips those already marked or deleted meanwhile."""
        learned.mark_learned(self, method, trajectory_ids)

    def mark_begun(self, scope: str, method: str) -> int:
        """Mark trajectories that an interrupted method made lessons from; return how many there were."""
        return learned.mark_begun(self, scope, method)

    def take_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew a lease for this many seconds; False if another holder has it."""
        return learned.take_lease(self, name, holder, seconds)

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

    def remove_trajectories(self, scope: str, trajectory_ids: Sequence[str]) -> int:
        """Delete trajectories with their episodes, vectors, marks and lesson uses; return how many there were.

        Lessons learned from them stay, and still name them as sources; see also `blank_demonstrations`.
        """
        return forget.remove_trajectories(self, scope, trajectory_ids)

    def blank_demonstrations(self, scopes: Sequence[str], trajectory_ids: Iterable[str]) -> int:
        """Remove the guidance of attempts in these scopes that were shown any of these attempts; return how many."""
        return forget.blank_demonstrations(self, scopes, trajectory_ids)

    def clear_scope(self, scope: str) -> tuple[int, int]:
        """Delete a scope with everything in it; return how many trajectories and lessons there were."""
        return forget.clear_scope(self, scope)

    def lessons_from(self, scope: str, trajectory_ids: Sequence[str]) -> dict[str, int]:
        """The lessons of a scope learned from any of these trajectories: ids, and numbers of other sources.

        If only an earlier version was learned from these, the present state counts as one other source.
        """
        return forget.lessons_from(self, scope, trajectory_ids)

    def drop_loose_vectors(self) -> int:
        """Delete vectors of texts that are neither lessons nor trajectories; they are computed again when needed."""
        return forget.drop_loose_vectors(self)

    def scrub(self) -> bool:
        """Empty SQLite's write-ahead log; False if another program still reads it, so that it stays for now.

        With Postgres this does nothing: its vacuum clears deleted data.
        """
        return forget.scrub(self)

    # Vectors

    def put_vectors(
        self,
        owner: str,
        ids: Sequence[str],
        embedder_name: str,
        matrix: NDArray[np.float32],
        *,
        digests: Sequence[str] | None = None,
    ) -> None:
        """Store vectors; replaces those with the same owner, id and embedder.

        Skips vectors of lessons or trajectories that are not in the store (deleted meanwhile).

        Args:
            owner: "lesson", "trajectory", or "text" for other texts.
            ids: n ids.
            embedder_name: the embedder that computed the vectors.
            matrix: shape (n, dim), finite.
            digests: `digest` of each text; without them, `get_vectors` cannot detect vectors of older texts.

        Raises:
            StoreError: when the shapes do not fit, or a value is not finite.
        """
        vector_table.put(self, owner, ids, embedder_name, matrix, digests)

    def get_vectors(
        self,
        owner: str,
        ids: Sequence[str] | None,
        embedder_name: str,
        *,
        digests: Sequence[str] | None = None,
        dim: int | None = None,
    ) -> tuple[list[str], NDArray[np.float32]]:
        """Stored vectors of one embedder.

        Args:
            owner: as in `put_vectors`.
            ids: None for all of the owner.
            embedder_name: the embedder whose vectors are returned.
            digests: the digest of each id's text; leaves out vectors of other texts.
            dim: leaves out vectors of another dimension.

        Returns:
            The ids that have a vector (in the given order, or sorted), and float32 of shape (n, dim).

        Raises:
            EmbedderMismatchError: when `dim` is not given and the vectors have several dimensions.
        """
        return vector_table.get(self, owner, ids, embedder_name, digests, dim)

    # Runs, the journal of models' replies, and marks

    def add_run(self, run_id: str, name: str, path: str, config: Mapping[str, Any]) -> None:
        """Store a run as running; a resumed run keeps its time of creation.

        Raises:
            StoreError: when the config cannot be written as JSON.
        """
        run_table.add_run(self, run_id, name, path, config)

    def finish_run(self, run_id: str, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """Store the status of a finished run ("complete", "stopped", "failed") and its summary.

        Raises:
            StoreError: when the run is not in the store, or the summary cannot be written as JSON.
        """
        run_table.finish_run(self, run_id, status, summary)

    def runs(self, limit: int | None = 50, offset: int = 0) -> list[RunRow]:
        """Runs, newest first: at most `limit` (None: all), after the first `offset`.

        Raises:
            StoreError: when limit or offset is negative.
        """
        return run_table.runs(self, None, limit, offset)

    def get_run(self, run_id: str) -> RunRow | None:
        """The run, or None."""
        return next(iter(run_table.runs(self, run_id, 1, 0)), None)

    def journal_get(self, scope: str, key: str) -> Reply | None:
        """The journalled reply under this key, or None."""
        return journal_table.get(self, scope, key)

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

    def mark(self, scope: str, name: str, value: Any = True, *, replace: bool = True) -> None:
        """Store a small value of texts, numbers, lists and dictionaries under a name of a scope.

        Replaces an existing value unless `replace` is False.

        Raises:
            StoreError: when the value cannot be written as JSON.
        """
        run_table.mark(self, scope, name, value, replace=replace)

    def marked(self, scope: str, name: str) -> Any:
        """The value under this name of a scope, or None."""
        return next(iter(run_table.marks(self, scope, name).values()), None)

    def marks(self, scope: str) -> dict[str, Any]:
        """All values of a scope by name, sorted."""
        return run_table.marks(self, scope)

    def unmark(self, scope: str, name: str | None = None) -> int:
        """Delete one mark of a scope, or all; return how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.marks).where(*equal((_m.scope, scope), (_m.name, name)))).rowcount
