"""The first layout: runs, episodes, trajectories, lessons with history, sources and uses, vectors, journal."""

from alembic import op
from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, LargeBinary, Text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scopes",
        Column("scope", Text, primary_key=True),
        Column("change", Integer, nullable=False),
        Column("purges", Integer, nullable=False),
    )
    op.create_table(
        "runs",
        Column("run_id", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("path", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("created", Text, nullable=False),
        Column("finished", Text),
        Column("config", Text, nullable=False),
        Column("summary", Text),
    )
    op.create_index("runs_by_created", "runs", ["created", "run_id"])
    _trajectories()
    _lessons()
    op.create_table(
        "vectors",
        Column("owner", Text, primary_key=True),
        Column("id", Text, primary_key=True),
        Column("embedder", Text, primary_key=True),
        Column("dim", Integer, nullable=False),
        Column("digest", Text, nullable=False),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_table(
        "journal",
        Column("scope", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        Column("created", Text, nullable=False),
        Column("body", Text, nullable=False),
    )


def _trajectories() -> None:
    op.create_table(
        "trajectories",
        Column("seq", Integer, primary_key=True),
        Column("id", Text, nullable=False, unique=True),
        Column("scope", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("task_id", Text, nullable=False),
        Column("benchmark", Text, nullable=False),
        Column("category", Text, nullable=False),
        Column("agent", Text, nullable=False),
        Column("success", Boolean),
        Column("reason", Text, nullable=False),
        Column("created", Text, nullable=False),
        Column("task", Text, nullable=False),
        Column("body", Text, nullable=False),
    )
    op.create_index("trajectories_by_scope", "trajectories", ["scope", "success", "seq"])
    op.create_index("trajectories_by_task", "trajectories", ["scope", "task_id", "seq"])
    op.create_index("trajectories_by_run", "trajectories", ["run_id", "seq"])
    op.create_table(
        "episodes",
        Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
        Column("key", Text, primary_key=True),
        Column("trajectory_id", Text, ForeignKey("trajectories.id"), nullable=False, unique=True),
        Column("created", Text, nullable=False),
    )


def _lessons() -> None:
    op.create_table(
        "lessons",
        Column("seq", Integer, primary_key=True),
        Column("id", Text, nullable=False, unique=True),
        Column("scope", Text, nullable=False),
        Column("change", Integer, nullable=False),
        Column("kind", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("category", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("importance", Float, nullable=False),
        Column("pinned", Boolean, nullable=False),
        Column("origin", Text, nullable=False),
        Column("method", Text, nullable=False),
        Column("version", Integer, nullable=False),
        Column("created", Text, nullable=False),
        Column("updated", Text, nullable=False),
        Column("folded", Text, nullable=False),
        Column("body", Text, nullable=False),
    )
    op.create_index("lessons_by_scope", "lessons", ["scope", "seq", "status", "kind"])
    op.create_index("lessons_by_seq", "lessons", ["seq", "status", "kind"])
    op.create_index("lessons_by_key", "lessons", ["key", "scope", "seq"])
    op.create_index("lessons_by_change", "lessons", ["scope", "change"])
    op.create_table(
        "lesson_history",
        Column("lesson_id", Text, ForeignKey("lessons.id", ondelete="CASCADE"), primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("at", Text, nullable=False),
        Column("who", Text, nullable=False),
        Column("why", Text, nullable=False),
        Column("body", Text, nullable=False),
    )
    op.create_table(
        "lesson_sources",
        Column("lesson_id", Text, ForeignKey("lessons.id", ondelete="CASCADE"), primary_key=True),
        Column("trajectory_id", Text, primary_key=True),
    )
    op.create_index("lesson_sources_by_trajectory", "lesson_sources", ["trajectory_id"])
    op.create_table(
        "lesson_uses",
        Column("lesson_id", Text, primary_key=True),
        Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("lesson_uses_by_trajectory", "lesson_uses", ["trajectory_id"])
