"""The first layout: runs, episodes, trajectories, lessons with history, sources and uses, vectors, journal."""

from alembic import op
from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, LargeBinary, Text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "scopes",
        Column("scope", Text, primary_key=True),
        *(Column(name, Integer, nullable=False) for name in ("change", "purges")),
    )
    op.create_table(
        "runs",
        Column("run_id", Text, primary_key=True),
        *_texts("name", "path", "status", "created"),
        Column("finished", Text),
        *_texts("config"),
        Column("summary", Text),
    )
    op.create_index("runs_by_created", "runs", ["created", "run_id"])
    _trajectories()
    _lessons()
    op.create_table(
        "vectors",
        *(Column(name, Text, primary_key=True) for name in ("owner", "id", "embedder")),
        Column("dim", Integer, nullable=False),
        *_texts("digest"),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_table(
        "journal",
        *(Column(name, Text, primary_key=True) for name in ("scope", "key")),
        *_texts("created", "body"),
    )


def _trajectories() -> None:
    op.create_table(
        "trajectories",
        Column("seq", Integer, primary_key=True),
        Column("id", Text, nullable=False, unique=True),
        *_texts("scope", "run_id", "task_id", "benchmark", "category", "agent"),
        Column("success", Boolean),
        *_texts("reason", "created", "task", "body"),
    )
    op.create_index("trajectories_by_scope", "trajectories", ["scope", "success", "seq"])
    op.create_index("trajectories_by_task", "trajectories", ["scope", "task_id", "seq"])
    op.create_index("trajectories_by_run", "trajectories", ["run_id", "seq"])
    op.create_table(
        "episodes",
        Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
        Column("key", Text, primary_key=True),
        Column("trajectory_id", Text, ForeignKey("trajectories.id"), nullable=False, unique=True),
        *_texts("created"),
    )


def _lessons() -> None:
    op.create_table(
        "lessons",
        Column("seq", Integer, primary_key=True),
        Column("id", Text, nullable=False, unique=True),
        *_texts("scope"),
        Column("change", Integer, nullable=False),
        *_texts("kind", "key", "category", "status"),
        Column("importance", Float, nullable=False),
        Column("pinned", Boolean, nullable=False),
        *_texts("origin", "method"),
        Column("version", Integer, nullable=False),
        *_texts("created", "updated", "folded", "body"),
    )
    op.create_index("lessons_by_scope", "lessons", ["scope", "seq", "status", "kind"])
    op.create_index("lessons_by_seq", "lessons", ["seq", "status", "kind"])
    op.create_index("lessons_by_key", "lessons", ["key", "scope", "seq"])
    op.create_index("lessons_by_change", "lessons", ["scope", "change"])
    op.create_table(
        "lesson_history",
        Column("lesson_id", Text, ForeignKey("lessons.id", ondelete="CASCADE"), primary_key=True),
        Column("version", Integer, primary_key=True),
        *_texts("at", "who", "why", "body"),
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
