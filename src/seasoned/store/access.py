"""Access to memories in a Postgres database: row-level security by namespace.

A role sees only the rows of its namespaces, in every program. Always holds: after the first `allow`, only the owner of
the tables sees all rows, and any other role sees only its namespaces. Allowed roles share the rows without a namespace:
leases, and vectors of bare texts, whose ids are digests. Only the owner sees runs and the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, text

from seasoned.errors import StoreError
from seasoned.store.database import Database
from seasoned.store.nearby import TABLES

_ACCESS = "seasoned_access"
_SCOPED = ("scopes", "trajectories", "lessons", "snapshots", "marks")
_OWN_NAMESPACE = f"""EXISTS (SELECT 1 FROM {_ACCESS} a WHERE a.role = current_user AND (
    scope IN ('memory/' || a.namespace, 'flagged/' || a.namespace)
    OR starts_with(scope, 'memory/' || a.namespace || '/') OR starts_with(scope, 'flagged/' || a.namespace || '/')))"""
_LESSON = "EXISTS (SELECT 1 FROM lessons WHERE lessons.id = {0}.lesson_id)"
_ATTEMPT = "EXISTS (SELECT 1 FROM trajectories WHERE trajectories.id = {0}.trajectory_id)"
_RULES = {
    **dict.fromkeys(_SCOPED, _OWN_NAMESPACE),
    "lesson_history": _LESSON,
    "lesson_sources": _LESSON,
    "lesson_uses": _ATTEMPT,
    "learned": _ATTEMPT,
    "waiting": _ATTEMPT,
    "vectors": "owner NOT IN ('lesson', 'trajectory') OR EXISTS (SELECT 1 FROM lessons WHERE lessons.id = vectors.id) "
    "OR EXISTS (SELECT 1 FROM trajectories WHERE trajectories.id = vectors.id)",
    "leases": "true",
    **dict.fromkeys(TABLES, _OWN_NAMESPACE),
}
_OWNER_ONLY = ("runs", "episodes", "journal")


def allow(db: Database, role: str, namespaces: Sequence[str]) -> None:
    """Let a role see and change the memories of these namespaces, and no others.

    Raises:
        StoreError: when the store is a file, or the role does not exist.
    """
    if db._sqlite:
        raise StoreError("row-level security needs Postgres; whoever can read a SQLite file reads all of it")
    with db._write() as connection:
        if connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).first() is None:
            raise StoreError(f"the server has no role {role!r}; make it first: CREATE ROLE name LOGIN PASSWORD '..'")
        _guard(connection)
        connection.execute(text(f"DELETE FROM {_ACCESS} WHERE role = :role"), {"role": role})
        for namespace in dict.fromkeys(namespaces):
            row = {"role": role, "namespace": namespace}
            connection.execute(text(f"INSERT INTO {_ACCESS} (role, namespace) VALUES (:role, :namespace)"), row)
        quoted = connection.dialect.identifier_preparer.quote(role)
        schema = connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one()
        for name in filter(partial(_exists, connection), _RULES):
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {quoted}"))
        for name in (_ACCESS, "seasoned_version", *_OWNER_ONLY):  # of _OWNER_ONLY, it sees no row
            connection.execute(text(f"GRANT SELECT ON {name} TO {quoted}"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {quoted}"))
        connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {quoted}"))


def _exists(connection: Connection, table: str) -> bool:
    """Whether a table is there; those of `nearby` are made when they are needed."""
    return connection.execute(text("SELECT to_regclass(:name)"), {"name": table}).scalar() is not None


def _guard(connection: Connection) -> None:
    """Turn on row-level security for all tables."""
    statement = f"CREATE TABLE IF NOT EXISTS {_ACCESS} (role TEXT, namespace TEXT, PRIMARY KEY (role, namespace))"
    connection.execute(text(statement))
    for name in filter(partial(_exists, connection), (*_RULES, *_OWNER_ONLY)):
        connection.execute(text(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"))
        connection.execute(text(f"DROP POLICY IF EXISTS seasoned ON {name}"))
        rule = _RULES.get(name, "false").format(name)
        connection.execute(text(f"CREATE POLICY seasoned ON {name} USING ({rule}) WITH CHECK ({rule})"))
