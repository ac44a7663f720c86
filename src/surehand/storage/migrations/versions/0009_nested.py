"""Calls that handlers make, and calls that take others back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds columns that may be empty, and an index of those that are not."""
    op.add_column("surehand_calls", sa.Column("parent_call_id", sa.Text(), nullable=True))
    op.add_column("surehand_calls", sa.Column("depth", sa.Integer(), nullable=True))
    op.add_column("surehand_calls", sa.Column("undoes", sa.Text(), nullable=True))
    where = sa.text("undoes IS NOT NULL")
    op.create_index(
        "surehand_calls_undoing",
        "surehand_calls",
        ["tenant", "undoes"],
        sqlite_where=where,
        postgresql_where=where,
    )
