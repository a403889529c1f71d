"""Marks which trajectories a method has learned from, and leases for the program that learns.

Always holds: each method learns from each trajectory once; a lease has one holder and expires unless renewed, so a
program that dies does not block others for long; a mark is deleted with its trajectory.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import ColumnElement, bindparam, exists, literal, select

from seasoned.store import schema
from seasoned.store.body import clean_text
from seasoned.store.database import Database, chunks
from seasoned.types import now

_t, _m, _e = schema.trajectories.c, schema.learned.c, schema.leases.c
_l, _s = schema.lessons.c, schema.lesson_sources.c

IS_NEW: tuple[ColumnElement[bool], ...] = (
    _t.scope == bindparam("of"),
    ~exists(select(_m.method).where(_m.trajectory_id == _t.id, _m.method == bindparam("by"))),
)
"""Conditions for the trajectories of a scope (`of`) that a method (`by`) has not learned from."""

_WITH_LESSON = (
    select(_s.trajectory_id)
    .join(schema.lessons, _l.id == _s.lesson_id)
    .where(_l.method == bindparam("by"), _l.origin == "model", _s.trajectory_id == _t.id)
)
_BEGUN = select(_t.id).where(*IS_NEW, exists(_WITH_LESSON))


def mark_learned(db: Database, method: str, trajectory_ids: Sequence[str]) -> None:
    """Record that a method has learned from these; skips those already marked or deleted meanwhile."""
    if not trajectory_ids:
        return
    at = now()
    with db._write() as connection:
        for part in chunks([clean_text(trajectory_id) for trajectory_id in trajectory_ids]):
            rows = select(_t.id, literal(clean_text(method)), literal(at)).where(_t.id.in_(part))
            fresh = db._insert(schema.learned).from_select(["trajectory_id", "method", "at"], rows)
            connection.execute(fresh.on_conflict_do_nothing())


def mark_begun(db: Database, scope: str, method: str) -> int:
    """Mark trajectories that an interrupted method made lessons from; return how many there were."""
    with db._read() as connection:
        ids = connection.execute(_BEGUN, {"of": clean_text(scope), "by": clean_text(method)}).scalars().all()
    mark_learned(db, method, ids)
    return len(ids)


def take_lease(db: Database, name: str, holder: str, seconds: float) -> bool:
    """Take or renew a lease for this many seconds; False if another holder has it."""
    name, holder, present = clean_text(name), clean_text(holder), time.time()
    row = {"name": name, "holder": holder, "until": present + seconds}
    free = (_e.holder == holder) | (_e.until < present)
    take = db._insert(schema.leases).values(row).on_conflict_do_update(index_elements=["name"], set_=row, where=free)
    with db._write() as connection:
        return connection.execute(take.returning(_e.name)).first() is not None
