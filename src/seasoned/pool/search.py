"""What a pool holds now, and what of it is nearest in meaning to a text.

Always holds: what is searched is what the store holds at that moment (a counter in the store is asked each time, and
only what changed is read); a search is exact, and its vectors are made once; no model is called in a transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from seasoned.errors import ConfigError, StoreError
from seasoned.protocols import Embedder
from seasoned.store.snapshot import LessonsSeen, TasksSeen, lessons_now, tasks_now
from seasoned.store.sql import Store
from seasoned.store.vectors import VectorCache, digest, embed
from seasoned.types import Lesson, LessonKind, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Made = TypeVar("Made")


class Searched:
    """The part of `ExperiencePool` that searches. Safe in threads."""

    def __init__(self, store: Store, scope: str, experience: str, embedder: Embedder | None) -> None:
        self.store, self.scope, self.experience = store, scope, experience
        self._embedder = embedder
        self._lock = threading.RLock()
        self._lessons = LessonsSeen()
        self._tasks = TasksSeen()
        self._vectors: dict[str, VectorCache] = {}

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
