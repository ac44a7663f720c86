"""Standing answers, and an index by which a person's no to exactly one call is found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds one table and two indexes, and changes no row."""
    op.create_table(
        "surehand_grants",
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in (
                "grant_id",
                "tenant",
                "caller",
                "agent",
                "environment",
                "name",
                "version",
                "contract_hash",
                "binding_hash",
                "needs",
                "giver",
            )
        ),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("revoked_us", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "grant_id", name="surehand_grants_pkey"),
    )
    op.create_index("surehand_grants_by_caller", "surehand_grants", ["caller", "tenant", "name", "expires_us"])
    rejected = sa.text("error_code = 'APPROVAL_REJECTED'")
    op.create_index(
        "surehand_calls_rejected",
        "surehand_calls",
        ["tenant", "name", "args_hash"],
        sqlite_where=rejected,
        postgresql_where=rejected,
    )
