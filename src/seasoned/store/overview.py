"""Counts the new lessons and attempts of a store's memories in a period, for the overview page.

Always holds: nothing is written; only the newest 50,000 attempts are counted, to stay quick.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from seasoned.store import schema
from seasoned.store.database import Database

_NEWEST = 50_000
_HOME = "memory/"
_t, _l = schema.trajectories.c, schema.lessons.c


@dataclass(frozen=True)
class Brought:
    """Numbers of new lessons, and of new attempts by outcome."""

    lessons: int
    solved: int
    failed: int
    unknown: int

    @property
    def attempts(self) -> int:
        """All attempts."""
        return self.solved + self.failed + self.unknown

    @property
    def rate(self) -> float | None:
        """The share of solved attempts among those with a known outcome; None without any."""
        known = self.solved + self.failed
        return self.solved / known if known else None


def brought(store: Database, since: str, until: str) -> Brought:
    """What was added to the memories from `since` until before `until` (ISO 8601, UTC)."""
    newest = select(func.max(_t.seq) - _NEWEST).scalar_subquery()
    added = select(func.count()).where(_l.scope.startswith(_HOME), _l.created >= since, _l.created < until)
    tests = _t.scope.startswith(_HOME), _t.seq > newest, _t.created >= since, _t.created < until
    outcomes = select(_t.success, func.count()).where(*tests).group_by(_t.success)
    with store._read() as connection:
        lessons = int(connection.execute(added.where(_l.status != "deleted")).scalar_one())
        counts: dict[bool | None, int] = {row[0]: row[1] for row in connection.execute(outcomes)}
    return Brought(lessons, counts.get(True, 0), counts.get(False, 0), counts.get(None, 0))


def without_outcome(store: Database) -> int:
    """The number of attempts of memories without an outcome."""
    query = select(func.count()).where(_t.scope.startswith(_HOME), _t.success.is_(None))
    with store._read() as connection:
        return int(connection.execute(query).scalar_one())
