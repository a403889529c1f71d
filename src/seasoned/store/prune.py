"""Retention: deletes old attempts permanently, and lessons whose status was set to "deleted" long ago.

Always holds: other lessons stay, with their histories and counts of evidence; attempts of runs stay, since reports are
made from them; a dry run deletes nothing and returns the same counts.
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
    """The numbers of old attempts and old deleted lessons of a pool."""

    scope: str
    attempts: int
    lessons: int


def prune(store: Store, before: str, scopes: Sequence[str], *, dry_run: bool = False) -> list[Pruned]:
    """Delete old attempts and old deleted lessons of some pools permanently.

    Args:
        store: the store.
        before: older ones are deleted; a time in ISO 8601, UTC.
        scopes: the pools.
        dry_run: only count.

    Returns:
        The counts of each pool that had any.
    """
    pruned = []
    for scope in scopes:
        old = _t.scope == scope, _t.run_id == "", _t.created < before
        deleted = _l.scope == scope, _l.status == "deleted", _l.updated < before
        with store._read() as connection:
            attempts = connection.execute(select(_t.id).where(*old)).scalars().all()
            lessons = connection.execute(select(_l.id).where(*deleted)).scalars().all()
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
