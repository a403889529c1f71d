"""What a span of time brought to the memories of a store, in numbers, for an overview.

Always holds: nothing is written; of attempts, only the newest 50,000 are looked at, so it stays quick.
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
    """Lessons that were added, and attempts by how they ended."""

    lessons: int
    solved: int
    failed: int
    unknown: int

    @property
    def attempts(self) -> int:
        """All of them."""
        return self.solved + self.failed + self.unknown

    @property
    def rate(self) -> float | None:
        """The share that was solved of those whose outcome is known; None where none is."""
        known = self.solved + self.failed
        return self.solved / known if known else None


def brought(store: Database, since: str, until: str) -> Brought:
    """What came into the memories between two times (ISO 8601, UTC)."""
    newest = select(func.max(_t.seq) - _NEWEST).scalar_subquery()
    made = select(func.count()).where(_l.scope.startswith(_HOME), _l.created >= since, _l.created < until)
    tried = _t.scope.startswith(_HOME), _t.seq > newest, _t.created >= since, _t.created < until
    ended = select(_t.success, func.count()).where(*tried).group_by(_t.success)
    with store._read() as connection:
        lessons = int(connection.execute(made.where(_l.status != "deleted")).scalar_one())
        counts: dict[bool | None, int] = {row[0]: row[1] for row in connection.execute(ended)}
    return Brought(lessons, counts.get(True, 0), counts.get(False, 0), counts.get(None, 0))


def without_outcome(store: Database) -> int:
    """How many attempts of memories wait for somebody to say how they ended."""
    wanted = select(func.count()).where(_t.scope.startswith(_HOME), _t.success.is_(None))
    with store._read() as connection:
        return int(connection.execute(wanted).scalar_one())
