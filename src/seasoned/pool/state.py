"""The cache that pools have of their scope, and how it is brought up to date.

Always holds: a state holds its scope's content at one count of changes; if there were only additions, the next state
extends this one, so that an addition costs only what it adds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from seasoned.store.sql import Store, TaskText
from seasoned.types import Lesson, LessonKind, LessonStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seasoned.store.index import VectorIndex

_Filter = tuple[LessonKind | None, LessonStatus | None]


@runtime_checkable
class Growing(Protocol):
    """Something made from lessons that can take in later ones; see `ExperiencePool.derived`."""

    def add(self, lessons: Sequence[Lesson]) -> None:
        """Take in lessons that come after all others; others may read at the same time."""


@dataclass
class LessonsSeen:
    """The lessons of a scope at one count of its changes.

    `rows` serves the search over their vectors; `derived` holds what else is made from them. Both say how many they
    cover.
    """

    change: int = 0
    purges: int = 0
    by_id: dict[str, Lesson] = field(default_factory=dict)
    rows: dict[LessonKind | None, NDArray[np.intp]] = field(default_factory=dict)
    derived: dict[Any, tuple[Any, int]] = field(default_factory=dict)
    _lists: dict[_Filter, list[Lesson]] = field(default_factory=dict)
    _keyed: dict[_Filter, dict[str, list[Lesson]]] = field(default_factory=dict)

    def choose(self, kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
        """Lessons of a kind and status (None: any) in order of insertion, as a shared list that must not be changed."""
        if (kind, status) not in self._lists:
            self._lists[kind, status] = _fitting(list(self.by_id.values()), kind, status)
        return self._lists[kind, status]

    def under(self, key: str, kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
        """Lessons of a kind and status with this key."""
        keyed = self._keyed.get((kind, status))
        if keyed is None:
            keyed = {}
            for lesson in self.choose(kind, status):
                keyed.setdefault(lesson.key, []).append(lesson)
            self._keyed[kind, status] = keyed
        return keyed.get(key, [])

    def after(self, change: int, news: Sequence[Lesson]) -> LessonsSeen:
        """The state after a later change that wrote these lessons; replaces this one."""
        if any(lesson.id in self.by_id for lesson in news):
            return LessonsSeen(change, self.purges, {**self.by_id, **{lesson.id: lesson for lesson in news}})
        self.by_id.update((lesson.id, lesson) for lesson in news)
        lists = {chosen: [*known, *_fitting(news, *chosen)] for chosen, known in self._lists.items()}
        for chosen, keyed in self._keyed.items():
            for lesson in _fitting(news, *chosen):
                keyed[lesson.key] = [*keyed.get(lesson.key, ()), lesson]
        return LessonsSeen(change, self.purges, self.by_id, self.rows, self.derived, lists, self._keyed)


@dataclass
class TasksSeen:
    """The task texts of a scope's trajectories at one count of its changes."""

    change: int = 0
    purges: int = 0
    items: list[TaskText] = field(default_factory=list)
    rows: dict[bool | None, tuple[NDArray[np.intp], int]] = field(default_factory=dict)  # with the items they cover

    def unseen(self, success: bool | None) -> list[TaskText]:
        """The items with this success (None: all) that `rows` does not cover yet."""
        items = self.items[self.rows[success][1] if success in self.rows else 0 :]
        return [item for item in items if success is None or item.success is success]


@dataclass
class Known:
    """The cache that the pools of one scope share; used only while the lock is held."""

    lessons: LessonsSeen = field(default_factory=LessonsSeen)
    tasks: TasksSeen = field(default_factory=TasksSeen)
    indexes: dict[str, VectorIndex] = field(default_factory=dict)
    collections: dict[Any, tuple[Any, int, int]] = field(default_factory=dict)  # with purges and attempts taken in
    lock: threading.RLock = field(default_factory=threading.RLock)


def _fitting(lessons: Sequence[Lesson], kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
    return [x for x in lessons if (kind is None or x.kind == kind) and (status is None or x.status == status)]


def lessons_now(store: Store, scope: str, seen: LessonsSeen) -> LessonsSeen:
    """The same state if the scope's lessons have not changed, else a new one; reads only what changed."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.by_id if seen.purges == purges else {}
    news = store.lessons_since(scope, seen.change if old else 0)
    if not news and old:
        seen.change = change
        return seen
    return seen.after(change, news) if old else LessonsSeen(change, purges, {lesson.id: lesson for lesson in news})


def tasks_now(store: Store, scope: str, seen: TasksSeen) -> TasksSeen:
    """As `lessons_now`, for trajectories."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.items if seen.purges == purges else []
    news = store.task_texts(scope, after=old[-1].seq if old else 0)
    if not news and old:
        seen.change = change
        return seen
    return TasksSeen(change, purges, [*old, *news], seen.rows if old else {})
