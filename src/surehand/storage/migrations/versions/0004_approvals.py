"""Deputies, and what was told of questions that wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two tables, and touches no other."""
    op.create_table(
        "surehand_delegations",
        sa.Column("delegation_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("deputy", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("until_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "delegation_id", name="surehand_delegations_pkey"),
    )
    op.create_index("surehand_delegations_by_deputy", "surehand_delegations", ["tenant", "deputy"])
    op.create_table(
        "surehand_reminders",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("due", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "approval_id", "due", name="surehand_reminders_pkey"),
    )
