"""Trajectories and episodes in the store.

Always holds: a stored trajectory never changes, except that `forget.py` removes guidance and `revise` sets a later
verdict; a trajectory that is stored twice exists once; a trajectory and its episode are written in one transaction;
dropping an episode deletes its trajectory, so that none counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, select, update

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database, chunks
from seasoned.store.faults import DuplicateRow, MissingRow
from seasoned.store.filters import short_name
from seasoned.types import Trajectory, now

_t, _e = schema.trajectories.c, schema.episodes.c
_STORED = select(_t.id, _t.scope, _t.body).where(_t.id.in_(bindparam("ids", expanding=True)))
_EPISODE = select(_e.trajectory_id).where(_e.run_id == bindparam("of"), _e.key == bindparam("under"))


@dataclass(frozen=True)
class TaskText:
    """The fields of a trajectory for searches: `seq` is its place in the order of insertion."""

    seq: int
    id: str
    task: str
    success: bool | None


def add(db: Database, scope: str, trajectories: Sequence[Trajectory], run_id: str = "") -> None:
    """Add trajectories, all or none; existing ones stay unchanged. Task ids are shortened by `short_name`.

    Raises:
        StoreError: when an id belongs to another trajectory, or to this one in another scope.
    """
    if not trajectories:
        return
    pairs = [to_body(t.model_copy(update={"task_id": short_name(t.task_id)})) for t in trajectories]
    try:
        with db._write() as connection:
            _add(db, connection, clean_text(scope), pairs, clean_text(run_id))
    except DuplicateRow as error:  # stored between the check and the write, which only Postgres allows
        raise StoreError("another program has just stored one of these trajectories; add them again") from error


def revise(db: Database, trajectory: Trajectory, *, relearn: bool) -> None:
    """Replace the outcome and meta of a trajectory; with `relearn`, every method learns from it again."""
    revised, body = to_body(trajectory.model_copy(update={"task_id": short_name(trajectory.task_id)}))
    with db._write() as connection:
        row = connection.execute(select(_t.scope, _t.body).where(_t.id == revised.id)).first()
        if row is None:
            raise StoreError(f"there is no attempt {revised.id} in the store; it may have been forgotten")
        stored = from_body(Trajectory, row.body, f"the trajectory {revised.id}")
        if stored.model_copy(update={"outcome": revised.outcome, "meta": revised.meta}) != revised:
            raise StoreError(f"only the outcome and meta of the attempt {revised.id} can change; read it again")
        db._bump(connection, row.scope, purge=True)  # resets caches of outcomes
        values = trajectory_row(revised, body)
        connection.execute(update(schema.trajectories).where(_t.id == revised.id).values(values))
        connection.execute(delete(schema.waiting).where(schema.waiting.c.trajectory_id == revised.id))
        if relearn:
            connection.execute(delete(schema.learned).where(schema.learned.c.trajectory_id == revised.id))


def get(db: Database, trajectory_ids: Sequence[str]) -> list[Trajectory]:
    """The trajectories with these ids, in the order of the ids."""
    names = [clean_text(i) for i in trajectory_ids]
    stored = {t.id: t for part in chunks(names) for t in read(db, _STORED, {"ids": part})}
    return [stored[i] for i in names if i in stored]


def find(db: Database, beginning: str, limit: int) -> list[Trajectory]:
    """At most `limit` trajectories whose ids begin with a text; an exact match is returned alone."""
    exact = get(db, [beginning])
    if exact or not beginning:
        return exact
    start = clean_text(beginning)
    query = select(_t.id, _t.body).where(_t.id >= start, _t.id < start + "\U0010ffff")
    return read(db, query.order_by(_t.seq).limit(limit))


def save_episode(db: Database, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
    """Store an episode of a run together with its trajectory; replaces an earlier one under the same key.

    Raises:
        StoreError: when the run is not in the store, or the trajectory belongs to another episode.
    """
    run_id, key = clean_text(run_id), clean_text(key)
    pair = to_body(trajectory.model_copy(update={"task_id": short_name(trajectory.task_id)}))
    trajectory_id = pair[0].id
    try:
        with db._write() as connection:
            old = connection.execute(_EPISODE, {"of": run_id, "under": key}).scalar()
            if old != trajectory_id:
                if old is not None:
                    drop(db, connection, run_id, [key])
                _add(db, connection, clean_text(scope), [pair], run_id)
                row = {"run_id": run_id, "key": key, "trajectory_id": trajectory_id, "created": now()}
                connection.execute(insert(schema.episodes), row)
    except MissingRow as error:
        raise StoreError(f"the run {run_id} is not in the store; store it with add_run first") from error
    except DuplicateRow as error:
        raise StoreError(
            f"the trajectory {trajectory_id} belongs to another episode, or another program has just stored the "
            f"episode {key}; give each episode its own trajectory, and run it in one program at a time"
        ) from error


def episodes(db: Database, run_id: str) -> dict[str, Trajectory]:
    """The trajectories of a run's episodes by their keys, in order of insertion."""
    joined = select(_e.key, _t.id, _t.body).join(schema.trajectories, _t.id == _e.trajectory_id)
    query = joined.where(_e.run_id == clean_text(run_id)).order_by(_t.seq)
    with db._read() as connection:
        rows = connection.execute(query).all()
    return {row.key: from_body(Trajectory, row.body, f"the trajectory {row.id}") for row in rows}


