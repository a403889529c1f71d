"""Attempts that taught a method nothing yet, with the reason."""

from alembic import op
from sqlalchemy import Column, ForeignKey, Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "waiting",
        Column("trajectory_id", Text, ForeignKey("trajectories.id", ondelete="CASCADE"), primary_key=True),
        Column("method", Text, primary_key=True),
        Column("at", Text, nullable=False),
        Column("why", Text, nullable=False),
        Column("tried", Text, nullable=False),
    )
