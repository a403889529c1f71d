"""Trajectories and episodes in the store.

Always holds: a trajectory never changes once it is stored (but that `store.forget` takes out of it what it was shown),
and storing the same one twice stores it once; a trajectory and its episode are written in one transaction; an episode
that is dropped takes its trajectory along, so none counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, from_body, to_body
from seasoned.store.database import Database, chunks
from seasoned.store.faults import DuplicateRow, MissingRow
from seasoned.store.lessons import check_page, short_name
from seasoned.types import Trajectory, now

_t = schema.trajectories.c
_e = schema.episodes.c
_INSERT = insert(schema.trajectories)
_INSERT_EPISODE = insert(schema.episodes)
_INSERT_USES = insert(schema.lesson_uses)
_KNOWN = select(_t.id, _t.scope, _t.body).where(_t.id.in_(bindparam("ids", expanding=True)))
_MADE = select(_e.trajectory_id).where(_e.run_id == bindparam("of"), _e.key == bindparam("under"))


@dataclass(frozen=True)
class TaskText:
    """What a search over trajectories needs of each: `seq` is its place in the order of insertion."""

    seq: int
    id: str
    task: str
    success: bool | None


class Trajectories(Database):
    """The part of `Store` that keeps trajectories and episodes."""

    def add_trajectories(self, scope: str, trajectories: Sequence[Trajectory], run_id: str = "") -> None:
        """Add trajectories, all or none; those that are there already stay as they are.

        Args:
            scope: the pool they belong to.
            trajectories: in the order they are to be listed in; ids of tasks become `short_name`s.
            run_id: the run that made them, or "".

        Raises:
            StoreError: when an id is taken by another trajectory, or by this one in another scope.
        """
        if not trajectories:
            return
        try:
            with self._write() as connection:
                self._add(connection, clean_text(scope), [_body(t) for t in trajectories], clean_text(run_id))
        except DuplicateRow as error:  # between our look and our write, which only Postgres allows
            raise StoreError("somebody else has just stored one of these trajectories; add them again") from error

    def get_trajectory(self, trajectory_id: str) -> Trajectory | None:
        """The trajectory, or None when there is none."""
        return next(iter(self.get_trajectories([trajectory_id])), None)

    def get_trajectories(self, trajectory_ids: Sequence[str]) -> list[Trajectory]:
        """The trajectories with these ids, in the order of the ids; unknown ids are passed over."""
        wanted = [clean_text(i) for i in trajectory_ids]
        found: dict[str, Trajectory] = {}
        with self._read() as connection:
            for part in chunks(wanted):
                for row in connection.execute(select(_t.id, _t.body).where(_t.id.in_(part))):
                    found[row.id] = _read_back(row.id, row.body)
        return [found[i] for i in wanted if i in found]

    def find_trajectories(self, beginning: str, limit: int) -> list[Trajectory]:
        """At most `limit` trajectories whose ids begin so; one whose id is just this comes alone."""
        exact = self.get_trajectories([beginning])
        if exact or not beginning:
            return exact
        start = clean_text(beginning)
        wanted = (
            select(_t.id, _t.body).where(_t.id >= start, _t.id < start + "\U0010ffff").order_by(_t.seq).limit(limit)
        )
        with self._read() as connection:
            return [_read_back(row.id, row.body) for row in connection.execute(wanted)]

    def trajectories(
        self,
        scope: str | None = None,
        *,
        run_id: str | None = None,
        task_id: str | None = None,
        success: bool | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Trajectory]:
        """Trajectories in order of insertion.

        Args:
            scope: one pool, or None for all.
            run_id: only those of this run.
            task_id: only attempts at this task.
            success: only successes (True) or failures (False); None for all, unknown ones too.
            limit: at most so many; None for all.
            offset: how many to pass over first.

        Raises:
            StoreError: when limit or offset is negative.
        """
        check_page(limit, offset)
        tests: list[ColumnElement[bool]] = []
        task_id = None if task_id is None else short_name(task_id)
        for column, value in ((_t.scope, scope), (_t.run_id, run_id), (_t.task_id, task_id)):
            if value is not None:
                tests.append(column == clean_text(value))
        if success is not None:
            tests.append(_t.success == success)
        page = select(_t.seq).where(*tests).order_by(_t.seq).limit(limit).offset(offset)
        with self._read() as connection:
            rows = connection.execute(select(_t.id, _t.body).where(_t.seq.in_(page)).order_by(_t.seq)).all()
        return [_read_back(row.id, row.body) for row in rows]

    def task_texts(self, scope: str, after: int = 0) -> list[TaskText]:
        """Of each trajectory of the scope with a later `seq` than this, what a search needs, in order of insertion."""
        with self._read() as connection:
            rows = connection.execute(
                select(_t.seq, _t.id, _t.task, _t.success)
                .where(_t.scope == clean_text(scope), _t.seq > after)
                .order_by(_t.seq)
            ).all()
        return [TaskText(row.seq, row.id, row.task, row.success) for row in rows]

    def count_trajectories(self, scopes: Sequence[str], task_id: str | None = None) -> int:
        """How many attempts these scopes hold, at all tasks or at one."""
        wanted = select(func.count()).select_from(schema.trajectories).where(_t.scope.in_(map(clean_text, scopes)))
        if task_id is not None:
            wanted = wanted.where(_t.task_id == clean_text(short_name(task_id)))
        with self._read() as connection:
            return int(connection.execute(wanted).scalar_one())

    def save_episode(self, run_id: str, key: str, scope: str, trajectory: Trajectory) -> None:
        """Store an episode and its trajectory, together; an earlier one under the same key is replaced.

        Args:
            run_id: a run that `add_run` has stored.
            key: names the episode within the run, for resuming.
            scope: the pool that the trajectory belongs to.
            trajectory: what the episode made.

        Raises:
            StoreError: when there is no such run, or the trajectory belongs to another episode.
        """
        run_id, key = clean_text(run_id), clean_text(key)
        pair = _body(trajectory)
        episode = {"run_id": run_id, "key": key, "trajectory_id": pair[0].id}
        try:
            with self._write() as connection:
                old = connection.execute(_MADE, {"of": run_id, "under": key}).scalar()
                if old != pair[0].id:
                    if old is not None:
                        self._drop(connection, run_id, [key])
                    self._add(connection, clean_text(scope), [pair], run_id)
                    connection.execute(_INSERT_EPISODE, {**episode, "created": now()})
        except MissingRow as error:
            raise StoreError(f"the run {run_id} is not in the store; store it with add_run first") from error
        except DuplicateRow as error:
            raise StoreError(
                f"the trajectory {pair[0].id} belongs to another episode already, or somebody else has just stored the "
                f"episode {key}; each episode makes its own trajectory, and is made by one program at a time"
            ) from error

    def episodes(self, run_id: str) -> dict[str, Trajectory]:
        """The trajectories of a run's episodes by their keys, in order of insertion."""
        with self._read() as connection:
            rows = connection.execute(
                select(_e.key, _t.id, _t.body)
                .join(schema.trajectories, _t.id == _e.trajectory_id)
                .where(_e.run_id == clean_text(run_id))
                .order_by(_t.seq)
            ).all()
        return {row.key: _read_back(row.id, row.body) for row in rows}

    def drop_episodes(self, run_id: str, keys: Sequence[str]) -> int:
        """Forget episodes and their trajectories, so that they can be made again.

        Lessons that came from them stay, and still name them as their sources.

        Returns:
            How many there were.
        """
        with self._write() as connection:
            return self._drop(connection, clean_text(run_id), [clean_text(key) for key in keys])

    def _add(self, connection: Connection, scope: str, pairs: Sequence[tuple[Trajectory, str]], run_id: str) -> None:
        new = {trajectory.id: (trajectory, body) for trajectory, body in reversed(pairs)}
        new = {trajectory.id: new[trajectory.id] for trajectory, _ in pairs}
        stored = [row for part in chunks(list(new)) for row in connection.execute(_KNOWN, {"ids": part})]
        held = [(row.id, row.scope, row.body) for row in stored]
        for trajectory_id, its_scope, body in (*held, *((t.id, scope, body) for t, body in pairs)):
            if its_scope != scope or body != new[trajectory_id][1]:
                raise StoreError(
                    f"another trajectory has the id {trajectory_id} already (scope {its_scope!r}); "
                    "a stored trajectory never changes: give this one a new id"
                )
        for trajectory_id, _, _ in held:
            del new[trajectory_id]
        if not new:
            return
        self._bump(connection, scope)
        rows = [{"scope": scope, "run_id": run_id, **trajectory_row(t, body)} for t, body in new.values()]
        connection.execute(_INSERT, rows)
        uses = [
            {"lesson_id": lesson_id, "trajectory_id": trajectory.id}
            for trajectory, _ in new.values()
            for lesson_id in dict.fromkeys(trajectory.lesson_ids)
        ]
        if uses:
            connection.execute(_INSERT_USES, uses)

    def _drop(self, connection: Connection, run_id: str, keys: Sequence[str]) -> int:
        found: list[tuple[str, str]] = []
        for part in chunks(keys):
            rows = connection.execute(
                select(_t.id, _t.scope)
                .join(schema.episodes, _t.id == _e.trajectory_id)
                .where(_e.run_id == run_id, _e.key.in_(part))
            )
            found.extend((row.id, row.scope) for row in rows)
        for scope in sorted({scope for _, scope in found}):
            self._bump(connection, scope, purge=True)
        return delete_trajectories(connection, [trajectory_id for trajectory_id, _ in found])

    def _check_trajectories(self, connection: Connection) -> Iterator[str]:
        for row in connection.execute(select(_t.id, _t.success, _t.task_id, _t.body).order_by(_t.seq)):
            try:
                trajectory = _read_back(row.id, row.body)
            except StoreError as error:
                yield str(error)
                continue
            if (trajectory.id, trajectory.outcome.success, trajectory.task_id) != (row.id, row.success, row.task_id):
                yield f"the trajectory {row.id} has another id, task or success in its columns than in its body"
        lost = (
            select(_e.run_id, _e.key)
            .outerjoin(schema.trajectories, _t.id == _e.trajectory_id)
            .where(_t.id.is_(None))
            .order_by(_e.run_id, _e.key)
        )
        for run_id, key in connection.execute(lost):
            yield f"the episode {key} of the run {run_id} has no trajectory; drop it with drop_episodes"


