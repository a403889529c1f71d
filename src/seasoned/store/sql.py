"""The store: everything Seasoned remembers, in one SQLite file or one Postgres database.

Other modules call only `Store`. Longer SQL is in functions: `trajectories.py`, `lessons.py`, `versions.py`,
`learned.py`, `forget.py`, `vectors.py`, `runs.py` and `check.py`. `schema.py` describes the tables.

Always holds: the writes of a returned call survive the end of the process, however it ends; many threads and processes
may use one store at once; every error is a `StoreError` with a sentence that says what to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
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

    `Store(path_or_url, *, timeout=10.0)`; `transaction()` groups several writes. `scope` in its methods is a text that
    separates pools. `who` is "model", "person" or "rule", and `why` one line for a lesson's history. Unknown ids are
    skipped unless stated otherwise.
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
        pools = schema.scopes.c.scope
        used = (select(t.c.scope).where(t.c.scope == pools).exists() for t in (schema.lessons, schema.trajectories))
        with self._read() as connection:
            return list(connection.execute(select(pools).where(or_(*used)).order_by(pools)).scalars())

    def changes(self, scope: str) -> tuple[int, int]:
        """Two counters of a scope, for caches: changes of any kind, and permanent removals. Both only rise."""
        with self._read() as connection:
            row = connection.execute(_CHANGES, {"of": clean_text(scope)}).first()
        return (0, 0) if row is None else (row.change, row.purges)

    def check(self) -> list[str]:
        """Check every row: a sentence for each problem, or an empty list if the store is sound."""
        return check_table.problems(self)

    # Trajectories and episodes

    def add_trajectories(self, scope: str, trajectories: Sequence[Trajectory], run_id: str = "") -> None:
        """Add trajectories, all or none, of a run or none (""); existing ones stay as they are.

        Ids of tasks become `short_name`s.

        Raises:
            StoreError: when an id is taken by another trajectory, or by this one in another scope.
        """
        trajectory_table.add(self, scope, trajectories, run_id)

    def revise_trajectory(self, trajectory: Trajectory, *, relearn: bool) -> None:
        """Replace the outcome and meta of a trajectory; `relearn` forgets which methods have learned from it."""
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
        """The fields for a search, of each trajectory of the scope after this `seq`, in order of insertion."""
        query = select(_t.seq, _t.id, _t.task, _t.success).where(_t.scope == clean_text(scope), _t.seq > after)
        with self._read() as connection:
            return [TaskText(**row._mapping) for row in connection.execute(query.order_by(_t.seq))]

    def count_trajectories(self, scopes: Sequence[str], task_id: str | None = None) -> int:
        """The number of attempts in these scopes, at all tasks or at one."""
        tests = equal((_t.task_id, None if task_id is None else short_name(task_id)))
        query = select(func.count()).where(_t.scope.in_(map(clean_text, scopes)), *tests)
        with self._read() as connection:
            return int(connection.execute(query).scalar_one())

    def save_episode(self, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
        """Store an episode of a run and its trajectory, together; an earlier one under the same key is replaced.

        Raises:
            StoreError: when there is no such run, or the trajectory belongs to another episode.
        """
        trajectory_table.save_episode(self, run_id, key, scope, trajectory)

    def episodes(self, run_id: str) -> dict[str, Trajectory]:
        """The trajectories of a run's episodes by their keys, in order of insertion."""
        return trajectory_table.episodes(self, run_id)

    def drop_episodes(self, run_id: str, keys: Sequence[str]) -> int:
        """Delete episodes and their trajectories, so that they can be made again; return how many there were.

        Lessons that came from them stay, and still name them as sources.
        """
        with self._write() as connection:
            return trajectory_table.drop(self, connection, clean_text(run_id), [clean_text(key) for key in keys])

    # Lessons

    def add_lessons(self, scope: str, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Add new lessons, all or none; their version is kept as it is.

        Returns:
            The lessons as stored: the same, except for characters that no database accepts (see `store.body`), and
            keys longer than `MAX_NAME` (see `short_name`).

        Raises:
            StoreError: when an id is taken.
        """
        return lesson_table.add(self, scope, lessons, who, why)

    def get_lesson(self, lesson_id: str) -> Lesson | None:
        """The lesson in its present state, deleted ones too; None when there is none."""
        return next(iter(self.get_lessons([lesson_id])), None)

    def get_lessons(self, lesson_ids: Sequence[str]) -> list[Lesson]:
        """The lessons with these ids in their present state, deleted ones too, in the order of the ids."""
        return lesson_table.get(self, lesson_ids)

    def scope_of(self, lesson_id: str) -> str | None:
        """The scope a lesson belongs to; None when there is no such lesson."""
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

        The key or the text must contain `query`, in any case; no character is a wildcard.

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
        # The page is cut in an index, so that skipped rows are never read.
        page = select(_l.seq).where(*tests).order_by(_l.seq).limit(limit).offset(offset)
        return lesson_table.read(self, wanted.where(_l.seq.in_(page)))

    def lessons_since(self, scope: str, change: int) -> list[Lesson]:
        """The lessons written after this change, in order of insertion; 0 gives all of the scope."""
        return lesson_table.of_scope(self, scope, change)

    def update_lesson(self, lesson: Lesson, *, who: str, why: str = "") -> Lesson:
        """Store a changed lesson, still with the version it was read at; see `update_lessons`."""
        return self.update_lessons([lesson], who=who, why=why)[0]

    def update_lessons(self, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Store changed lessons under their next versions, all or none.

        Returns:
            The lessons as stored: version + 1, `updated` now.

        Raises:
            ConflictError: when a stored version differs.
            StoreError: when there is no such lesson, or it is given twice.
        """
        return lesson_table.update_all(self, lessons, who, why)

    def remove_lesson(self, lesson_id: str, *, who: str, why: str = "", purge: bool = False) -> None:
        """Set the status "deleted", which keeps the lesson and its history; `purge` deletes the rows permanently.

        With `purge`, attempts that were shown the lesson lose their guidance, and every literal copy of the lesson's
        words in any version. If `who` is a person, journalled prompts and replies with those words are deleted too, in
        all scopes, so an unfinished run may have to request them again. Otherwise only prompts below the lesson's own
        scope are deleted, since another run may have learned the same words.

        Raises:
            StoreError: when there is no such lesson, or an attempt that was shown it cannot be read.
        """
        forget.remove_lesson(self, lesson_id, who, why, purge=purge)

    def lesson_uses(self, lesson_id: str) -> list[tuple[str, bool | None]]:
        """The trajectories in which a lesson was shown, oldest first, each with its success (None: unknown)."""
        shown = select(_t.id, _t.success).join(schema.lesson_uses, _u.trajectory_id == _t.id)
        with self._read() as connection:
            rows = connection.execute(shown.where(_u.lesson_id == clean_text(lesson_id)).order_by(_t.seq))
            return [(row.id, row.success) for row in rows]

    # Versions of lessons

    def history(self, lesson_id: str) -> list[Change]:
        """Every state of a lesson, oldest first; empty when there is no such lesson."""
        return version_table.history(self, lesson_id)

    def add_snapshot(self, scope: str, name: str, *, who: str, why: str = "") -> Snapshot:
        """Name the present state of a scope.

        Raises:
            StoreError: when the name is taken in this scope, empty, too long, "now", or a time.
        """
        return version_table.add_snapshot(self, scope, name, who, why)

    def snapshots(self, scope: str | None = None) -> list[Snapshot]:
        """The snapshots of one scope, or of all, oldest first."""
        query = select(schema.snapshots).where(*equal((_s.scope, scope))).order_by(_s.at, _s.scope, _s.name)
        with self._read() as connection:
            return [Snapshot(**row._mapping) for row in connection.execute(query)]

    def lessons_at(self, scope: str, when: str) -> list[Lesson]:
        """The lessons that a scope had at a time, in order of insertion, without deleted ones.

        Raises:
            StoreError: when `when` is not a snapshot's name, a time in ISO 8601 (UTC if it names no zone), or "now".
        """
        return version_table.lessons_at(self, scope, when)

    def rollback(self, scope: str, when: str, *, who: str, why: str = "") -> Difference:
        """Restore the lessons that a scope had at a time, each as a new version; later lessons are set "deleted".

        Returns:
            The difference between the state before and the state now.

        Raises:
            StoreError: when there is no such snapshot or time; see `lessons_at`.
        """
        return version_table.rollback(self, scope, when, who, why)

    # What was learned from, and who is learning

    def unlearned(self, scope: str, method: str, limit: int | None = None) -> list[Trajectory]:
        """Trajectories of a scope that a method has not learned from, in order of insertion, at most `limit`."""
        return waiting.pending(self, scope, method, None, limit)

    def mark_learned(self, method: str, trajectory_ids: Sequence[str]) -> None:
        """Record that a method has learned from these; those marked already or deleted meanwhile are skipped."""
        learned.mark_learned(self, method, trajectory_ids)

    def mark_begun(self, scope: str, method: str) -> int:
        """Mark trajectories that a method made lessons from before it was interrupted; return how many there were."""
        return learned.mark_begun(self, scope, method)

    def take_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew the lease on a name for this many seconds; False if another holder has it."""
        return learned.take_lease(self, name, holder, seconds)

    def keep_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Renew the lease on a name for this many seconds; False if another holder has it, or had it since."""
        mine = (_e.name == clean_text(name), _e.holder == clean_text(holder))
        with self._write() as connection:
            kept = connection.execute(update(schema.leases).where(*mine).values(until=time.time() + seconds))
            return kept.rowcount == 1

    def drop_lease(self, name: str, holder: str) -> None:
        """Release the lease on a name, if this holder still has it."""
        mine = (_e.name == clean_text(name), _e.holder == clean_text(holder))
        with self._write() as connection:
            connection.execute(delete(schema.leases).where(*mine))

    # Deletion for good

    def remove_trajectories(self, scope: str, trajectory_ids: Sequence[str]) -> int:
        """Delete trajectories of a scope with their episodes, vectors, marks and the record of which lessons they saw.

        Lessons that came from them stay, and still name them as sources; see also `blank_demonstrations`. Returns how
        many there were.
        """
        return forget.remove_trajectories(self, scope, trajectory_ids)

    def blank_demonstrations(self, scopes: Sequence[str], trajectory_ids: Iterable[str]) -> int:
        """Remove the guidance of the trajectories in these scopes that were shown any of these as demonstrations.

        Returns how many there were.
        """
        return forget.blank_demonstrations(self, scopes, trajectory_ids)

    def clear_scope(self, scope: str) -> tuple[int, int]:
        """Delete all trajectories and lessons of a scope, with everything that belongs to them, and its snapshots.

        Returns how many trajectories and lessons there were.
        """
        return forget.clear_scope(self, scope)

    def lessons_from(self, scope: str, trajectory_ids: Sequence[str]) -> dict[str, int]:
        """The lessons of a scope that came from any of these trajectories, by id, with their number of other sources.

        If only an earlier version came from these, its present state counts as one source.
        """
        return forget.lessons_from(self, scope, trajectory_ids)

    def drop_loose_vectors(self) -> int:
        """Delete vectors that belong to no lesson or trajectory; they are made again when needed."""
        return forget.drop_loose_vectors(self)

    def scrub(self) -> bool:
        """Empty SQLite's write-ahead log; False if another program still reads from it, so that it stays for now.

        With Postgres there is nothing to do: its own vacuum clears deleted data.
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
        """Store vectors; one with the same owner, id and embedder is replaced.

        The vector of a lesson or trajectory that is not in the store (deleted meanwhile) is skipped.

        Args:
            owner: "lesson", "trajectory", or "text" for other texts.
            ids: n of them.
            embedder_name: the embedder that made them.
            matrix: shape (n, dim), finite.
            digests: `digest` of each text; without them, `get_vectors` cannot detect old ones.

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
            ids: the ids, or None for all of the owner.
            embedder_name: the embedder whose vectors are returned.
            digests: of the texts, one for each id: vectors of other texts are left out.
            dim: vectors of another dimension are left out.

        Returns:
            The ids that have a vector (in the order given, or sorted), and float32 of shape (n, dim).

        Raises:
            EmbedderMismatchError: when `dim` is not given and the vectors have several dimensions.
        """
        return vector_table.get(self, owner, ids, embedder_name, digests, dim)

    # Runs, the journal of models' replies, and marks

    def add_run(self, run_id: str, name: str, path: str, config: Mapping[str, Any]) -> None:
        """Store a run as running; an existing one (a resumed run) keeps its time of creation.

        Raises:
            StoreError: when the config cannot be written as JSON.
        """
        run_table.add_run(self, run_id, name, path, config)

    def finish_run(self, run_id: str, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """Store the status of a finished run ("complete", "stopped", "failed") and its summary.

        Raises:
            StoreError: when there is no such run, or the summary cannot be written as JSON.
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
        """Store a reply, and others by their keys; all survive a power cut once this returns.

        The first under a key stays.
        """
        replies = {key: reply, **(also or {})}
        self._journal.put(self, [journal_table.row(scope, each, replies[each]) for each in replies])

    def journal_drop(self, scope: str) -> int:
        """Delete the replies of a scope, so that its calls are made again; return how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.journal).where(_j.scope == clean_text(scope))).rowcount

    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]:
        """(scope, reply) of the keys with this ending, in all scopes that begin with `prefix`; oldest first."""
        mine = _j.scope.startswith(clean_text(prefix), autoescape=True), _j.key.endswith(ending, autoescape=True)
        query = select(_j.scope, _j.key, _j.body).where(*mine).order_by(_j.created, _j.scope, _j.key)
        with self._read() as connection:
            rows = connection.execute(query).all()
        return [(row.scope, from_body(Reply, row.body, f"the journalled reply {row.key}")) for row in rows]

    def journal_usage(self, prefix: str) -> Usage:
        """The usage of the replies of all scopes that begin with `prefix`, each counted once."""
        return sum((reply.usage for _, reply in self.journal_ending(prefix, "")), Usage())

    def mark(self, scope: str, name: str, value: Any = True, *, replace: bool = True) -> None:
        """Store a small value of texts, numbers, lists and dictionaries under a name of a scope.

        An existing value is replaced, or stays if `replace` is False.

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
        """Delete a mark of a scope, or all of them; return how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.marks).where(*equal((_m.scope, scope), (_m.name, name)))).rowcount
