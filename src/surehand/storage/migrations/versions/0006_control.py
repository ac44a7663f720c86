"""What all processes know of tools, policies and switches."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two tables, and touches no other. The row of the second is there from the start: nobody has to make it."""
    op.create_table(
        "surehand_control",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "name", "revision", name="surehand_control_pkey"),
    )
    op.create_index("surehand_control_by_revision", "surehand_control", ["revision"])
    op.create_table(
        "surehand_control_head",
        sa.Column("place", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("place", name="surehand_control_head_pkey"),
    )
    op.execute("INSERT INTO surehand_control_head (place, revision) VALUES (1, 0)")
