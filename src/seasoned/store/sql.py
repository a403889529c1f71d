"""The store: everything Seasoned remembers, in one SQLite file or one Postgres database.

`Store` is all that others call. Its SQL stands in functions: runs, journal and marks (`runs.py`), trajectories and
episodes (`trajectories.py`), lessons (`lessons.py`) and their versions (`versions.py`), what was learned from
(`learned.py`), deletion for good (`forget.py`), vectors (`vectors.py`), and the check of every row (`check.py`).
`schema.py` tells what lies in which table.

Always holds: what a returned call has written survives the end of the process, however it ends; many threads and
processes may use one store at once; every error is a `StoreError` with a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sqlalchemy import or_, select

from seasoned.store import check as check_table
from seasoned.store import forget, learned, schema
from seasoned.store import lessons as lesson_table
from seasoned.store import runs as run_table
from seasoned.store import trajectories as trajectory_table
from seasoned.store import vectors as vector_table
from seasoned.store import versions as version_table
from seasoned.store.database import Database
from seasoned.store.runs import RunRow
from seasoned.store.trajectories import TaskText
from seasoned.store.versions import Change, Difference, Snapshot
from seasoned.types import Lesson, LessonKind, LessonStatus, Reply, Trajectory, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Change", "Difference", "RunRow", "Snapshot", "Store", "TaskText"]


class Store(Database):
    """A store, open until `close()` or the end of a `with` block. Safe in threads; each process opens its own.

    `Store(path_or_url, *, timeout=10.0)`; `transaction()` makes several writes one. `scope` in its methods is a text
    that separates pools. `who` is "model", "person" or "rule", and `why` one line for a lesson's history. Ids that the
    store does not have are passed over where nothing else is said.
    """

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def scopes(self) -> list[str]:
        """The scopes that hold a lesson or a trajectory, sorted."""
        pools = schema.scopes.c.scope
        used = (select(t.c.scope).where(t.c.scope == pools).exists() for t in (schema.lessons, schema.trajectories))
        with self._read() as connection:
            return list(connection.execute(select(pools).where(or_(*used)).order_by(pools)).scalars())

    def changes(self, scope: str) -> tuple[int, int]:
        """Two counters of a scope for whoever caches it: changes of any kind, and removals for good. Both only rise."""
        return lesson_table.changes(self, scope)

    def check(self) -> list[str]:
        """Look at every row: a sentence for each problem, an empty list when the store is sound."""
        return check_table.problems(self)

    # Trajectories and episodes

    def add_trajectories(self, scope: str, trajectories: Sequence[Trajectory], run_id: str = "") -> None:
        """Add trajectories, all or none; those that are there already stay as they are.

        Args:
            scope: the pool they belong to.
            trajectories: in the order they are to be listed in; ids of tasks become `short_name`s.
            run_id: the run that made them, or "".

        Raises:
            StoreError: when an id is taken by another trajectory, or by this one in another scope.
        """
        trajectory_table.add(self, scope, trajectories, run_id)

    def get_trajectory(self, trajectory_id: str) -> Trajectory | None:
        """The trajectory, or None when there is none."""
        return next(iter(self.get_trajectories([trajectory_id])), None)

    def get_trajectories(self, trajectory_ids: Sequence[str]) -> list[Trajectory]:
        """The trajectories with these ids, in the order of the ids."""
        return trajectory_table.get(self, trajectory_ids)

    def find_trajectories(self, beginning: str, limit: int) -> list[Trajectory]:
        """At most `limit` trajectories whose ids begin so; one whose id is just this comes alone."""
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
        """Trajectories in order of insertion.

        Args:
            scope: one pool, or None for all.
            run_id: only those of this run.
            task_id: only attempts at this task.
            success: only successes (True) or failures (False); None for all, unknown ones too.
            limit: at most so many; None for all.
            offset: how many to pass over first.

        Raises:
            StoreError: when limit or offset is negative.
        """
        return trajectory_table.listed(self, scope, run_id, task_id, success, limit, offset)

    def task_texts(self, scope: str, after: int = 0) -> list[TaskText]:
        """Of each trajectory of the scope with a later `seq` than this, what a search needs, in order of insertion."""
        return trajectory_table.task_texts(self, scope, after)

    def count_trajectories(self, scopes: Sequence[str], task_id: str | None = None) -> int:
        """How many attempts these scopes hold, at all tasks or at one."""
        return trajectory_table.count(self, scopes, task_id)

    def save_episode(self, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
        """Store an episode and its trajectory, together; an earlier one under the same key is replaced.

        Args:
            run_id: a run that `add_run` has stored.
            key: names the episode within the run, for resuming.
            scope: the pool that the trajectory belongs to.
            trajectory: what the episode made.

        Raises:
            StoreError: when there is no such run, or the trajectory belongs to another episode.
        """
        trajectory_table.save_episode(self, run_id, key, scope, trajectory)

    def episodes(self, run_id: str) -> dict[str, Trajectory]:
        """The trajectories of a run's episodes by their keys, in order of insertion."""
        return trajectory_table.episodes(self, run_id)

    def drop_episodes(self, run_id: str, keys: Sequence[str]) -> int:
        """Forget episodes and their trajectories, so that they can be made again; gives how many there were.

        Lessons that came from them stay, and still name them as their sources.
        """
        return trajectory_table.drop_episodes(self, run_id, keys)

    # Lessons

    def add_lessons(self, scope: str, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Add new lessons, all or none; their version is kept as it is.

        Returns:
            The lessons as stored: the same, but for characters that no database takes (see `store.body`), and for keys
            longer than `MAX_NAME` (see `short_name`).

        Raises:
            StoreError: when an id is taken.
        """
        return lesson_table.add(self, scope, lessons, who, why)

    def get_lesson(self, lesson_id: str) -> Lesson | None:
        """The lesson in its present state, deleted ones too; None when there is none."""
        return next(iter(lesson_table.get(self, [lesson_id])), None)

    def scope_of(self, lesson_id: str) -> str | None:
        """The scope a lesson belongs to; None when there is no such lesson."""
        return lesson_table.scope_of(self, lesson_id)

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
        return lesson_table.listed(self, scope, kind, status, key, query, limit, offset)

    def lessons_since(self, scope: str, change: int) -> list[Lesson]:
        """The lessons that a later change than this one wrote, in order of insertion; 0 gives all of the scope."""
        return lesson_table.since(self, scope, change)

    def update_lesson(self, lesson: Lesson, *, who: str, why: str = "") -> Lesson:
        """Store a changed lesson, which has the version it was read at; see `update_lessons`."""
        return self.update_lessons([lesson], who=who, why=why)[0]

    def update_lessons(self, lessons: Sequence[Lesson], *, who: str, why: str = "") -> list[Lesson]:
        """Store changed lessons under their next versions, all or none.

        Returns:
            The lessons as stored: version + 1, `updated` now.

        Raises:
            ConflictError: when the stored version of one is another.
            StoreError: when there is no such lesson, or it is given twice.
        """
        return lesson_table.update_all(self, lessons, who, why)

    def remove_lesson(self, lesson_id: str, *, who: str, why: str = "", purge: bool = False) -> None:
        """Set the status "deleted", which keeps the lesson and its history; `purge` deletes the rows for good.

        With `purge`, attempts that were shown the lesson lose the guidance they had, and the lesson's words of every
        version, wherever they stand in them word for word. For a person, journalled prompts and replies in which those
        stand are deleted, in all scopes: a run that is not at its end may have to ask for them again. For anybody else
        the prompts below the lesson's own scope are, and no more: another run may have learned the same words.

        Raises:
            StoreError: when there is no such lesson, or an attempt that was shown it cannot be read.
        """
        forget.remove_lesson(self, lesson_id, who, why, purge=purge)

    def lesson_uses(self, lesson_id: str) -> list[tuple[str, bool | None]]:
        """The trajectories in which a lesson was shown, oldest first, each with its success (None: unknown)."""
        return lesson_table.uses(self, lesson_id)

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
        return version_table.snapshots(self, scope)

    def lessons_at(self, scope: str, when: str) -> list[Lesson]:
        """The lessons that a scope had, in order of insertion; deleted ones are left out.

        Args:
            scope: one pool.
            when: the name of a snapshot; a time in ISO 8601, in UTC where it names no zone; or "now".

        Raises:
            StoreError: when it is none of these.
        """
        return version_table.lessons_at(self, scope, when)

    def rollback(self, scope: str, when: str, *, who: str, why: str = "") -> Difference:
        """Bring back the lessons that a scope had, each as a new version; lessons that came later are set "deleted".

        Args:
            scope: one pool.
            when: as `lessons_at` takes it.
            who: who goes back.
            why: one line for the history of each lesson that changes.

        Returns:
            What this changed: from the state before to the state now.

        Raises:
            StoreError: when there is no such snapshot or time.
        """
        return version_table.rollback(self, scope, when, who, why)

    # What was learned from, and who is learning

    def unlearned(self, scope: str, method: str, limit: int | None = None) -> list[Trajectory]:
        """Trajectories of a scope that a method has not learned from, in order of insertion, at most `limit`."""
        return learned.unlearned(self, scope, method, limit)

    def mark_learned(self, method: str, trajectory_ids: Sequence[str]) -> None:
        """Keep that a method has learned from these; those marked already, or gone meanwhile, are passed over."""
        learned.mark_learned(self, method, trajectory_ids)

    def mark_begun(self, scope: str, method: str) -> int:
        """Mark trajectories that a method has made lessons from before it was cut off; gives how many there were."""
        return learned.mark_begun(self, scope, method)

    def take_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Become, or stay, the one who holds this name for so many seconds from now; False when another does."""
        return learned.take_lease(self, name, holder, seconds)

    def keep_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Stay the one who holds this name, for so many seconds from now; False when another has, or had, it since."""
        return learned.keep_lease(self, name, holder, seconds)

    def drop_lease(self, name: str, holder: str) -> None:
        """Give the name back, if this holder still has it."""
        learned.drop_lease(self, name, holder)

    # Deletion for good

    def remove_trajectories(self, scope: str, trajectory_ids: Sequence[str]) -> int:
        """Delete trajectories of a scope with their episodes, vectors, marks and the record of which lessons they saw.

        Lessons that came from them stay, and still name them as their sources; see `blank_demonstrations` too.

        Returns:
            How many there were.
        """
        return forget.remove_trajectories(self, scope, trajectory_ids)

    def blank_demonstrations(self, scopes: Sequence[str], trajectory_ids: Iterable[str]) -> int:
        """Take their guidance out of the trajectories of these scopes that were shown any of these as demonstrations.

        Returns:
            How many there were.
        """
        return forget.blank_demonstrations(self, scopes, trajectory_ids)

    def clear_scope(self, scope: str) -> tuple[int, int]:
        """Delete all trajectories and lessons of a scope, with everything that belongs to them, and its snapshots.

        Returns:
            How many trajectories and how many lessons there were.
        """
        return forget.clear_scope(self, scope)

    def lessons_from(self, scope: str, trajectory_ids: Sequence[str]) -> dict[str, int]:
        """The lessons of a scope that came from any of these trajectories, by id, with how much else each rests on.

        That is its other sources; and where only an earlier version came from these, its present state is one.
        """
        return forget.lessons_from(self, scope, trajectory_ids)

    def drop_loose_vectors(self) -> int:
        """Delete vectors that belong to no lesson or trajectory by name; they are made anew when they are needed."""
        return forget.drop_loose_vectors(self)

    def scrub(self) -> bool:
        """Empty SQLite's write-ahead log; False when another program reads from it still, and it stays until later.

        With Postgres there is nothing to do here: its own vacuum clears what was deleted.
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
        """Store vectors; one that is there under the same owner, id and embedder is replaced.

        One of a lesson or a trajectory that is not in the store (it was forgotten meanwhile) is passed over.

        Args:
            owner: "lesson" or "trajectory", or "text" for those of nobody.
            ids: of lessons or trajectories, n of them.
            embedder_name: which embedder made them.
            matrix: shape (n, dim), finite.
            digests: `digest` of each text; without them, `get_vectors` cannot tell old ones.

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
            owner: as `put_vectors` has it.
            ids: the wanted ones, or None for all of the owner.
            embedder_name: no other embedder's vectors are given.
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
        """Store a run as running; one that is there (a resumed run) keeps its time of creation and runs again.

        Raises:
            StoreError: when the config has no form in JSON.
        """
        run_table.add_run(self, run_id, name, path, config)

    def finish_run(self, run_id: str, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """Store how a run ended: "complete", "stopped", "failed", and its summary.

        Raises:
            StoreError: when there is no such run, or the summary has no form in JSON.
        """
        run_table.finish_run(self, run_id, status, summary)

    def runs(self, limit: int | None = 50, offset: int = 0) -> list[RunRow]:
        """Runs, newest first: at most `limit` (None: all), after the first `offset`.

        Raises:
            StoreError: when limit or offset is negative.
        """
        return run_table.runs(self, None, limit, offset)

    def get_run(self, run_id: str) -> RunRow | None:
        """The run, or None when there is none."""
        return next(iter(run_table.runs(self, run_id, 1, 0)), None)

    def journal_get(self, scope: str, key: str) -> Reply | None:
        """The reply that was journalled under this key, or None."""
        return run_table.get_reply(self, scope, key)

    def journal_put(self, scope: str, key: str, reply: Reply) -> None:
        """Store a reply; it is safe from a power cut when this returns. The first under a key stays."""
        run_table.put_reply(self, scope, key, reply)

    def journal_drop(self, scope: str) -> int:
        """Forget the replies of a scope, so that its calls are made anew; gives how many there were."""
        return run_table.drop_replies(self, scope)

    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]:
        """Scope and reply, oldest first, of the keys with this end in all scopes that begin with this text."""
        return run_table.replies(self, prefix, ending)

    def journal_usage(self, prefix: str) -> Usage:
        """What the replies of all scopes that begin with this text used, each counted once."""
        return run_table.used(self, prefix)

    def mark(self, scope: str, name: str, value: Any = True, *, replace: bool = True) -> None:
        """Keep a small value of texts, numbers, lists and dictionaries under a name of a scope.

        One that is there under the name is replaced, or stays where `replace` is False.

        Raises:
            StoreError: when the value has no form in JSON.
        """
        run_table.mark(self, scope, name, value, replace=replace)

    def marked(self, scope: str, name: str) -> Any:
        """The value under this name of a scope; None where there is none."""
        return next(iter(run_table.marks(self, scope, name).values()), None)

    def marks(self, scope: str) -> dict[str, Any]:
        """All values of a scope by name, sorted."""
        return run_table.marks(self, scope)

    def unmark(self, scope: str, name: str | None = None) -> int:
        """Forget a mark of a scope, or all of them; gives how many there were."""
        return run_table.unmark(self, scope, name)
