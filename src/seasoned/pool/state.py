"""A pool's cache of its scope, and its updates.

Always holds: a state has the scope's content at one count of changes; after additions only, the next state extends this
one, and reads only the additions.
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
    from seasoned.store.nearby import Nearby
    from seasoned.store.scanned import Scanned

_Filter = tuple[LessonKind | None, LessonStatus | None]


@runtime_checkable
class Growing(Protocol):
    """An object made from lessons that can take in later ones; see `ExperiencePool.derived`."""

    def add(self, lessons: Sequence[Lesson]) -> None:
        """Add lessons after all others; other threads may read at the same time."""


@dataclass
class LessonsSeen:
    """The lessons of a scope at one count of its changes.

    `rows` is for the search over their vectors, `derived` for other objects made from them; both may cover only the
    first lessons.
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
            self._lists[kind, status] = _filtered(list(self.by_id.values()), kind, status)
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

    def after(self, change: int, new: Sequence[Lesson]) -> LessonsSeen:
        """The state after a later change that wrote these lessons. It may reuse this state, which is then invalid."""
        if any(lesson.id in self.by_id for lesson in new):
            return LessonsSeen(change, self.purges, {**self.by_id, **{lesson.id: lesson for lesson in new}})
        self.by_id.update((lesson.id, lesson) for lesson in new)
        lists = {chosen: [*known, *_filtered(new, *chosen)] for chosen, known in self._lists.items()}
        for chosen, keyed in self._keyed.items():
            for lesson in _filtered(new, *chosen):
                keyed[lesson.key] = [*keyed.get(lesson.key, ()), lesson]
        return LessonsSeen(change, self.purges, self.by_id, self.rows, self.derived, lists, self._keyed)


@dataclass
class TasksSeen:
    """The task texts of a scope's trajectories at one count of its changes."""

    change: int = 0
    purges: int = 0
    items: list[TaskText] = field(default_factory=list)
    rows: dict[bool | None, tuple[NDArray[np.intp], int]] = field(default_factory=dict)  # with counts of items

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
    collections: dict[Any, tuple[Any, int, int]] = field(default_factory=dict)  # with purges and counts
    nearby: Nearby | Scanned | None = None  # if the scope is so large that the store searches its lessons
    lock: threading.RLock = field(default_factory=threading.RLock)


def _filtered(lessons: Sequence[Lesson], kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
    return [x for x in lessons if (kind is None or x.kind == kind) and (status is None or x.status == status)]


def lessons_now(store: Store, scope: str, seen: LessonsSeen) -> LessonsSeen:
    """The present state of a scope's lessons: `seen` if nothing changed; reads only what changed."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.by_id if seen.purges == purges else {}
    new = store.lessons_since(scope, seen.change if old else 0)
    if not new and old:
        seen.change = change
        return seen
    return seen.after(change, new) if old else LessonsSeen(change, purges, {lesson.id: lesson for lesson in new})


def tasks_now(store: Store, scope: str, seen: TasksSeen) -> TasksSeen:
    """The present state of a scope's trajectories; as `lessons_now`."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.items if seen.purges == purges else []
    new = store.task_texts(scope, after=old[-1].seq if old else 0)
    if not new and old:
        seen.change = change
        return seen
    return TasksSeen(change, purges, [*old, *new], seen.rows if old else {})