def delete_trajectories(connection: Connection, ids: Sequence[str]) -> int:
    """Delete these, with their episodes, their vectors and what else points to them; gives how many."""
    vectors = schema.vectors.c
    for part in chunks(ids):
        connection.execute(delete(schema.episodes).where(_e.trajectory_id.in_(part)))
        connection.execute(delete(schema.vectors).where(vectors.owner == "trajectory", vectors.id.in_(part)))
        connection.execute(delete(schema.trajectories).where(_t.id.in_(part)))
    return len(ids)


def trajectory_row(trajectory: Trajectory, body: str) -> dict[str, Any]:
    """The columns that a trajectory has but for its place: scope, run and seq."""
    names = ("id", "task_id", "task", "benchmark", "category", "agent", "created")
    row = {name: getattr(trajectory, name) for name in names}
    return row | {"success": trajectory.outcome.success, "reason": trajectory.outcome.reason, "body": body}


def _body(trajectory: Trajectory) -> tuple[Trajectory, str]:
    name = short_name(trajectory.task_id)
    return to_body(trajectory if name == trajectory.task_id else trajectory.model_copy(update={"task_id": name}))


def _read_back(trajectory_id: str, body: str) -> Trajectory:
    return from_body(Trajectory, body, f"the trajectory {trajectory_id}")
