"""The tables of a store, and the version of their layout.

A *scope* separates pools; every trajectory and every lesson belongs to one. A *run* has *episodes*, each with its
trajectory. `lessons` has the present state of each lesson, `lesson_history` every state, `lesson_sources` the
trajectories it was learned from, and `lesson_uses` those that were shown it. A *snapshot* names a count of its scope's
changes, and so the states up to then. `vectors` has embeddings, `journal` the replies of models, `marks` small values
by scope and name, `learned` the trajectories that a method has learned from, `waiting` those that taught it nothing
yet, and `leases` the programs that do what only one may do at a time.

The column `body` holds an object in full, as the JSON of its type; other columns repeat the fields that queries filter
and sort by, or that people read. Always holds: `body` decides (`Store.check` reports a column that differs); only
migrations create tables, and `HEAD` is the newest one.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text

HEAD = "0004"
VERSIONS = ("0001", "0002", "0003", "0004")
"""Every version that this program can read or migrate to `HEAD`, oldest first."""

VERSION_TABLE = "seasoned_version"

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


scopes = Table(
    "scopes",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("change", Integer, nullable=False),  # rises with every write to the scope, for caches
    Column("purges", Integer, nullable=False),  # rises with permanent deletions, which reset caches
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    *_texts("name", "path", "status", "created"),
    Column("finished", Text),
    Column("config", Text, nullable=False),
    Column("summary", Text),
    Index("runs_by_created", "created", "run_id"),
)

trajectories = Table(
    "trajectories",
    metadata,
    Column("seq", Integer, primary_key=True),  # order of insertion
    Column("id", Text, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    Column("run_id", Text, nullable=False),  # "" outside any run
    *_texts("task_id", "benchmark", "category", "agent"),
    Column("success", Boolean),  # null: unknown
    *_texts("reason", "created", "task", "body"),
    Index("trajectories_by_scope", "scope", "success", "seq"),
    Index("trajectories_by_task", "scope", "task_id", "seq"),
    Index("trajectories_by_run", "run_id", "seq"),
)

episodes = Table(
    "episodes",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("trajectory_id", Text, ForeignKey("trajectories.id"), nullable=False, unique=True),
    Column("created", Text, nullable=False),
)

lessons = Table(
    "lessons",
    metadata,
    Column("seq", Integer, primary_key=True),  # order of insertion
    Column("id", Text, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    Column("change", Integer, nullable=False),  # the change of the scope that last wrote this row
    *_texts("kind", "key", "category", "status"),
    Column("importance", Float, nullable=False),
    Column("pinned", Boolean, nullable=False),
    *_texts("origin", "method"),
    Column("version", Integer, nullable=False),
    *_texts("created", "updated"),
    Column("folded", Text, nullable=False),  # key and text without case, for searches
    Column("body", Text, nullable=False),
    # The first and second serve pages, in order of insertion, without reading a row.
    Index("lessons_by_scope", "scope", "seq", "status", "kind"),
    Index("lessons_by_seq", "seq", "status", "kind"),
    Index("lessons_by_key", "key", "scope", "seq"),
    Index("lessons_by_change", "scope", "change"),
)

lesson_history = Table(
    "lesson_history",
    metadata,
    Column("lesson_id", Text, ForeignKey("lessons.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    *_texts("at", "who", "why", "body"),
    Column("change", Integer, nullable=False),  # the change of the scope that wrote this state
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("change", Integer, nullable=False),  # has the last state of each lesson up to this change
    *_texts("at", "who", "why"),
)

lesson_sources = Table(
    "lesson_sources",
    metadata,
    Column("lesson_id", Text, ForeignKey("lessons.id", ondelete="CASCADE"), primary_key=True),
    Column("trajectory_id", Text, primary_key=True),  # no foreign key: a lesson may come from another store
    Index("lesson_sources_by_trajectory", "trajectory_id"),
)

lesson_uses = Table(
    "lesson_uses",
    metadata,
    Column("lesson_id", Text, primary_key=True),  # no foreign key: a used lesson may be gone
    Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
    Index("lesson_uses_by_trajectory", "trajectory_id"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("owner", Text, primary_key=True),  # "lesson" or "trajectory"
    Column("id", Text, primary_key=True),
    Column("embedder", Text, primary_key=True),
    Column("dim", Integer, nullable=False),
    Column("digest", Text, nullable=False),  # of the embedded text
    Column("data", LargeBinary, nullable=False),  # float32, little-endian, dim x 4 bytes
)

journal = Table(
    "journal",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    *_texts("created", "body"),
)

marks = Table(
    "marks",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("value", Text, nullable=False),  # JSON
)

learned = Table(
    "learned",
    metadata,
    Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
    Column("method", Text, primary_key=True),
    Column("at", Text, nullable=False),
)

waiting = Table(
    "waiting",
    metadata,
    Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
    Column("method", Text, primary_key=True),
    *_texts("at", "why"),
    Column("tried", Text, nullable=False),  # the ways tried so far, each between line breaks
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until", Float, nullable=False),  # seconds since 1970; then any program may take it
)
