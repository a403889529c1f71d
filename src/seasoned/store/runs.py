"""Runs and marks in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update

from seasoned.errors import StoreError
from seasoned.store import schema
from seasoned.store.body import clean_text, from_json, to_json
from seasoned.store.database import Database
from seasoned.store.filters import check_page, equal
from seasoned.types import now

_r, _m = schema.runs.c, schema.marks.c
_MARKS = select(_m.name, _m.value).where(_m.scope == bindparam("of")).order_by(_m.name)
_MARK = _MARKS.where(_m.name == bindparam("called"))


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


def add_run(db: Database, run_id: str, name: str, path: str, config: Mapping[str, Any]) -> None:
    """Store a run as running; a resumed run keeps its time of creation.

    Raises:
        StoreError: when the config cannot be written as JSON.
    """
    row = {"name": clean_text(name), "path": clean_text(path), "config": to_json(dict(config), "the config of a run")}
    row["status"] = "running"
    statement = db._insert(schema.runs).values(run_id=clean_text(run_id), created=now(), **row)
    restarted = {**row, "finished": None, "summary": None}
    with db._write() as connection:
        connection.execute(statement.on_conflict_do_update(index_elements=["run_id"], set_=restarted))


def finish_run(db: Database, run_id: str, status: str, summary: Mapping[str, Any] | None = None) -> None:
    """Store the status of a finished run ("complete", "stopped", "failed") and its summary.

    Raises:
        StoreError: when the run is not in the store, or the summary cannot be written as JSON.
    """
    text = None if summary is None else to_json(dict(summary), "the summary of a run")
    values = {"status": clean_text(status), "finished": now(), "summary": text}
    with db._write() as connection:
        result = connection.execute(update(schema.runs).where(_r.run_id == clean_text(run_id)).values(values))
        if result.rowcount != 1:
            raise StoreError(f"the run {run_id} is not in the store; store it with add_run first")


def runs(db: Database, run_id: str | None, limit: int | None, offset: int) -> list[RunRow]:
    """Runs, newest first, or the one with this id."""
    check_page(limit, offset)
    query = select(schema.runs).where(*equal((_r.run_id, run_id)))
    with db._read() as connection:
        rows = connection.execute(query.order_by(_r.created.desc(), _r.run_id.desc()).limit(limit).offset(offset))
        return [run_of(row) for row in rows.mappings()]


def run_of(row: Mapping[Any, Any]) -> RunRow:
    """Convert a row to a run.

    Raises:
        StoreError: when it cannot be read.
    """
    values = dict(row)
    for name in ("config", "summary"):
        values[name] = None if values[name] is None else from_json(values[name], f"the run {values['run_id']}")
    return RunRow(**values)


def mark(db: Database, scope: str, name: str, value: Any = True, *, replace: bool = True) -> None:
    """Store a small value of texts, numbers, lists and dictionaries under a name of a scope.

    Replaces an existing value unless `replace` is False.

    Raises:
        StoreError: when the value cannot be written as JSON.
    """
    row = {"scope": clean_text(scope), "name": clean_text(name), "at": now()}
    row["value"] = to_json(value, f"the mark {name!r} of {scope!r}")
    insert = db._insert(schema.marks)
    fresh = {"at": insert.excluded.at, "value": insert.excluded.value}
    update = insert.on_conflict_do_update(index_elements=["scope", "name"], set_=fresh)
    with db._write(durable=True) as connection:
        connection.execute(update if replace else insert.on_conflict_do_nothing(), row)


def marks(db: Database, scope: str, name: str | None = None) -> dict[str, Any]:
    """The values of a scope by name, sorted: all, or the one under this name."""
    values = {"of": clean_text(scope)} | ({} if name is None else {"called": clean_text(name)})
    with db._read() as connection:
        rows = connection.execute(_MARKS if name is None else _MARK, values).all()
    return {row.name: from_json(row.value, f"the mark {row.name!r}") for row in rows}