def delete_trajectories(connection: Connection, ids: Sequence[str]) -> int:
    """Delete trajectories with their episodes, vectors and dependent rows; return how many were given."""
    vectors = schema.vectors.c
    for part in chunks(ids):
        connection.execute(delete(schema.episodes).where(_e.trajectory_id.in_(part)))
        connection.execute(delete(schema.vectors).where(vectors.owner == "trajectory", vectors.id.in_(part)))
        connection.execute(delete(schema.trajectories).where(_t.id.in_(part)))
    return len(ids)


def trajectory_row(trajectory: Trajectory, body: str) -> dict[str, Any]:
    """The columns of a trajectory's row, except scope, run and seq."""
    names = ("id", "task_id", "task", "benchmark", "category", "agent", "created")
    row = {name: getattr(trajectory, name) for name in names}
    return row | {"success": trajectory.outcome.success, "reason": trajectory.outcome.reason, "body": body}


def _add(
    db: Database, connection: Connection, scope: str, pairs: Sequence[tuple[Trajectory, str]], run_id: str
) -> None:
    new: dict[str, tuple[Trajectory, str]] = {}
    for trajectory, body in pairs:
        new.setdefault(trajectory.id, (trajectory, body))
    rows = [row for part in chunks(list(new)) for row in connection.execute(_STORED, {"ids": part})]
    stored = [(row.id, row.scope, row.body) for row in rows]
    for trajectory_id, stored_scope, body in (*stored, *((t.id, scope, body) for t, body in pairs)):
        if stored_scope != scope or body != new[trajectory_id][1]:
            raise StoreError(
                f"another trajectory has the id {trajectory_id} already (scope {stored_scope!r}); "
                "a stored trajectory never changes: give this one a new id"
            )
    for trajectory_id, _, _ in stored:
        del new[trajectory_id]
    if not new:
        return
    db._bump(connection, scope)
    values = [{"scope": scope, "run_id": run_id, **trajectory_row(t, body)} for t, body in new.values()]
    connection.execute(insert(schema.trajectories), values)
    uses = [{"lesson_id": i, "trajectory_id": t.id} for t, _ in new.values() for i in dict.fromkeys(t.lesson_ids)]
    if uses:
        connection.execute(insert(schema.lesson_uses), uses)


def drop(db: Database, connection: Connection, run_id: str, keys: Sequence[str]) -> int:
    """Delete episodes with their trajectories; return how many there were."""
    joined = select(_t.id, _t.scope).join(schema.episodes, _t.id == _e.trajectory_id).where(_e.run_id == run_id)
    rows = [row for part in chunks(keys) for row in connection.execute(joined.where(_e.key.in_(part)))]
    for scope in sorted({row.scope for row in rows}):
        db._bump(connection, scope, purge=True)
    return delete_trajectories(connection, [row.id for row in rows])


def read(db: Database, query: Select[Any], values: Mapping[str, Any] | None = None) -> list[Trajectory]:
    """The trajectories that a query for ids and bodies returns."""
    with db._read() as connection:
        rows = connection.execute(query, values).all()
    return [from_body(Trajectory, row.body, f"the trajectory {row.id}") for row in rows]
