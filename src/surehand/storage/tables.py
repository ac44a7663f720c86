"""The tables, once for both databases.

Column names and their order are those of the records they hold; `rows` relies on it. Times are microseconds
since the epoch. Sealed values are bytes, and what nobody searches for is JSON text. The prefix keeps the tables
apart from others in a shared PostgreSQL database.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

PREFIX = "surehand_"
VERSION_TABLE = f"{PREFIX}version"

metadata = MetaData()


def _text(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, Text, nullable=null)


def _time(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, BigInteger, nullable=null)


def _number(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, Integer, nullable=null)


def _sealed(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, LargeBinary, nullable=null)


def _table(name: str, *columns: Column[Any], key: tuple[str, ...]) -> Table:
    return Table(PREFIX + name, metadata, *columns, PrimaryKeyConstraint(*key, name=f"{PREFIX}{name}_pkey"))


def _index(name: str, *columns: Column[Any], where: str | None = None, unique: bool = False) -> None:
    condition = text(where) if where else None
    Index(PREFIX + name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


calls = _table(
    "calls",
    _text("call_id"),
    _text("tenant"),
    _text("caller"),
    _text("run_id", null=True),
    _number("step_index", null=True),
    _number("position", null=True),
    _text("tool_call_id"),
    _text("name"),
    _text("version"),
    _text("contract_hash"),
    _text("binding_hash"),
    _text("view_digest"),
    _text("key", null=True),
    _text("idempotency_key"),
    _text("args_hash"),
    _text("status"),
    _sealed("arguments"),
    _text("digest", null=True),
    _text("approval_id", null=True),
    _text("owner", null=True),
    _number("attempt"),
    _sealed("outcome", null=True),
    _sealed("result", null=True),
    _text("error_code", null=True),
    _time("created_us"),
    _time("started_us", null=True),
    _time("finished_us", null=True),
    _time("key_expires_us", null=True),
    _text("parent_call_id", null=True),
    _number("depth", null=True),
    _text("undoes", null=True),
    key=("tenant", "call_id"),
)
_index("calls_by_status", calls.c.tenant, calls.c.status, calls.c.created_us, calls.c.call_id)
_index("calls_unknown", calls.c.tenant, calls.c.name, calls.c.args_hash, where="status = 'unknown'")
_index("calls_running", calls.c.owner, where="status = 'running'")
_index("calls_rejected", calls.c.tenant, calls.c.name, calls.c.args_hash, where="error_code = 'APPROVAL_REJECTED'")
_index("calls_undoing", calls.c.tenant, calls.c.undoes, where="undoes IS NOT NULL")

keys = _table("keys", _text("tenant"), _text("name"), _text("key"), _text("call_id"), key=("tenant", "name", "key"))
"""Who holds the key of an effect. No row: nobody does."""

approvals = _table(
    "approvals",
    _text("approval_id"),
    _text("call_id"),
    _text("tenant"),
    _text("requester"),
    _text("name"),
    _text("version"),
    _text("digest"),
    _text("needs"),
    _text("status"),
    _sealed("shown"),
    _text("shown_hash"),
    _time("created_us"),
    _time("expires_us"),
    _time("decided_us", null=True),
    key=("tenant", "approval_id"),
)
_index("approvals_by_status", approvals.c.tenant, approvals.c.status, approvals.c.created_us, approvals.c.approval_id)
_index("approvals_pending", approvals.c.expires_us, where="status IN ('open', 'approved')")

votes = _table(
    "votes",
    _text("tenant"),
    _text("approval_id"),
    _number("position"),
    _text("approver"),
    _text("verdict"),
    _text("groups"),
    _text("reason"),
    _time("at_us"),
    _text("seal"),
    key=("tenant", "approval_id", "approver"),
)

audit = _table(
    "audit",
    _text("row_id"),
    _text("tenant"),
    _text("kind"),
    _text("call_id", null=True),
    _text("run_id", null=True),
    _time("at_us"),
    _sealed("body"),
    _text("digest"),
    Column("seq", BigInteger, nullable=True),
    _text("chain", null=True),
    key=("tenant", "row_id"),
)
_index("audit_by_call", audit.c.tenant, audit.c.call_id, audit.c.row_id)
# Two partial indexes instead of one full: a row enters the second only when it is sealed, in a batch.
_index("audit_unsealed", audit.c.tenant, audit.c.row_id, where="seq IS NULL")
_index("audit_chain", audit.c.tenant, audit.c.seq, where="seq IS NOT NULL", unique=True)

audit_heads = _table(
    "audit_heads", _text("tenant"), Column("seq", BigInteger, nullable=False), _text("chain"), key=("tenant",)
)
"""Where each tenant's chain ends. Its row is what sealers queue for."""

