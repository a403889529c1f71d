"""The experience pool: the trajectories and lessons of one scope, with search over them.

Always holds: what it gives is what the store holds at that moment, whoever wrote it (a counter in the store is asked
each time, and only what changed is read); a pinned lesson is changed by a person alone; nothing outside its scope is
seen or touched; a read-only pool adds and changes no experience (vectors, which can be made anew, it may store).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from seasoned.errors import StoreError
from seasoned.pool.search import Searched
from seasoned.protocols import Embedder
from seasoned.store.snapshot import LessonsSeen
from seasoned.store.sql import Store
from seasoned.types import Lesson, LessonKind, LessonStatus, Reply, Trajectory

JUDGED = "/judged"
"""How the scope of the journal ends in which the verdicts on a pool's attempts are kept."""

Who = Literal["model", "person", "rule"]


class ExperiencePool(Searched):
    """All trajectories and lessons of one scope. Safe in threads.

    `problems` are sentences on what methods that learned through this pool could not use, in order; see `passed_over`.
    """

    def __init__(
        self,
        store: Store,
        scope: str = "default",
        *,
        run_id: str = "",
        embedder: Embedder | None = None,
        experience: str | None = None,
        read_only: bool = False,
        tasks: frozenset[str] | None = None,
    ) -> None:
        """Look at one scope of a store; nothing is read before it is asked for.

        Args:
            store: where everything lies.
            scope: which pool of it.
            run_id: the run that what is recorded here belongs to, or "".
            embedder: for the searches by meaning.
            experience: the scope whose trajectories it shows, where several pools of lessons stand on the same ones.
            read_only: refuse every write, as an evaluation must.
            tasks: the tasks whose attempts may be shown as demonstrations; None for all.
        """
        super().__init__(store, scope, experience or scope, embedder)
        self.run_id = run_id
        self.read_only = read_only
        self.tasks = tasks
        self.problems: list[str] = []

    def __repr__(self) -> str:
        return f"ExperiencePool({self.store!r}, {self.scope!r}{', read_only=True' if self.read_only else ''})"

    def begin_with(self, other: ExperiencePool) -> None:
        """Know the lessons that another pool of the same scope has read already; only what changed since is read."""
        with other._lock:
            seen = other._lessons
        self._lessons = LessonsSeen(seen.change, seen.purges, seen.by_id)  # its rows and indexes are the other's own

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Store a trajectory; one that is there already is left as it is.

        Raises:
            StoreError: when the pool is read-only, or the id is taken by another trajectory.
        """
        self.writable()
        self.store.add_trajectories(self.experience, [trajectory], self.run_id)
        return trajectory

    def trajectories(
        self,
        *,
        run_id: str | None = None,
        task_id: str | None = None,
        success: bool | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Trajectory]:
        """Trajectories in order of insertion; the filters are those of `Store.trajectories`."""
        return self.store.trajectories(
            self.experience, run_id=run_id, task_id=task_id, success=success, limit=limit, offset=offset
        )

    def add(self, lessons: Lesson | Sequence[Lesson], *, why: str = "", who: Who = "model") -> list[Lesson]:
        """Add new lessons, all or none.

        Args:
            lessons: one or several, with ids that the store does not have.
            why: one line for their history.
            who: who adds them.

        Returns:
            The lessons as stored.

        Raises:
            StoreError: when the pool is read-only, or an id is taken.
        """
        self.writable()
        several = [lessons] if isinstance(lessons, Lesson) else lessons
        return self.store.add_lessons(self.scope, several, who=who, why=why)

    def update(self, lesson: Lesson, *, why: str = "", who: Who = "model") -> Lesson:
        """Store a changed lesson as its next version.

        Args:
            lesson: the new state, with the version it was read at.
            why: one line for its history.
            who: who changes it.

        Returns:
            The lesson as stored, to be used for a further change.

        Raises:
            ConflictError: when somebody else changed it meanwhile.
            StoreError: when the pool is read-only, the lesson is not in it, or it is pinned and `who` is no person.
        """
        self.writable()
        with self.store.transaction():
            self._changeable(lesson.id, who)
            return self.store.update_lesson(lesson, who=who, why=why)

    def remove(self, lesson_id: str, *, why: str = "", who: Who = "model", purge: bool = False) -> None:
        """Set a lesson's status to "deleted"; its history stays, unless `purge` deletes all of it for good.

        Raises:
            StoreError: when the pool is read-only, the lesson is not in it, or it is pinned and `who` is no person.
        """
        self.writable()
        with self.store.transaction():
            self._changeable(lesson_id, who)
            self.store.remove_lesson(lesson_id, who=who, why=why, purge=purge)

    def lessons(
        self,
        kind: LessonKind | None = None,
        status: LessonStatus | None = "active",
        key: str | None = None,
        query: str | None = None,
    ) -> list[Lesson]:
        """Lessons in order of insertion, from memory unless there is a query.

        Args:
            kind: only this kind.
            status: only this status; None gives deleted ones too.
            key: only those with exactly this key.
            query: only those whose key or text contains this, whatever the case.
        """
        if query:
            return self.store.lessons(self.scope, kind=kind, status=status, key=key, query=query)
        state = self._current_lessons()
        return list(state.choose(kind, status) if key is None else state.under(key, kind, status))

    def keep_verdict(self, trajectory_id: str, success: bool) -> None:
        """Keep, for a run alone, what a model took an attempt to be that was not told how it ended; the first stays.

        Raises:
            StoreError: when the pool is read-only.
        """
        self.writable()
        if self.run_id:
            verdict = Reply(text=trajectory_id, parsed=success)
            self.store.journal_put(f"{self.scope}{JUDGED}", trajectory_id, verdict)

    def verdicts(self) -> dict[str, bool]:
        """What `keep_verdict` kept, by the ids of the attempts."""
        kept = self.store.journal_ending(f"{self.scope}{JUDGED}", "")
        return {verdict.text: verdict.parsed for _, verdict in kept if isinstance(verdict.parsed, bool)}

    def passed_over(self, problem: str) -> None:
        """Keep a sentence on what a learning could not use, for whoever reports on it."""
        self.problems.append(problem)

    def writable(self) -> None:
        """Refuse to go on where nothing may be written.

        Raises:
            StoreError: when the pool is read-only.
        """
        if self.read_only:
            raise StoreError(
                f"the pool of the scope {self.scope!r} is read-only, so that an evaluation cannot learn; "
                "open it without read_only to write to it"
            )

    def taken_away(self, lesson: Lesson) -> bool:
        """Whether a lesson is disabled, or was deleted by a person: then no method learns it again."""
        if lesson.status == "deleted":
            return any(change.who == "person" for change in self.store.history(lesson.id)[-1:])
        return lesson.status == "disabled"

    def _changeable(self, lesson_id: str, who: Who) -> None:
        stored = self.store.get_lesson(lesson_id)
        if stored is None or self.store.scope_of(lesson_id) != self.scope:
            raise StoreError(f"the lesson {lesson_id} is not in the pool of the scope {self.scope!r}; add it first")
        if stored.pinned and who != "person":
            raise StoreError(f"the lesson {lesson_id} is pinned, so only a person may change it; pass it over")
