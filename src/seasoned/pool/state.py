"""What a pool remembers of its scope between two questions, and how it is brought up to date.

Always holds: a state is never changed by a later one (a change of lessons or trajectories makes a new state).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seasoned.store.sql import Store, TaskText
from seasoned.types import Lesson, LessonKind, LessonStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Filter = tuple[LessonKind | None, LessonStatus | None]


@dataclass
class LessonsSeen:
    """The lessons of a scope at one count of its changes; `rows` is for the search over their vectors,
    `derived` for what else is made from them."""

    change: int = 0
    purges: int = 0
    by_id: dict[str, Lesson] = field(default_factory=dict)
    rows: dict[LessonKind | None, NDArray[np.intp]] = field(default_factory=dict)
    derived: dict[Any, Any] = field(default_factory=dict)
    _lists: dict[_Filter, list[Lesson]] = field(default_factory=dict)
    _keyed: dict[_Filter, dict[str, list[Lesson]]] = field(default_factory=dict)

    def choose(self, kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
        """Lessons of a kind and a status (None: any), in order of insertion; a shared list, not to be changed."""
        if (kind, status) not in self._lists:
            self._lists[kind, status] = [
                lesson
                for lesson in self.by_id.values()
                if (kind is None or lesson.kind == kind) and (status is None or lesson.status == status)
            ]
        return self._lists[kind, status]

    def under(self, key: str, kind: LessonKind | None, status: LessonStatus | None) -> list[Lesson]:
        """Lessons of a kind and a status that have this key."""
        keyed = self._keyed.get((kind, status))
        if keyed is None:
            keyed = {}
            for lesson in self.choose(kind, status):
                keyed.setdefault(lesson.key, []).append(lesson)
            self._keyed[kind, status] = keyed
        return keyed.get(key, [])


@dataclass
class TasksSeen:
    """The trajectories of a scope, as a search sees them, at one count of its changes."""

    change: int = 0
    purges: int = 0
    items: list[TaskText] = field(default_factory=list)
    rows: dict[bool | None, NDArray[np.intp]] = field(default_factory=dict)


def lessons_now(store: Store, scope: str, seen: LessonsSeen) -> LessonsSeen:
    """The state itself when the scope has the same lessons still, or else a new one; only what changed is read."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.by_id if seen.purges == purges else {}
    news = store.lessons_since(scope, seen.change if old else 0)
    if not news and old:
        seen.change = change
        return seen
    return LessonsSeen(change, purges, {**old, **{lesson.id: lesson for lesson in news}})


def tasks_now(store: Store, scope: str, seen: TasksSeen) -> TasksSeen:
    """The same for trajectories."""
    change, purges = store.changes(scope)
    if (seen.change, seen.purges) == (change, purges):
        return seen
    old = seen.items if seen.purges == purges else []
    news = store.task_texts(scope, after=old[-1].seq if old else 0)
    if not news and old:
        seen.change = change
        return seen
    return TasksSeen(change, purges, [*old, *news])
