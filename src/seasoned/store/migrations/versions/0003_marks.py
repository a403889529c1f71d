"""Marks of scopes in a table of their own: until now they were replies in the journal that no model gave."""

import json
from typing import Any

from alembic import op
from sqlalchemy import Column, Text, column, table

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    marks = op.create_table(
        "marks",
        Column("scope", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("at", Text, nullable=False),
        Column("value", Text, nullable=False),
    )
    journal = table("journal", *(column(name, Text) for name in ("scope", "key", "created", "body")))
    for ending in ("/learned", "/replaced", "/judged"):
        named = journal.select().where(journal.c.scope.endswith(ending))
        for row in op.get_bind().execute(named).all():
            found = _mark(row.scope, row.key, row.body)
            if found is not None:
                scope, name, value = found
                kept = {"scope": scope, "name": name, "at": row.created, "value": json.dumps(value, ensure_ascii=False)}
                op.get_bind().execute(marks.insert(), kept)
                old = journal.delete().where(journal.c.scope == row.scope, journal.c.key == row.key)
                op.get_bind().execute(old)


def _mark(scope: str, key: str, body: str) -> tuple[str, str, Any] | None:
    """Scope, name and value of what a reply stood for; None where it is a reply, or cannot be read."""
    try:
        reply = json.loads(body)
        text, value = reply["text"], reply["parsed"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    pool, _, name = scope.rpartition("/")
    if name == "learned" and (key, text) == ("done", "learned"):
        return pool, name, value if isinstance(value, dict) else {}
    if name == "replaced" and (key, text) == ("done", "replaced") and isinstance(value, list):
        return pool, name, value
    if name == "judged" and key == text and isinstance(value, bool):
        return scope, key, value
    return None
