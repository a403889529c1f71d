"""The experience pool: the trajectories and lessons of one scope, with search over them.

Always holds: what it gives is what the store holds at that moment, whoever wrote it (a counter in the store is asked
each time, and only what changed is read); a pinned lesson is changed by a person alone; nothing outside its scope is
seen or touched; a read-only pool adds and changes no experience (vectors, which can be made anew, it may store).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from seasoned.errors import ConfigError, StoreError
from seasoned.protocols import Embedder
from seasoned.store.snapshot import LessonsSeen, TasksSeen, lessons_now, tasks_now
from seasoned.store.sql import Store
from seasoned.store.vectors import VectorCache, digest, embed
from seasoned.types import Lesson, LessonKind, LessonStatus, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Who = Literal["model", "person", "rule"]
Made = TypeVar("Made")


class ExperiencePool:
    """All trajectories and lessons of one scope. Safe in threads."""

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
        self.store, self.scope, self.run_id = store, scope, run_id
        self.experience = experience or scope
        self.read_only = read_only
        self.tasks = tasks
        self._embedder = embedder
        self._lock = threading.RLock()
        self._lessons = LessonsSeen()
        self._tasks = TasksSeen()
        self._vectors: dict[str, VectorCache] = {}

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

    def derived(self, make: Callable[[Sequence[Lesson]], Made], kind: LessonKind | None = None) -> Made:
        """What a function makes from the active lessons, such as an index; made again only when lessons changed.

        Args:
            make: called with the lessons in order of insertion, which it does not change; a function of a module.
            kind: only this kind.
        """
        state = self._current_lessons()
        if (make, kind) not in state.derived:
            state.derived[make, kind] = make(state.choose(kind, "active"))
        made: Made = state.derived[make, kind]
        return made

    def nearest_lessons(self, text: str, k: int, kind: LessonKind | None = None) -> list[tuple[Lesson, float]]:
        """The active lessons nearest in meaning to a text, exactly, best first; of equals, the older first.

        What is compared is the lesson's key and text. Vectors that the store lacks are made here, in batches, once.

        Args:
            text: what to look for.
            k: at most so many.
            kind: only this kind.

        Returns:
            Lessons with their scores: inner products of unit vectors, in [-1, 1].

        Raises:
            ConfigError: when the pool has no embedder.
            ContractError: when the embedder gives something else than it promised.
            StoreError: inside `Store.transaction`, where no model may be called.
        """
        embedder = self._searchable()
        if k <= 0 or not self._current_lessons().choose(kind, "active"):
            return []
        query = embed(embedder, [text])[0]
        with self._lock:
            state = self._current_lessons()
            active = state.choose(kind, "active")
            vectors = self._cache("lesson", embedder)
            rows = state.rows.get(kind)
            if rows is None:
                vectors.fill([(lesson.id, _words(lesson)) for lesson in active])
                rows = state.rows[kind] = vectors.rows([lesson.id for lesson in active])
            found = vectors.search(query, k, rows)
        return [(state.by_id[lesson_id], score) for lesson_id, score in found]

    def nearest_trajectories(self, text: str, k: int, success: bool | None = None) -> list[tuple[Trajectory, float]]:
        """The trajectories whose tasks are nearest in meaning to a text, found as `nearest_lessons` finds lessons.

        Args:
            text: what to look for, as a rule the text of a task.
            k: at most so many.
            success: only successes (True) or failures (False); None for all, unknown ones too.

        Returns:
            Trajectories with their scores: inner products of unit vectors, in [-1, 1].

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`.
        """
        embedder = self._searchable()
        if k <= 0 or not self._current_tasks().items:
            return []
        query = embed(embedder, [text])[0]
        with self._lock:
            state = self._current_tasks()
            vectors = self._cache("trajectory", embedder)
            rows = state.rows.get(success)
            if rows is None:
                wanted = [item for item in state.items if success is None or item.success is success]
                vectors.fill([(item.id, item.task) for item in wanted])
                rows = state.rows[success] = vectors.rows([item.id for item in wanted])
            found = dict(vectors.search(query, k, rows))
        return [(trajectory, found[trajectory.id]) for trajectory in self.store.get_trajectories(list(found))]

    def text_rows(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Where the vectors of texts stand that are no lesson's, for `nearest_texts`; made once, and stored.

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`.
        """
        embedder = self._searchable()
        marks = [digest(text) for text in texts]
        with self._lock:
            cache = self._cache("text", embedder)
            cache.fill(list(dict(zip(marks, texts, strict=True)).items()))
            return cache.rows(marks)

    def nearest_texts(self, text: str, rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """Which rows of `text_rows` are nearest in meaning to a text: at most k places in `rows`, best first.

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`.
        """
        embedder = self._searchable()
        query = embed(embedder, [text])[0]
        with self._lock:
            return self._cache("text", embedder).places(query, rows, k)

    def vectors(self, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
        """The vectors that a search compares, of lessons of this pool: unit rows, float32 of shape (n, dim).

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`.
        """
        embedder = self._searchable()
        with self._lock:
            cache = self._cache("lesson", embedder)
            cache.fill([(lesson.id, _words(lesson)) for lesson in lessons])
            return cache.matrix([lesson.id for lesson in lessons])

    def _current_lessons(self) -> LessonsSeen:
        if self.store.in_transaction:
            return lessons_now(self.store, self.scope, LessonsSeen())
        with self._lock:
            self._lessons = lessons_now(self.store, self.scope, self._lessons)
            return self._lessons

    def _current_tasks(self) -> TasksSeen:
        with self._lock:
            self._tasks = tasks_now(self.store, self.experience, self._tasks)
            return self._tasks

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

    def _changeable(self, lesson_id: str, who: Who) -> None:
        stored = self.store.get_lesson(lesson_id)
        if stored is None or self.store.scope_of(lesson_id) != self.scope:
            raise StoreError(f"the lesson {lesson_id} is not in the pool of the scope {self.scope!r}; add it first")
        if stored.pinned and who != "person":
            raise StoreError(f"the lesson {lesson_id} is pinned, so only a person may change it; pass it over")

    def _searchable(self) -> Embedder:
        if self._embedder is None:
            raise ConfigError("a search by meaning needs an embedder; give one to ExperiencePool(..., embedder=...)")
        if self.store.in_transaction:
            raise StoreError("a search by meaning calls an embedder, so it has no place inside transaction()")
        return self._embedder

    def _cache(self, owner: str, embedder: Embedder) -> VectorCache:
        if owner not in self._vectors:
            self._vectors[owner] = VectorCache(self.store, owner, embedder)
        return self._vectors[owner]


def _words(lesson: Lesson) -> str:
    return f"{lesson.key}\n{lesson.text}" if lesson.key else lesson.text