checkpoints = _table(
    "checkpoints",
    _text("tenant"),
    Column("seq", BigInteger, nullable=False),
    _text("chain"),
    _time("at_us"),
    _text("key_id"),
    _text("signature"),
    key=("tenant", "seq"),
)

artifacts = _table(
    "artifacts",
    _text("tenant"),
    _text("artifact_id"),
    _text("call_id"),
    _text("media_type"),
    Column("size_bytes", BigInteger, nullable=False),
    _text("sha256"),
    _sealed("body"),
    key=("tenant", "artifact_id"),
)

runs = _table(
    "runs",
    _text("run_id"),
    _text("tenant"),
    _text("caller"),
    _text("model"),
    _text("status"),
    _text("reason", null=True),
    _text("owner", null=True),
    _number("cancel"),
    _number("turns"),
    _sealed("start"),
    _time("created_us"),
    _time("updated_us"),
    key=("tenant", "run_id"),
)
# The status first, also for open runs of all tenants: with the tenant first, PostgreSQL would take this index to find
# one run of a tenant by its id, in plans made while the table was empty, and walk over all of the tenant's runs.
_index("runs_by_status", runs.c.status, runs.c.tenant, runs.c.created_us, runs.c.run_id)

turns = _table(
    "turns",
    _text("run_id"),
    _text("tenant"),
    _number("turn"),
    _text("view_digest"),
    _sealed("answer"),
    _sealed("results", null=True),
    _time("created_us"),
    key=("tenant", "run_id", "turn"),
)

run_events = _table(
    "run_events",
    _text("run_id"),
    _text("tenant"),
    Column("seq", BigInteger, nullable=False),
    _time("at_us"),
    _sealed("body"),
    key=("tenant", "run_id", "seq"),
)

delegations = _table(
    "delegations",
    _text("delegation_id"),
    _text("tenant"),
    _text("principal"),
    _text("deputy"),
    _time("created_us"),
    _time("until_us"),
    _sealed("body"),
    key=("tenant", "delegation_id"),
)
_index("delegations_by_deputy", delegations.c.tenant, delegations.c.deputy)

reminders = _table(
    "reminders",
    _text("tenant"),
    _text("approval_id"),
    _text("due"),
    _time("at_us"),
    key=("tenant", "approval_id", "due"),
)
"""What was told of a question, once each."""

workers = _table("workers", _text("owner"), _time("seen_us"), key=("owner",))

settings = _table("settings", _text("name"), _text("value"), key=("name",))
"""What all processes must agree on: written once, never changed."""

grants = _table(
    "grants",
    _text("grant_id"),
    _text("tenant"),
    _text("caller"),
    _text("agent"),
    _text("environment"),
    _text("name"),
    _text("version"),
    _text("contract_hash"),
    _text("binding_hash"),
    _text("needs"),
    _text("giver"),
    _sealed("terms"),
    _number("uses"),
    _number("used"),
    _time("created_us"),
    _time("expires_us"),
    _time("revoked_us", null=True),
    _text("revoked_by", null=True),
    _text("seal"),
    key=("tenant", "grant_id"),
)
# The caller first, no condition, and none by age (ids sort by time): see `runs_by_status`.
_index("grants_by_caller", grants.c.caller, grants.c.tenant, grants.c.name, grants.c.expires_us)
counters = _table(
    "counters",
    _text("tenant"),
    _text("name"),
    _text("scope"),
    Column("window_us", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    key=("tenant", "name", "scope"),
)
"""What is used of each budget and rate. One row a scope: a new window takes the place of the last."""

reservations = _table(
    "reservations",
    _text("tenant"),
    _text("call_id"),
    _text("name"),
    _text("scope"),
    _text("kind"),
    Column("window_us", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    _text("owner", null=True),
    key=("tenant", "call_id", "name", "scope"),
)
"""What calls hold that have not ended. With an owner: a read, which has no row in the ledger."""
_index("reservations_of_reads", reservations.c.owner, where="owner IS NOT NULL")

health = _table(
    "health",
    _text("tenant"),
    _text("subject"),
    _text("owner"),
    _text("state"),
    _number("failures"),
    _time("changed_us"),
    _time("retry_us", null=True),
    key=("tenant", "subject", "owner"),
)
control = _table(
    "control",
    _text("tenant"),
    _text("kind"),
    _text("name"),
    Column("revision", BigInteger, nullable=False),
    _sealed("body"),
    _time("at_us"),
    _text("by"),
    key=("tenant", "kind", "name", "revision"),
)
_index("control_by_revision", control.c.revision)

control_head = _table(
    "control_head",
    Column("place", Integer, nullable=False, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    key=("place",),
)
"""One row, made with the table: the latest revision. Every claim reads it, every change raises it."""
