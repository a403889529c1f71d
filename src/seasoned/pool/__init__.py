"""The experience pool: the trajectories and lessons of one scope, with search over them.

Always holds: each read returns the store's present content, whichever program wrote it (it reads a counter, and then
only what changed); writes of an open transaction, which may be rolled back, are never cached; only a person changes a
pinned lesson; a pool reads and writes nothing outside its scope; a read-only pool writes nothing but vectors, which can
be computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from seasoned.errors import ConfigError, StoreError
from seasoned.pool.state import Growing, Known, LessonsSeen, TasksSeen, lessons_now, tasks_now
from seasoned.protocols import Embedder
from seasoned.store import lessons as lesson_table
from seasoned.store.index import VectorIndex
from seasoned.store.lessons import Of
from seasoned.store.nearby import LEAST, Nearby
from seasoned.store.scanned import Scanned
from seasoned.store.sql import Store
from seasoned.store.vectors import digest, embed
from seasoned.types import Lesson, LessonKind, LessonStatus, Trajectory, by_person

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JUDGED = "/judged"
"""The suffix of the scope of marks that has the verdicts on a pool's attempts."""

Who = Literal["model", "person", "rule"]
Made = TypeVar("Made")


class Collection(Protocol):
    """An object made from a pool's attempts; see `ExperiencePool.collected`."""

    def add(self, trajectories: Sequence[Trajectory]) -> None:
        """Add attempts, each once, in order of insertion; other threads may read at the same time."""


Collected = TypeVar("Collected", bound=Collection)


