"""Every statement of the store, written once. Values of a record are bound by their column's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    union_all,
    update,
)

from .tables import approvals, artifacts, audit, audit_heads, calls, checkpoints, keys, votes, workers
from .tx import Statement


def _inserted(table: Table) -> Statement:
    return Statement(insert(table).values({column.name: bindparam(column.name) for column in table.columns}))


def _text(name: str) -> Any:
    return bindparam(name, type_=Text)


def _number(name: str) -> Any:
    return bindparam(name, type_=BigInteger)


def _limit() -> Any:
    return bindparam("limit", type_=Integer)


def _any_of(prefix: str, count: int) -> list[Any]:
    return [_text(f"{prefix}{place}") for place in range(count)]


def any_of(prefix: str, values: Sequence[str]) -> dict[str, str]:
    """The values for a condition on one of several."""
    return {f"{prefix}{place}": value for place, value in enumerate(values)}


# A constant in the text, not a parameter: otherwise the partial indexes cannot be used.
_UNKNOWN = literal_column("'unknown'", Text)
_RUNNING = literal_column("'running'", Text)

# --- ledger

insert_call = _inserted(calls)
insert_key = _inserted(keys)

_call = select(*calls.c).where(calls.c.tenant == _text("tenant"))
get_call = Statement(_call.where(calls.c.call_id == _text("call_id")))

# Subqueries, not joins: a plan that PostgreSQL made while the tables were empty has no order to get wrong.
_seen_us = select(workers.c.seen_us).where(workers.c.owner == calls.c.owner).scalar_subquery()
_seen = select(*calls.c, _seen_us.label("seen_us")).where(calls.c.tenant == _text("tenant"))
_held_by = (
    select(keys.c.call_id)
    .where(keys.c.tenant == _text("tenant"), keys.c.name == _text("name"), keys.c.key == _text("key"))
    .scalar_subquery()
)
_key_holder = _seen.where(calls.c.call_id == _held_by)
_same_arguments = _seen.where(
    calls.c.name == _text("name"), calls.c.args_hash == _text("args_hash"), calls.c.status == _UNKNOWN
)
_not_by_key = _same_arguments.add_columns(literal_column("0").label("holds"))
find_unknown = Statement(_not_by_key)
find_existing = Statement(union_all(_key_holder.add_columns(literal_column("1").label("holds")), _not_by_key))
"""The call that holds the key (last column 1), and unknown calls of the same arguments (0)."""

take_key = Statement(
    update(keys)
    .values(call_id=_text("call_id"))
    .where(
        keys.c.tenant == _text("of_tenant"),
        keys.c.name == _text("of_name"),
        keys.c.key == _text("of_key"),
        keys.c.call_id == _text("held_by"),
    )
)
_moved = calls.alias("moved")
release_key = Statement(
    delete(keys).where(
        keys.c.tenant == _text("tenant"),
        keys.c.call_id == _text("call_id"),
        *(
            keys.c[part]
            == select(_moved.c[part])
            .where(_moved.c.tenant == _text("tenant"), _moved.c.call_id == _text("call_id"))
            .scalar_subquery()
            for part in ("name", "key")
        ),
    )
)

_MOVABLE = (
    "owner",
    "attempt",
    "outcome",
    "result",
    "error_code",
    "started_us",
    "finished_us",
    "key_expires_us",
    "contract_hash",
    "binding_hash",
    "approval_id",
    "digest",
)


@cache
def move_call(expected: int, owned: bool) -> Statement:
    """The conditional update of one call, from one of `expected` states."""
    changes = {
        name: func.coalesce(bindparam(f"new_{name}", type_=calls.c[name].type), calls.c[name]) for name in _MOVABLE
    }
    statement = (
        update(calls)
        .values(status=_text("to"), **changes)
        .where(
            calls.c.tenant == _text("of_tenant"),
            calls.c.call_id == _text("of_call"),
            calls.c.status.in_(_any_of("expect", expected)),
        )
    )
    return Statement(statement.where(calls.c.owner == _text("expect_owner")) if owned else statement)


@cache
def list_calls(statuses: int) -> Statement:
    """The newest calls in some states: a walk along the index for each state, then a merge."""
    newest = [
        select(
            _call.where(calls.c.status == status)
            .order_by(calls.c.created_us.desc(), calls.c.call_id.desc())
            .limit(_limit())
            .subquery()
        )
        for status in _any_of("status", statuses)
    ]
    merged = union_all(*newest).subquery()
    return Statement(select(merged).order_by(merged.c.created_us.desc(), merged.c.call_id.desc()).limit(_limit()))


orphans = Statement(
    select(*calls.c)
    .where(
        calls.c.status == _RUNNING,
        func.coalesce(_seen_us, literal_column("0")) < _number("seen_before_us"),
        # To start a call is a sign of life too: the owner may not have said another word yet.
        func.coalesce(calls.c.started_us, calls.c.created_us) < _number("seen_before_us"),
    )
    .order_by(calls.c.created_us, calls.c.call_id)
    .limit(_limit())
)
beat = Statement(update(workers).values(seen_us=_number("now_us")).where(workers.c.owner == _text("of_owner")))
insert_worker = _inserted(workers)

# --- approvals

insert_approval = _inserted(approvals)
insert_vote = _inserted(votes)
set_approval = Statement(
    update(approvals)
    .values(status=_text("to"), decided_us=func.coalesce(_number("at"), approvals.c.decided_us))
    .where(approvals.c.tenant == _text("of_tenant"), approvals.c.approval_id == _text("of_approval"))
)
_approval = select(*approvals.c).where(
    approvals.c.tenant == _text("tenant"), approvals.c.approval_id == _text("approval_id")
)
lock_approval = Statement(_approval.with_for_update())
lock_approval_status = Statement(_approval.with_only_columns(approvals.c.call_id, approvals.c.status).with_for_update())
votes_of = Statement(
    select(*votes.c)
    .where(votes.c.tenant == _text("tenant"), votes.c.approval_id == _text("approval_id"))
    .order_by(votes.c.position)
)


def _with_votes(found: Select[Any]) -> Statement:
    """Approvals and their votes by one statement, so that they are of one moment."""
    one = found.subquery()
    joined = one.outerjoin(votes, (votes.c.tenant == one.c.tenant) & (votes.c.approval_id == one.c.approval_id))
    order = (one.c.created_us, one.c.approval_id, votes.c.position)
    return Statement(select(*one.c, *votes.c).select_from(joined).order_by(*order))


get_approval = _with_votes(_approval)


@cache
def list_approvals(statuses: int) -> Statement:
    """The oldest approvals in some states."""
    order = (approvals.c.created_us, approvals.c.approval_id)
    oldest = [
        select(
            select(*approvals.c)
            .where(approvals.c.tenant == _text("tenant"), approvals.c.status == status)
            .order_by(*order)
            .limit(_limit())
            .subquery()
        )
        for status in _any_of("status", statuses)
    ]
    merged = union_all(*oldest).subquery()
    return _with_votes(select(merged).order_by(merged.c.created_us, merged.c.approval_id).limit(_limit()))


expired_approvals = _with_votes(
    select(*approvals.c)
    .where(
        approvals.c.status.in_([literal_column("'open'"), literal_column("'approved'")]),
        approvals.c.expires_us <= _number("now_us"),
    )
    .order_by(approvals.c.expires_us, approvals.c.approval_id)
    .limit(_limit())
)

# --- audit

insert_audit = _inserted(audit)
_audit = select(*audit.c).where(audit.c.tenant == _text("tenant"))
_unsealed = _audit.where(audit.c.seq.is_(None)).order_by(audit.c.row_id)
audit_newest = Statement(_audit.order_by(audit.c.row_id.desc()).limit(_limit()))
audit_of_call = Statement(_audit.where(audit.c.call_id == _text("call_id")).order_by(audit.c.row_id).limit(_limit()))
_chain = (
    _audit.where(audit.c.seq.is_not(None), audit.c.seq > _number("after_seq")).order_by(audit.c.seq).limit(_limit())
)
audit_chain = Statement(_chain)
audit_chain_of_call = Statement(_chain.where(audit.c.call_id == _text("call_id")))
unsealed = Statement(_unsealed)
some_unsealed = Statement(_unsealed.limit(_limit()))
tenants_unsealed = Statement(select(audit.c.tenant).where(audit.c.seq.is_(None)).distinct().order_by(audit.c.tenant))
tenants_sealed = Statement(select(audit_heads.c.tenant))
lock_head = Statement(
    select(audit_heads.c.seq, audit_heads.c.chain).where(audit_heads.c.tenant == _text("tenant")).with_for_update()
)
insert_head = _inserted(audit_heads)
move_head = Statement(
    update(audit_heads)
    .values(seq=_number("new_seq"), chain=_text("new_chain"))
    .where(audit_heads.c.tenant == _text("of_tenant"))
)
seal_row = Statement(
    update(audit)
    .values(seq=_number("new_seq"), chain=_text("new_chain"))
    .where(audit.c.tenant == _text("of_tenant"), audit.c.row_id == _text("of_row"))
)
insert_checkpoint = _inserted(checkpoints)
list_checkpoints = Statement(
    select(*checkpoints.c)
    .where(checkpoints.c.tenant == _text("tenant"), checkpoints.c.seq > _number("after_seq"))
    .order_by(checkpoints.c.seq)
)

# --- artifacts

insert_artifact = _inserted(artifacts)
get_artifact = Statement(
    select(*artifacts.c).where(artifacts.c.tenant == _text("tenant"), artifacts.c.artifact_id == _text("artifact_id"))
)
