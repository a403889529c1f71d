"""Memory: the scope's change of each state of a lesson, snapshots, marks of learning, and leases."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # States from before this migration count as older than all snapshots.
    op.add_column("lesson_history", Column("change", Integer, nullable=False, server_default="0"))
    op.create_table(
        "snapshots",
        Column("scope", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("change", Integer, nullable=False),
        Column("at", Text, nullable=False),
        Column("who", Text, nullable=False),
        Column("why", Text, nullable=False),
    )
    op.create_table(
        "learned",
        Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
        Column("method", Text, primary_key=True),
        Column("at", Text, nullable=False),
    )
    op.create_table(
        "leases",
        Column("name", Text, primary_key=True),
        Column("holder", Text, nullable=False),
        Column("until", Float, nullable=False),
    )
