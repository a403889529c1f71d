"""Attempts that taught a method nothing yet, with the reason and the ways tried, so that each way is tried once.

Always holds: an attempt waits until a method learns from it, its outcome changes or it is deleted; the row is deleted
with its trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, exists, select

from seasoned.store import schema
from seasoned.store.body import clean_text
from seasoned.store.database import Database, chunks
from seasoned.store.learned import IS_NEW
from seasoned.store.trajectories import read
from seasoned.types import Trajectory, now

_t, _l, _w = schema.trajectories.c, schema.learned.c, schema.waiting.c
_ALL = 2**62


class Wait(NamedTuple):
    """A waiting attempt: its id, and why it waits."""

    trajectory_id: str
    why: str


def pending(db: Database, scope: str, method: str, way: str | None, limit: int | None) -> list[Trajectory]:
    """Trajectories of a scope that a method has neither learned from nor tried in this way (None: ignore ways)."""
    values = {"of": clean_text(scope), "by": clean_text(method), "most": _ALL if limit is None else limit}
    return read(db, _pending(way), values)


@lru_cache(maxsize=16)
def _pending(way: str | None) -> Select[tuple[str, str]]:
    tests = IS_NEW
    if way is not None:
        row = select(_w.method).where(_w.trajectory_id == _t.id, _w.method == bindparam("by"), _tried(way))
        tests = *tests, ~exists(row)
    page = select(_t.seq).where(*tests).order_by(_t.seq).limit(bindparam("most"))
    return select(_t.id, _t.body).where(_t.seq.in_(page)).order_by(_t.seq)


def waits(db: Database, scope: str, method: str) -> list[Wait]:
    """The waiting attempts of a scope for a method, in order of insertion."""
    joined = schema.waiting.join(schema.trajectories, _w.trajectory_id == _t.id)
    query = select(_t.id, _w.why).select_from(joined).where(*IS_NEW, _w.method == bindparam("by")).order_by(_t.seq)
    with db._read() as connection:
        rows = connection.execute(query, {"of": clean_text(scope), "by": clean_text(method)})
        return [Wait(row.id, row.why) for row in rows]


def let_wait(db: Database, method: str, reasons: Mapping[str, str], way: str) -> None:
    """Record why trajectories (by id) taught a method nothing when tried in this way."""
    method, way, at = clean_text(method), _one_line(way), now()
    with db._write() as connection:
        for part in chunks([clean_text(name) for name in reasons]):
            ids = connection.execute(select(_t.id).where(_t.id.in_(part))).scalars().all()
            stored = select(_w.trajectory_id, _w.tried).where(_w.method == method, _w.trajectory_id.in_(part))
            tried = {row.trajectory_id: row.tried for row in connection.execute(stored)}
            rows = []
            for name in ids:
                before = tried.get(name, "\n")
                ways = before if f"\n{way}\n" in before else f"{before}{way}\n"
                rows.append(
                    {"trajectory_id": name, "method": method, "at": at, "why": clean_text(reasons[name]), "tried": ways}
                )
            if rows:
                upsert = db._upsert(schema.waiting, ("trajectory_id", "method"), ("at", "why", "tried"))
                connection.execute(upsert, rows)


def settled(db: Database, method: str, trajectory_ids: Sequence[str], way: str) -> dict[str, str]:
    """The attempts that a method has learned from ("") or tried in this way (why they wait), by id."""
    method, reasons = clean_text(method), dict[str, str]()
    tried = _tried(way)
    with db._read() as connection:
        for part in chunks([clean_text(name) for name in trajectory_ids]):
            waiting = select(_w.trajectory_id, _w.why).where(_w.method == method, _w.trajectory_id.in_(part), tried)
            reasons |= {row.trajectory_id: row.why for row in connection.execute(waiting)}
            known = select(_l.trajectory_id).where(_l.method == method, _l.trajectory_id.in_(part))
            reasons |= dict.fromkeys(connection.execute(known).scalars(), "")
    return reasons


def _tried(way: str) -> ColumnElement[bool]:
    return _w.tried.contains(f"\n{_one_line(way)}\n", autoescape=True)


def _one_line(way: str) -> str:
    return clean_text(way).replace("\n", " ")
