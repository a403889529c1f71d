"""What a pool holds now, and what of it is nearest in meaning to a text.

Always holds: what is searched is what the store holds at that moment (a counter in the store is asked each time, and
only what changed is read); a search is exact, and its vectors are made once; no model is called in a transaction, and
nobody but who searches waits for an embedder, unless something came or changed while it was at work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from seasoned.errors import ConfigError, StoreError
from seasoned.protocols import Embedder
from seasoned.store.snapshot import LessonsSeen, TasksSeen, lessons_now, tasks_now
from seasoned.store.sql import Store, TaskText
from seasoned.store.vectors import VectorCache, digest, embed
from seasoned.types import Lesson, LessonKind, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Made = TypeVar("Made")
State = TypeVar("State")


class Searched:
    """The part of `ExperiencePool` that searches. Safe in threads."""

    def __init__(self, store: Store, scope: str, experience: str, embedder: Embedder | None) -> None:
        self.store, self.scope, self.experience = store, scope, experience
        self._embedder = embedder
        self._lock = threading.RLock()
        self._lessons = LessonsSeen()
        self._tasks = TasksSeen()
        self._vectors: dict[str, VectorCache] = {}

    @property
    def searches(self) -> bool:
        """Whether it has an embedder, so that it can be searched by meaning."""
        return self._embedder is not None

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
        vectors = self._cache("lesson", embedder)

        def look() -> tuple[LessonsSeen, Iterable[tuple[str, str]]]:
            state = self._current_lessons()
            active = [] if kind in state.rows else state.choose(kind, "active")
            return state, ((lesson.id, _words(lesson)) for lesson in active)

        def find(state: LessonsSeen) -> list[tuple[Lesson, float]]:
            if kind not in state.rows:
                state.rows[kind] = vectors.rows([lesson.id for lesson in state.choose(kind, "active")])
            found = vectors.search(query, k, state.rows[kind])
            return [(state.by_id[lesson_id], score) for lesson_id, score in found]

        return self._with_vectors(vectors, look, find)

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
        vectors = self._cache("trajectory", embedder)

        def wanted(state: TasksSeen) -> list[TaskText]:
            return [item for item in state.items if success is None or item.success is success]

        def look() -> tuple[TasksSeen, Iterable[tuple[str, str]]]:
            state = self._current_tasks()
            items = [] if success in state.rows else wanted(state)
            return state, ((item.id, item.task) for item in items)

        def find(state: TasksSeen) -> dict[str, float]:
            if success not in state.rows:
                state.rows[success] = vectors.rows([item.id for item in wanted(state)])
            return dict(vectors.search(query, k, state.rows[success]))

        found = self._with_vectors(vectors, look, find)
        return [(trajectory, found[trajectory.id]) for trajectory in self.store.get_trajectories(list(found))]

    def text_rows(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Where the vectors of texts stand that are no lesson's, for `nearest_texts`; made once, and stored.

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`.
        """
        cache = self._cache("text", self._searchable())
        marks = [digest(text) for text in texts]
        items = dict(zip(marks, texts, strict=True)).items()
        return self._with_vectors(cache, lambda: (marks, items), cache.rows)

    def nearness(self, text: str, texts: Iterable[str]) -> dict[str, float]:
        """How near each of these texts is in meaning to a text: inner products of unit vectors, in [-1, 1].

        Raises:
            ConfigError, ContractError, StoreError: as `nearest_lessons`; not where there are no texts.
        """
        items = {digest(each): each for each in texts}
        if not items:
            return {}
        embedder = self._searchable()
        cache, query = self._cache("text", embedder), embed(embedder, [text])[0]

        def find(marks: list[str]) -> dict[str, float]:
            return {items[mark]: score for mark, score in cache.search(query, len(marks), cache.rows(marks))}

        marks = list(items)
        return self._with_vectors(cache, lambda: (marks, items.items()), find)

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
        cache = self._cache("lesson", self._searchable())
        ids, items = [lesson.id for lesson in lessons], [(lesson.id, _words(lesson)) for lesson in lessons]
        return self._with_vectors(cache, lambda: (ids, items), cache.matrix)

    def _with_vectors(
        self,
        cache: VectorCache,
        look: Callable[[], tuple[State, Iterable[tuple[str, str]]]],
        use: Callable[[State], Made],
    ) -> Made:
        """Use the vectors of all that is to be compared; those that are missing are made without the pool's lock.

        Args:
            cache: the vectors.
            look: gives what is searched now, and the (id, text) that it needs vectors of.
            use: what is done with them. Both are called with the lock held.
        """
        with self._lock:
            first, items = look()
            missing = cache.missing(items)
            if not missing:
                return use(first)
        with cache.filling:
            with self._lock:
                missing = cache.missing(missing.items())  # others may have made them meanwhile
            made = list(cache.made(missing))
            with self._lock:
                state, items = look()
                wanted = cache.missing(missing.items() if state is first else items)
                for ids, vectors in made:
                    still = [n for n, i in enumerate(ids) if wanted.get(i) == missing[i]]  # a text may have changed
                    cache.keep([ids[n] for n in still], vectors[still], missing)
                cache.fill(wanted.items())  # what came meanwhile
                return use(state)

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
        with self._lock:
            if owner not in self._vectors:
                self._vectors[owner] = VectorCache(self.store, owner, embedder)
            return self._vectors[owner]


def _words(lesson: Lesson) -> str:
    return f"{lesson.key}\n{lesson.text}" if lesson.key else lesson.text
