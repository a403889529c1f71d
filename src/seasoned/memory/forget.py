"""Forgetting: deletion that deletes, of attempts and lessons of one namespace.

Always holds: all that was named is deleted, or nothing; nothing outside the namespace is touched; attempts that were
shown what is forgotten lose the guidance they had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seasoned.errors import ConfigError, StoreError
from seasoned.memory.screened import ScreenedPool


class Forgotten(NamedTuple):
    """How many attempts and lessons were deleted; `kept` are the lessons that other attempts taught as well.

    Some of those may tell of the forgotten attempts in an earlier version alone. `erased` is False where another
    program was reading: then SQLite's log beside the file holds what was deleted until the store is closed or scrubbed.
    """

    attempts: int
    lessons: int
    kept: tuple[str, ...] = ()
    erased: bool = True


def forget(pool: ScreenedPool, ids: Sequence[str], *, everything: bool) -> Forgotten:
    """Delete what `Memory.forget` was asked to.

    Raises:
        ConfigError: when neither ids nor everything is given, or both.
        StoreError: when an id is not in this namespace.
    """
    if bool(ids) == everything:
        raise ConfigError("give what is to be forgotten: ids of attempts or lessons, or everything=True")
    store = pool.store
    with store.transaction(*pool.scopes):
        if everything:
            counts = [store.clear_scope(scope) for scope in reversed(pool.scopes)]
            done = Forgotten(sum(attempts for attempts, _ in counts), sum(lessons for _, lessons in counts))
        else:
            done = _some(pool, list(dict.fromkeys(ids)))
        store.drop_loose_vectors()
    return done._replace(erased=store.scrub())


def _some(pool: ScreenedPool, ids: Sequence[str]) -> Forgotten:
    store = pool.store
    lessons = [i for i in ids if store.scope_of(i) == pool.scope]
    attempts = [i for i in ids if i not in lessons]
    removed = sum(store.remove_trajectories(scope, attempts) for scope in pool.scopes)
    if removed < len(attempts):
        raise StoreError(
            f"not all of these are attempts or lessons of {pool.scope!r}, so nothing was deleted: "
            f"{', '.join(attempts[:5])}"
        )
    if attempts:
        store.blank_demonstrations(pool.scopes, attempts)
    taught = store.lessons_from(pool.scope, attempts) if attempts else {}
    alone = [i for i, others in taught.items() if not others and i not in lessons]
    for lesson_id in (*lessons, *alone):
        store.remove_lesson(lesson_id, who="person", purge=True)
    return Forgotten(removed, len(lessons) + len(alone), tuple(i for i in taught if taught[i] and i not in lessons))
