"""Deletion for good: of attempts, and of all that a scope holds.

Always holds: what is deleted here is gone from every table; caches of pools learn of it; and `scrub` empties SQLite's
write-ahead log, so that the file's pages, which SQLite overwrites with zeros, are all that is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select

from seasoned.store import schema
from seasoned.store.body import clean_text
from seasoned.store.database import Database, chunks
from seasoned.store.trajectories import delete_trajectories

_t, _l, _v = schema.trajectories.c, schema.lessons.c, schema.vectors.c


class Forgetting(Database):
    """The part of `Store` that deletes for good; single lessons are deleted by `remove_lesson(purge=True)`."""

    def remove_trajectories(self, scope: str, trajectory_ids: Sequence[str]) -> int:
        """Delete trajectories of a scope with their episodes, vectors, marks and the record of which lessons they saw.

        Lessons that came from them stay, and still name them as their sources.

        Returns:
            How many there were.
        """
        removed = 0
        with self._write() as connection:
            self._bump(connection, clean_text(scope), purge=True)
            for part in chunks([clean_text(i) for i in trajectory_ids]):
                found = select(_t.id).where(_t.scope == clean_text(scope), _t.id.in_(part))
                ids = connection.execute(found).scalars().all()
                removed += delete_trajectories(connection, ids)
        return removed

    def clear_scope(self, scope: str) -> tuple[int, int]:
        """Delete all trajectories and lessons of a scope, with everything that belongs to them, and its snapshots.

        Returns:
            How many trajectories and how many lessons there were.
        """
        scope = clean_text(scope)
        snapshots, uses = schema.snapshots, schema.lesson_uses
        its_lessons = select(_l.id).where(_l.scope == scope)
        with self._write() as connection:
            self._bump(connection, scope, purge=True)
            ids = connection.execute(select(_t.id).where(_t.scope == scope)).scalars().all()
            trajectories = delete_trajectories(connection, ids)
            connection.execute(delete(schema.vectors).where(_v.owner == "lesson", _v.id.in_(its_lessons)))
            connection.execute(delete(uses).where(uses.c.lesson_id.in_(its_lessons)))
            lessons = connection.execute(delete(schema.lessons).where(_l.scope == scope)).rowcount
            connection.execute(delete(snapshots).where(snapshots.c.scope == scope))
        return trajectories, lessons

    def lessons_from(self, trajectory_ids: Sequence[str]) -> dict[str, int]:
        """The lessons that came from any of these trajectories, by id, with how many other sources each has."""
        wanted = {clean_text(i) for i in trajectory_ids}
        sources = schema.lesson_sources.c
        found: dict[str, int] = {}
        with self._read() as connection:
            for part in chunks(sorted(wanted)):
                hit = select(sources.lesson_id).where(sources.trajectory_id.in_(part)).distinct()
                for lesson_id in connection.execute(hit).scalars():
                    found[lesson_id] = 0
            for part in chunks(list(found)):
                rows = select(sources.lesson_id, sources.trajectory_id).where(sources.lesson_id.in_(part))
                for row in connection.execute(rows):
                    found[row.lesson_id] += row.trajectory_id not in wanted
        return found

    def drop_loose_vectors(self) -> int:
        """Delete vectors that belong to no lesson or trajectory by name; they are made anew when they are needed."""
        with self._write() as connection:
            loose = _v.owner.not_in(("lesson", "trajectory"))
            return connection.execute(delete(schema.vectors).where(loose)).rowcount

    def scrub(self) -> bool:
        """Empty SQLite's write-ahead log; False when another program reads from it still, and it stays until later.

        With Postgres there is nothing to do here: its own vacuum clears what was deleted.
        """
        if not self._sqlite:
            return True
        with self._faults(), self._connect(self._engine) as connection:
            raw = connection.connection.cursor()
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = raw.fetchone()
            return busy is not None and not busy[0]
