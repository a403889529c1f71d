"""Retention: attempts older than a day are deleted for good, and so are lessons that were deleted before it.

Always holds: what was learned stays, with its history and its counts of evidence; attempts of a run stay, since its
report is made from them; a dry run deletes nothing and counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from seasoned.store import schema

if TYPE_CHECKING:
    from seasoned.store.sql import Store

_t, _l = schema.trajectories.c, schema.lessons.c


@dataclass(frozen=True)
class Pruned:
    """What of a pool was too old: attempts, and lessons that had been deleted."""

    scope: str
    attempts: int
    lessons: int


def prune(store: Store, before: str, scopes: Sequence[str], *, dry_run: bool = False) -> list[Pruned]:
    """Delete what is older in these pools.

    Args:
        store: where.
        before: a time in ISO 8601, UTC.
        scopes: the pools.
        dry_run: count, and delete nothing.

    Returns:
        A line for each pool that had something.
    """
    pruned = []
    for scope in scopes:
        old = _t.scope == scope, _t.run_id == "", _t.created < before
        gone = _l.scope == scope, _l.status == "deleted", _l.updated < before
        with store._read() as connection:
            attempts = connection.execute(select(_t.id).where(*old)).scalars().all()
            lessons = connection.execute(select(_l.id).where(*gone)).scalars().all()
        if attempts or lessons:
            pruned.append(Pruned(scope, len(attempts), len(lessons)))
        if not dry_run:
            if attempts:
                store.remove_trajectories(scope, attempts)
            for lesson_id in lessons:
                store.remove_lesson(lesson_id, who="person", purge=True)
    if pruned and not dry_run:
        store.drop_loose_vectors()
        store.scrub()
    return pruned
