"""Every statement of the store, written once. Values of a record are bound by their column's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ScalarSelect,
    Select,
    Text,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
    union_all,
    update,
)

from .binding import inserted, limit, number, text
from .tables import (
    approvals,
    artifacts,
    audit,
    audit_heads,
    calls,
    checkpoints,
    keys,
    reminders,
    settings,
    votes,
    workers,
)
from .tx import Now, Statement


def any_of_these(prefix: str, count: int) -> list[Any]:
    """The parameters that `any_of` binds."""
    return [text(f"{prefix}{place}") for place in range(count)]


def any_of(prefix: str, values: Sequence[str]) -> dict[str, str]:
    """The values for a condition on one of several."""
    return {f"{prefix}{place}": value for place, value in enumerate(values)}


# A constant in the text, not a parameter: otherwise the partial indexes cannot be used.
_UNKNOWN = literal_column("'unknown'", Text)
_RUNNING = literal_column("'running'", Text)
_WAITING = literal_column("'waiting'", Text)

# --- ledger

insert_call = inserted(calls)
insert_key = inserted(keys)

_call = select(*calls.c).where(calls.c.tenant == text("tenant"))
get_call = Statement(_call.where(calls.c.call_id == text("call_id")))

# Subqueries, not joins: a plan that PostgreSQL made while the tables were empty has no order to get wrong.
_silent_us = Now() - workers.c.seen_us


def silence_of(owner: Any) -> ScalarSelect[int]:
    """For how long the owner in a column has not said that it is alive."""
    return select(_silent_us).where(workers.c.owner == owner).scalar_subquery()


_owner_silent_us = silence_of(calls.c.owner)
_seen = select(*calls.c, _owner_silent_us.label("silent_us")).where(calls.c.tenant == text("tenant"))
_held_by = (
    select(keys.c.call_id)
    .where(keys.c.tenant == text("tenant"), keys.c.name == text("name"), keys.c.key == text("key"))
    .scalar_subquery()
)
_key_holder = _seen.where(calls.c.call_id == _held_by)
_same_arguments = _seen.where(
    calls.c.name == text("name"), calls.c.args_hash == text("args_hash"), calls.c.status == _UNKNOWN
)
_not_by_key = _same_arguments.add_columns(literal_column("0").label("holds"))
find_unknown = Statement(_not_by_key)
find_existing = Statement(union_all(_key_holder.add_columns(literal_column("1").label("holds")), _not_by_key))
"""The call that holds the key (last column 1), and unknown calls of the same arguments (0)."""

take_key = Statement(
    update(keys)
    .values(call_id=text("call_id"))
    .where(
        keys.c.tenant == text("of_tenant"),
        keys.c.name == text("of_name"),
        keys.c.key == text("of_key"),
        keys.c.call_id == text("held_by"),
    )
)
_moved = calls.alias("moved")
release_key = Statement(
    delete(keys).where(
        keys.c.tenant == text("tenant"),
        keys.c.call_id == text("call_id"),
        *(
            keys.c[part]
            == select(_moved.c[part])
            .where(_moved.c.tenant == text("tenant"), _moved.c.call_id == text("call_id"))
            .scalar_subquery()
            for part in ("name", "key")
        ),
    )
)

_MOVABLE = (
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
def move_call(expected: int, owned: bool, started: bool) -> Statement:
    """The conditional update of one call, from one of `expected` states, perhaps of one owner and one start."""
    changes: dict[str, Any] = {
        name: func.coalesce(bindparam(f"new_{name}", type_=calls.c[name].type), calls.c[name]) for name in _MOVABLE
    }
    changes["owner"] = case(
        (number("release_owner") == literal_column("1"), null()),
        else_=func.coalesce(text("new_owner"), calls.c.owner),
    )
    statement = (
        update(calls)
        .values(status=text("to"), **changes)
        .where(
            calls.c.tenant == text("of_tenant"),
            calls.c.call_id == text("of_call"),
            calls.c.status.in_(any_of_these("expect", expected)),
        )
    )
    if owned:
        statement = statement.where(calls.c.owner == text("expect_owner"))
    if started:
        statement = statement.where(calls.c.started_us == number("expect_started_us"))
    return Statement(statement)


@cache
def list_calls(statuses: int, *, of_run: bool = False) -> Statement:
    """The newest calls in some states: a walk along the index for each state, then a merge."""
    wanted = _call.where(calls.c.run_id == text("run_id")) if of_run else _call
    newest = [
        select(
            wanted.where(calls.c.status == status)
            .order_by(calls.c.created_us.desc(), calls.c.call_id.desc())
            .limit(limit())
            .subquery()
        )
        for status in any_of_these("status", statuses)
    ]
    merged = union_all(*newest).subquery()
    return Statement(select(merged).order_by(merged.c.created_us.desc(), merged.c.call_id.desc()).limit(limit()))


_running = (
    select(*calls.c).where(calls.c.status == _RUNNING).order_by(calls.c.created_us, calls.c.call_id).limit(limit())
)
orphans = Statement(
    _running.where(func.coalesce(_owner_silent_us, number("least_silent_us")) >= number("least_silent_us"))
)
running_of = Statement(_running.where(calls.c.owner == text("owner")))
silence = Statement(select(_silent_us).where(workers.c.owner == text("owner")))
beat = Statement(update(workers).values(seen_us=Now()).where(workers.c.owner == text("of_owner")))
insert_worker = Statement(insert(workers).values(owner=text("owner"), seen_us=Now()))

# --- approvals

insert_approval = inserted(approvals)
insert_vote = inserted(votes)
set_approval = Statement(
    update(approvals)
    .values(status=text("to"), decided_us=func.coalesce(number("at"), approvals.c.decided_us))
    .where(approvals.c.tenant == text("of_tenant"), approvals.c.approval_id == text("of_approval"))
)
_approval = select(*approvals.c).where(
    approvals.c.tenant == text("tenant"), approvals.c.approval_id == text("approval_id")
)
lock_approval = Statement(_approval.with_for_update())
lock_approval_status = Statement(_approval.with_only_columns(approvals.c.call_id, approvals.c.status).with_for_update())
votes_of = Statement(
    select(*votes.c)
    .where(votes.c.tenant == text("tenant"), votes.c.approval_id == text("approval_id"))
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
            .where(approvals.c.tenant == text("tenant"), approvals.c.status == status)
            .order_by(*order)
            .limit(limit())
            .subquery()
        )
        for status in any_of_these("status", statuses)
    ]
    merged = union_all(*oldest).subquery()
    return _with_votes(select(merged).order_by(merged.c.created_us, merged.c.approval_id).limit(limit()))


_PENDING = approvals.c.status.in_([literal_column("'open'"), literal_column("'approved'")])
expired_approvals = _with_votes(
    select(*approvals.c)
    .where(_PENDING, approvals.c.expires_us <= number("now_us"))
    .order_by(approvals.c.expires_us, approvals.c.approval_id)
    .limit(limit())
)
_reminded = select(reminders.c.at_us)
due_approvals = _with_votes(
    select(*approvals.c)
    .where(
        # Both conditions: the first makes it the partial index of pending questions.
        _PENDING,
        approvals.c.status == literal_column("'open'", Text),
        approvals.c.created_us <= number("before_us"),
        ~_reminded.where(
            reminders.c.tenant == approvals.c.tenant,
            reminders.c.approval_id == approvals.c.approval_id,
            reminders.c.due == text("due"),
        ).exists(),
    )
    .order_by(approvals.c.created_us, approvals.c.approval_id)
    .limit(limit())
)
count_open_approvals = Statement(
    select(func.count()).select_from(approvals).where(approvals.c.tenant == text("tenant"), _PENDING)
)

# --- audit

insert_audit = inserted(audit)
_audit = select(*audit.c).where(audit.c.tenant == text("tenant"))
_unsealed = _audit.where(audit.c.seq.is_(None)).order_by(audit.c.row_id)
audit_newest = Statement(_audit.order_by(audit.c.row_id.desc()).limit(limit()))
audit_of_call = Statement(_audit.where(audit.c.call_id == text("call_id")).order_by(audit.c.row_id).limit(limit()))
_chain = _audit.where(audit.c.seq.is_not(None), audit.c.seq > number("after_seq")).order_by(audit.c.seq).limit(limit())
audit_chain = Statement(_chain)
audit_chain_of_call = Statement(_chain.where(audit.c.call_id == text("call_id")))
unsealed = Statement(_unsealed)
some_unsealed = Statement(_unsealed.limit(limit()))
tenants_unsealed = Statement(select(audit.c.tenant).where(audit.c.seq.is_(None)).distinct().order_by(audit.c.tenant))
tenants_sealed = Statement(select(audit_heads.c.tenant))
lock_head = Statement(
    select(audit_heads.c.seq, audit_heads.c.chain).where(audit_heads.c.tenant == text("tenant")).with_for_update()
)
insert_head = inserted(audit_heads)
move_head = Statement(
    update(audit_heads)
    .values(seq=number("new_seq"), chain=text("new_chain"))
    .where(audit_heads.c.tenant == text("of_tenant"))
)
seal_row = Statement(
    update(audit)
    .values(seq=number("new_seq"), chain=text("new_chain"))
    .where(audit.c.tenant == text("of_tenant"), audit.c.row_id == text("of_row"))
)
insert_checkpoint = inserted(checkpoints)
list_checkpoints = Statement(
    select(*checkpoints.c)
    .where(checkpoints.c.tenant == text("tenant"), checkpoints.c.seq > number("after_seq"))
    .order_by(checkpoints.c.seq)
)

# --- artifacts

insert_artifact = inserted(artifacts)
get_artifact = Statement(
    select(*artifacts.c).where(artifacts.c.tenant == text("tenant"), artifacts.c.artifact_id == text("artifact_id"))
)

# --- settings

insert_setting = inserted(settings)
get_setting = Statement(select(settings.c.value).where(settings.c.name == text("name")))
