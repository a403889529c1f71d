"""A table for marks, which were stored as replies in the journal before."""

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
            mark = _mark(row.scope, row.key, row.body)
            if mark is not None:
                scope, name, value = mark
                text = json.dumps(value, ensure_ascii=False)
                mark_row = {"scope": scope, "name": name, "at": row.created, "value": text}
                op.get_bind().execute(marks.insert(), mark_row)
                old = journal.delete().where(journal.c.scope == row.scope, journal.c.key == row.key)
                op.get_bind().execute(old)


def _mark(scope: str, key: str, body: str) -> tuple[str, str, Any] | None:
    """The scope, name and value of a mark that was stored as a reply; None for other rows."""
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