class ExperiencePool:
    """All trajectories and lessons of one scope. Safe in threads.

    `problems` are sentences about what methods could not use while they learned through this pool; see `passed_over`.
    `skipped` maps the id of an attempt to the reason why it taught nothing yet; see `skip`.

    A search by meaning raises ConfigError when the pool has no embedder, ContractError when the embedder breaks its
    contract, and StoreError inside `Store.transaction`, where no model may be called. Every write raises StoreError
    when the pool is read-only.
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
        """Open one scope of a store; reads nothing until needed.

        Args:
            store: holds the trajectories and lessons.
            scope: the name of the pool.
            run_id: the run of new trajectories, or "".
            embedder: for search by meaning.
            experience: the scope of the trajectories, if several pools of lessons share them.
            read_only: refuse every write, as in an evaluation.
            tasks: the tasks whose attempts may be shown as demonstrations; None for all.
        """
        self.store, self.scope, self.experience = store, scope, experience or scope
        self.run_id = run_id
        self.read_only = read_only
        self.tasks = tasks
        self.problems: list[str] = []
        self.skipped: dict[str, str] = {}
        self.embedder = embedder
        self._known = Known()

    def __repr__(self) -> str:
        return f"ExperiencePool({self.store!r}, {self.scope!r}{', read_only=True' if self.read_only else ''})"

    def begin_with(self, other: ExperiencePool) -> None:
        """Share the cache of another pool with the same scopes and embedder; only later changes are read."""
        self._known = other._known

    def record(self, trajectory: Trajectory) -> Trajectory:
        """Store a trajectory; an existing one stays unchanged.

        Raises:
            StoreError: when the id is taken by another trajectory.
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
        """Add new lessons, all or none; `why` is one line for their history.

        Returns:
            The lessons as stored.

        Raises:
            StoreError: when an id is taken.
        """
        self.writable()
        several = [lessons] if isinstance(lessons, Lesson) else lessons
        return self.store.add_lessons(self.scope, several, who=who, why=why)

    def update(self, lesson: Lesson, *, why: str = "", who: Who = "model") -> Lesson:
        """Store a changed lesson as its next version; the given one has the version it was read at.

        Returns:
            The lesson as stored; further changes start from it.

        Raises:
            ConflictError: when the stored lesson was changed after it was read.
            StoreError: when the lesson is not in the pool, or it is pinned and `who` is not a person.
        """
        self.writable()
        with self.store.transaction():
            self._changeable(lesson.id, who)
            return self.store.update_lesson(lesson, who=who, why=why)

    def remove(self, lesson_id: str, *, why: str = "", who: Who = "model", purge: bool = False) -> None:
        """Set a lesson's status to "deleted"; with `purge`, delete it and its history permanently.

        Raises:
            StoreError: when the lesson is not in the pool, or it is pinned and `who` is not a person.
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
        """Lessons in order of insertion, from the cache unless there is a query; filtered as by `Store.lessons`."""
        if query:
            return self.store.lessons(self.scope, kind=kind, status=status, key=key, query=query)
        state = self._current_lessons()
        return list(state.choose(kind, status) if key is None else state.under(key, kind, status))

    def taught(self, kind: LessonKind, trajectories: Sequence[Trajectory]) -> set[str]:
        """The ids of those of these attempts that lessons of a kind, deleted ones included, were learned from."""
        return lesson_table.taught(self.store, self.scope, kind, [trajectory.id for trajectory in trajectories])

    @property
    def searches(self) -> bool:
        """Whether the pool has an embedder and so can be searched by meaning."""
        return self.embedder is not None

    def derived(
        self,
        make: Callable[[Sequence[Lesson]], Made],
        kind: LessonKind | None = None,
        status: LessonStatus | None = "active",
    ) -> Made:
        """An object that a function makes from lessons, such as an index, cached until lessons change.

        If lessons were only added, a `Growing` object gets only those.

        Args:
            make: a module-level function, called with the lessons in order of insertion; it must not change the list.
            kind: only this kind.
            status: only this status; None for all.
        """
        with self._known.lock:
            state = self._current_lessons()
            lessons, key = state.choose(kind, status), (make, kind, status)
            product, count = state.derived.get(key, (None, -1))
            if 0 <= count < len(lessons) and isinstance(product, Growing):
                product.add(lessons[count:])
            elif count != len(lessons):
                product = make(lessons)
            state.derived[key] = product, len(lessons)
            result: Made = product
            return result

    def collected(self, kind: type[Collected]) -> Collected:
        """An object, such as an index, whose `add` has received every attempt of the pool once.

        It is cached, and gets only new attempts; after a deletion it is made again.
        """
        with self._known.lock:
            tasks = self._current_tasks()
            collection, purges, count = self._known.collections.get(kind, (kind(), tasks.purges, 0))
            if purges != tasks.purges:
                collection, count = kind(), 0
            if new := tasks.items[count:]:
                collection.add(self.store.get_trajectories([item.id for item in new]))
            if not self.store.in_transaction:
                self._known.collections[kind] = collection, tasks.purges, len(tasks.items)
            assert isinstance(collection, kind)
            return collection

    def nearest_lessons(self, text: str, k: int, kind: LessonKind | None = None) -> list[tuple[Lesson, float]]:
        """The active lessons nearest in meaning to a text, best first; of equals, the older first.

        Compares keys and texts. Missing vectors are computed once, in batches, and stored. Scores are inner products of
        unit vectors, in [-1, 1].
        """
        if (found := self.found_in_database(text, k, kind, _words)) is not None:
            return found
        index = self._index("lesson")
        if k <= 0 or not (self._known.lessons.by_id or self._current_lessons().by_id):
            return []
        query = index.query(text)

        def look() -> tuple[LessonsSeen, Iterable[tuple[str, str]]]:
            state = self._current_lessons()
            new = state.choose(kind, "active")[len(state.rows.get(kind, ())) :]
            return state, ((lesson.id, _words(lesson)) for lesson in new)

        def find(state: LessonsSeen) -> list[tuple[Lesson, float]]:
            rows = state.rows.get(kind)
            ids = [lesson.id for lesson in state.choose(kind, "active")[0 if rows is None else len(rows) :]]
            state.rows[kind] = rows = index.rows(ids, rows)
            return [(state.by_id[i], score) for i, score in index.search(query, k, rows)]

        return index.compare(look, find)

    def found_in_database(
        self, text: str, k: int, kind: LessonKind | None, of: Of
    ) -> list[tuple[Lesson, float]] | None:
        """The active lessons nearest to a text, found by the store; None if this pool is searched in memory.

        The store searches scopes of `nearby.LEAST` lessons or more, so that no lesson is held here. Scores of Postgres
        with pgvector are right to three digits.

        Args:
            text: the query.
            k: the most lessons.
            kind: only this kind; None for all.
            of: returns the text of a lesson to compare with; a module-level function.
        """
        near = self.nearby
        if near is None or self.embedder is None or self.store.in_transaction:
            return None
        if k <= 0:
            return []
        query: NDArray[np.float32] = embed(self.embedder, [text])[0]
        near.fill(self.scope, of, self.embedder)
        return near.nearest(self.scope, of, self.embedder, query, k, kind, "active")

    @property
    def nearby(self) -> Nearby | Scanned | None:
        """The store's search, if the scope is large enough for it."""
        known = self._known
        if known.nearby is None and self.embedder is not None and not self.store.in_transaction:
            with known.lock:
                held = len(known.lessons.by_id)
                large = held >= LEAST if known.lessons.change else lesson_table.has(self.store, self.scope, LEAST)
                if large and self.store.nearby is not None:
                    known.nearby, known.lessons = self.store.nearby, LessonsSeen()
                    known.indexes.pop("lesson", None)
        return known.nearby

    def nearest_trajectories(self, text: str, k: int, success: bool | None = None) -> list[tuple[Trajectory, float]]:
        """The trajectories whose tasks are nearest in meaning to a text; otherwise as `nearest_lessons`.

        `success` selects successes (True), failures (False), or all including unknown ones (None).
        """
        index = self._index("trajectory")
        if k <= 0 or not self._current_tasks().items:
            return []
        query = index.query(text)

        def look() -> tuple[TasksSeen, Iterable[tuple[str, str]]]:
            state = self._current_tasks()
            return state, ((item.id, item.task) for item in state.unseen(success))

        def find(state: TasksSeen) -> dict[str, float]:
            rows = index.rows([item.id for item in state.unseen(success)], state.rows.get(success, (None, 0))[0])
            state.rows[success] = rows, len(state.items)
            return dict(index.search(query, k, rows))

        scores = index.compare(look, find)
        return [(trajectory, scores[trajectory.id]) for trajectory in self.store.get_trajectories(list(scores))]

    def text_rows(self, texts: Sequence[str], before: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """The rows of the vectors of texts other than lessons, for `nearest_texts`; computed once, and stored.

        They are appended to `before`, the rows of earlier texts.
        """
        index = self._index("text")
        digests = [digest(text) for text in texts]
        items = dict(zip(digests, texts, strict=True)).items()
        return index.compare(lambda: (digests, items), lambda ids: index.rows(ids, before))

    def nearest_texts(self, text: str, rows: NDArray[np.intp], k: int | None = None) -> list[int]:
        """At most k positions in `rows` (from `text_rows`) of the texts nearest in meaning, best first."""
        index = self._index("text")
        query = index.query(text)
        with self._known.lock:
            return index.places(query, rows, k)

    def nearness(self, text: str, texts: Iterable[str]) -> dict[str, float]:
        """The similarity in meaning of each text to one text: inner products of unit vectors, in [-1, 1]."""
        items = {digest(each): each for each in texts}
        if not items:
            return {}
        index = self._index("text")
        query, digests = index.query(text), list(items)

        def find(digests: list[str]) -> dict[str, float]:
            return {items[i]: score for i, score in index.search(query, len(digests), index.rows(digests))}

        return index.compare(lambda: (digests, items.items()), find)

    def vectors(self, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
        """The vectors of lessons of this pool, as search compares them: unit rows, float32 of shape (n, dim)."""
        index = self._index("lesson")
        ids, items = [lesson.id for lesson in lessons], [(lesson.id, _words(lesson)) for lesson in lessons]
        return index.compare(lambda: (ids, items), index.matrix)

    def keep_verdict(self, trajectory_id: str, success: bool) -> None:
        """Store a model's verdict on an attempt whose outcome it did not see; only in runs, and the first stays."""
        self.writable()
        if self.run_id:
            self.store.mark(f"{self.scope}{JUDGED}", trajectory_id, success, replace=False)

    def verdicts(self) -> dict[str, bool]:
        """The verdicts that `keep_verdict` stored, by ids of attempts."""
        return self.store.marks(f"{self.scope}{JUDGED}")

    def passed_over(self, problem: str) -> None:
        """Add to `problems` a sentence about what a method could not use while it learned."""
        self.problems.append(problem)

    def skip(self, attempts: Iterable[Trajectory], why: str) -> None:
        """Record in `skipped` why attempts teach nothing yet, so that the caller can report it and try again."""
        self.skipped.update((attempt.id, why) for attempt in attempts)

    def writable(self) -> None:
        """Raise if the pool is read-only.

        Raises:
            StoreError: when the pool is read-only.
        """
        if self.read_only:
            raise StoreError(
                f"the pool of the scope {self.scope!r} is read-only, so that an evaluation cannot learn; "
                "open it without read_only to write to it"
            )

    def taken_away(self, lesson: Lesson) -> bool:
        """Whether a lesson is disabled, or a person deleted it, so that no method may learn it again."""
        if lesson.status == "deleted":
            return any(by_person(change.who) for change in self.store.history(lesson.id)[-1:])
        return lesson.status == "disabled"

    def _changeable(self, lesson_id: str, who: Who) -> None:
        stored = self.store.get_lesson(lesson_id)
        if stored is None or self.store.scope_of(lesson_id) != self.scope:
            raise StoreError(f"the lesson {lesson_id} is not in the pool of the scope {self.scope!r}; add it first")
        if stored.pinned and who != "person":
            raise StoreError(f"the lesson {lesson_id} is pinned, so only a person may change it; skip it")

    def _current_lessons(self) -> LessonsSeen:
        if self.store.in_transaction:
            return lessons_now(self.store, self.scope, LessonsSeen())
        with self._known.lock:
            self._known.lessons = lessons_now(self.store, self.scope, self._known.lessons)
            return self._known.lessons

    def _current_tasks(self) -> TasksSeen:
        if self.store.in_transaction:
            return tasks_now(self.store, self.experience, TasksSeen())
        with self._known.lock:
            self._known.tasks = tasks_now(self.store, self.experience, self._known.tasks)
            return self._known.tasks

    def _index(self, owner: str) -> VectorIndex:
        if self.embedder is None:
            raise ConfigError("a search by meaning needs an embedder; give one to ExperiencePool(..., embedder=...)")
        if self.store.in_transaction:
            raise StoreError("a search by meaning calls an embedder: call it outside transaction()")
        with self._known.lock:
            if owner not in self._known.indexes:
                self._known.indexes[owner] = VectorIndex(self.store, owner, self.embedder, self._known.lock)
            return self._known.indexes[owner]


def _words(lesson: Lesson) -> str:
    return f"{lesson.key}\n{lesson.text}" if lesson.key else lesson.text
