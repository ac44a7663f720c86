"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes all tables."""
    _ledger()
    _approvals()
    _audit()
    _artifacts()


def _ledger() -> None:
    op.create_table(
        "surehand_calls",
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("step_index", sa.Integer(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("tool_call_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("contract_hash", sa.Text(), nullable=False),
        sa.Column("binding_hash", sa.Text(), nullable=False),
        sa.Column("view_digest", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("args_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("arguments", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=True),
        sa.Column("finished_us", sa.BigInteger(), nullable=True),
        sa.Column("key_expires_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "call_id", name="surehand_calls_pkey"),
    )
    op.create_index("surehand_calls_by_status", "surehand_calls", ["tenant", "status", "created_us", "call_id"])
    _partial_index("surehand_calls_running", "surehand_calls", ["owner"], "status = 'running'")
    _partial_index("surehand_calls_unknown", "surehand_calls", ["tenant", "name", "args_hash"], "status = 'unknown'")
    op.create_table(
        "surehand_keys",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", "key", name="surehand_keys_pkey"),
    )
    op.create_table(
        "surehand_workers",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("seen_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", name="surehand_workers_pkey"),
    )


def _approvals() -> None:
    op.create_table(
        "surehand_approvals",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("needs", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("shown", sa.LargeBinary(), nullable=False),
        sa.Column("shown_hash", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("decided_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "approval_id", name="surehand_approvals_pkey"),
    )
    op.create_index(
        "surehand_approvals_by_status", "surehand_approvals", ["tenant", "status", "created_us", "approval_id"]
    )
    _partial_index("surehand_approvals_pending", "surehand_approvals", ["expires_us"], "status IN ('open', 'approved')")
    op.create_table(
        "surehand_votes",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "approval_id", "approver", name="surehand_votes_pkey"),
    )


def _audit() -> None:
    op.create_table(
        "surehand_audit",
        sa.Column("row_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("chain", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "row_id", name="surehand_audit_pkey"),
    )
    op.create_index("surehand_audit_by_call", "surehand_audit", ["tenant", "call_id", "row_id"])
    _partial_index("surehand_audit_chain", "surehand_audit", ["tenant", "seq"], "seq IS NOT NULL", unique=True)
    _partial_index("surehand_audit_unsealed", "surehand_audit", ["tenant", "row_id"], "seq IS NULL")
    op.create_table(
        "surehand_audit_heads",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="surehand_audit_heads_pkey"),
    )
    op.create_table(
        "surehand_checkpoints",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "seq", name="surehand_checkpoints_pkey"),
    )


def _artifacts() -> None:
    op.create_table(
        "surehand_artifacts",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("artifact_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "artifact_id", name="surehand_artifacts_pkey"),
    )


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
