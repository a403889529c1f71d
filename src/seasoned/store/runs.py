"""Runs and the journal of model replies in the store.

Always holds: a reply that `journal_put` has taken survives the end of the process, however it ends, and a power cut; it
is never replaced by another: what was concluded from it stays true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Executable, Row, bindparam, delete, select, update

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, clean_value, from_body, to_body
from seasoned.store.database import Database
from seasoned.store.lessons import check_page
from seasoned.types import Reply, Usage, now

_r = schema.runs.c
_j = schema.journal.c
_REPLY = select(_j.body).where(_j.scope == bindparam("of"), _j.key == bindparam("under"))


@dataclass(frozen=True)
class RunRow:
    """One run: `path` is its directory, `status` "running" until `finish_run`; times are UTC in ISO 8601."""

    run_id: str
    name: str
    path: str
    status: str
    created: str
    finished: str | None
    config: dict[str, Any]
    summary: dict[str, Any] | None


class Runs(Database):
    """The part of `Store` that keeps runs."""

    def add_run(self, run_id: str, name: str, path: str, config: Mapping[str, Any]) -> None:
        """Store a run as running; one that is there (a resumed run) keeps its time of creation and runs again.

        Raises:
            StoreError: when the config has no form in JSON.
        """
        row = {
            "name": clean_text(name),
            "path": clean_text(path),
            "config": _json(config, "config"),
            "status": "running",
        }
        statement = self._insert(schema.runs).values(run_id=clean_text(run_id), created=now(), **row)
        with self._write() as connection:
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["run_id"], set_={**row, "finished": None, "summary": None}
                )
            )

    def finish_run(self, run_id: str, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """Store how a run ended: "complete", "stopped", "failed", and its summary.

        Raises:
            StoreError: when there is no such run, or the summary has no form in JSON.
        """
        text = None if summary is None else _json(summary, "summary")
        with self._write() as connection:
            done = connection.execute(
                update(schema.runs)
                .where(_r.run_id == clean_text(run_id))
                .values(status=clean_text(status), finished=now(), summary=text)
            )
            if done.rowcount != 1:
                raise StoreError(f"the run {run_id} is not in the store; store it with add_run first")

    def runs(self, limit: int | None = 50, offset: int = 0) -> list[RunRow]:
        """Runs, newest first.

        Args:
            limit: at most so many; None for all.
            offset: how many to pass over first.

        Raises:
            StoreError: when limit or offset is negative.
        """
        check_page(limit, offset)
        wanted = select(schema.runs).order_by(_r.created.desc(), _r.run_id.desc()).limit(limit).offset(offset)
        with self._read() as connection:
            rows = connection.execute(wanted).all()
        return [_run(row) for row in rows]

    def get_run(self, run_id: str) -> RunRow | None:
        """The run, or None when there is none."""
        with self._read() as connection:
            row = connection.execute(select(schema.runs).where(_r.run_id == clean_text(run_id))).first()
        return None if row is None else _run(row)

    def _check_runs(self, connection: Connection) -> Iterator[str]:
        for row in connection.execute(select(schema.runs).order_by(_r.run_id)):
            try:
                _run(row)
            except StoreError as error:
                yield str(error)


class Journal(Database):
    """The part of `Store` that keeps the replies of models, so that none is paid for twice."""

    def journal_get(self, scope: str, key: str) -> Reply | None:
        """The reply that was journalled under this key, or None."""
        with self._read() as connection:
            body = connection.execute(_REPLY, {"of": clean_text(scope), "under": clean_text(key)}).scalar()
        return None if body is None else from_body(Reply, body, f"the journalled reply {key}")

    def journal_put(self, scope: str, key: str, reply: Reply) -> None:
        """Store a reply; it is safe from a power cut when this returns. The first under a key stays."""
        row = {"scope": clean_text(scope), "key": clean_text(key), "created": now(), "body": to_body(reply)[1]}
        with self._write(durable=True) as connection:
            connection.execute(self._keep, row)

    @cached_property
    def _keep(self) -> Executable:
        return self._insert(schema.journal).on_conflict_do_nothing()

    def journal_drop(self, scope: str) -> int:
        """Forget the replies of a scope, so that its calls are made anew; gives how many there were."""
        with self._write() as connection:
            return connection.execute(delete(schema.journal).where(_j.scope == clean_text(scope))).rowcount

    def journal_ending(self, prefix: str, ending: str) -> list[tuple[str, Reply]]:
        """Scope and reply, oldest first, of the keys with this end in all scopes that begin with this text."""
        mine = _j.scope.startswith(clean_text(prefix), autoescape=True), _j.key.endswith(ending, autoescape=True)
        wanted = select(_j.scope, _j.key, _j.body).where(*mine).order_by(_j.created, _j.scope, _j.key)
        with self._read() as connection:
            rows = connection.execute(wanted).all()
        return [(row.scope, from_body(Reply, row.body, f"the journalled reply {row.key}")) for row in rows]

    def journal_usage(self, prefix: str) -> Usage:
        """What the replies of all scopes that begin with this text used, each counted once."""
        wanted = select(_j.scope, _j.key, _j.body).where(_j.scope.startswith(clean_text(prefix), autoescape=True))
        with self._read() as connection:
            rows = connection.execute(wanted).all()
        replies = (from_body(Reply, row.body, f"the journalled reply {row.key} of {row.scope!r}") for row in rows)
        return sum((reply.usage for reply in replies), Usage())

    def _check_journal(self, connection: Connection) -> Iterator[str]:
        for row in connection.execute(select(_j.scope, _j.key, _j.body).order_by(_j.scope, _j.key)):
            try:
                from_body(Reply, row.body, f"the journalled reply {row.key} of {row.scope!r}")
            except StoreError as error:
                yield str(error)


def _json(value: Mapping[str, Any], name: str) -> str:
    try:
        return json.dumps(clean_value(dict(value)), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the {name} of a run cannot be stored as JSON: {error}; use texts, numbers, lists and dictionaries"
        ) from error


def _run(row: Row[Any]) -> RunRow:
    try:
        config, summary = json.loads(row.config), None if row.summary is None else json.loads(row.summary)
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"the run {row.run_id} is in the store but cannot be read: {error}; mend its columns with any SQL tool"
        ) from error
    return RunRow(row.run_id, row.name, row.path, row.status, row.created, row.finished, config, summary)
