"""Every statement of the store, written once. Values of a record are bound by their column's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Integer,
    ScalarSelect,
    Select,
    Table,
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

from .tables import (
    approvals,
    artifacts,
    audit,
    audit_heads,
    calls,
    checkpoints,
    keys,
    reminders,
    run_events,
    runs,
    settings,
    turns,
    votes,
    workers,
)
from .tx import Now, Statement


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
_WAITING = literal_column("'waiting'", Text)

# --- ledger

insert_call = _inserted(calls)
insert_key = _inserted(keys)

_call = select(*calls.c).where(calls.c.tenant == _text("tenant"))
get_call = Statement(_call.where(calls.c.call_id == _text("call_id")))

# Subqueries, not joins: a plan that PostgreSQL made while the tables were empty has no order to get wrong.
_silent_us = Now() - workers.c.seen_us


def _silence_of(owner: Any) -> ScalarSelect[int]:
    return select(_silent_us).where(workers.c.owner == owner).scalar_subquery()


_owner_silent_us = _silence_of(calls.c.owner)
_seen = select(*calls.c, _owner_silent_us.label("silent_us")).where(calls.c.tenant == _text("tenant"))
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
        (_number("release_owner") == literal_column("1"), null()),
        else_=func.coalesce(_text("new_owner"), calls.c.owner),
    )
    statement = (
        update(calls)
        .values(status=_text("to"), **changes)
        .where(
            calls.c.tenant == _text("of_tenant"),
            calls.c.call_id == _text("of_call"),
            calls.c.status.in_(_any_of("expect", expected)),
        )
    )
    if owned:
        statement = statement.where(calls.c.owner == _text("expect_owner"))
    if started:
        statement = statement.where(calls.c.started_us == _number("expect_started_us"))
    return Statement(statement)


@cache
def list_calls(statuses: int, *, of_run: bool = False) -> Statement:
    """The newest calls in some states: a walk along the index for each state, then a merge."""
    wanted = _call.where(calls.c.run_id == _text("run_id")) if of_run else _call
    newest = [
        select(
            wanted.where(calls.c.status == status)
            .order_by(calls.c.created_us.desc(), calls.c.call_id.desc())
            .limit(_limit())
            .subquery()
        )
        for status in _any_of("status", statuses)
    ]
    merged = union_all(*newest).subquery()
    return Statement(select(merged).order_by(merged.c.created_us.desc(), merged.c.call_id.desc()).limit(_limit()))


_running = (
    select(*calls.c).where(calls.c.status == _RUNNING).order_by(calls.c.created_us, calls.c.call_id).limit(_limit())
)
orphans = Statement(
    _running.where(func.coalesce(_owner_silent_us, _number("least_silent_us")) >= _number("least_silent_us"))
)
running_of = Statement(_running.where(calls.c.owner == _text("owner")))
silence = Statement(select(_silent_us).where(workers.c.owner == _text("owner")))
beat = Statement(update(workers).values(seen_us=Now()).where(workers.c.owner == _text("of_owner")))
insert_worker = Statement(insert(workers).values(owner=_text("owner"), seen_us=Now()))

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


_PENDING = approvals.c.status.in_([literal_column("'open'"), literal_column("'approved'")])
expired_approvals = _with_votes(
    select(*approvals.c)
    .where(_PENDING, approvals.c.expires_us <= _number("now_us"))
    .order_by(approvals.c.expires_us, approvals.c.approval_id)
    .limit(_limit())
)
_reminded = select(reminders.c.at_us)
due_approvals = _with_votes(
    select(*approvals.c)
    .where(
        # Both conditions: the first makes it the partial index of pending questions.
        _PENDING,
        approvals.c.status == literal_column("'open'", Text),
        approvals.c.created_us <= _number("before_us"),
        ~_reminded.where(
            reminders.c.tenant == approvals.c.tenant,
            reminders.c.approval_id == approvals.c.approval_id,
            reminders.c.due == _text("due"),
        ).exists(),
    )
    .order_by(approvals.c.created_us, approvals.c.approval_id)
    .limit(_limit())
)
count_open_approvals = Statement(
    select(func.count()).select_from(approvals).where(approvals.c.tenant == _text("tenant"), _PENDING)
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

# --- settings

insert_setting = _inserted(settings)
get_setting = Statement(select(settings.c.value).where(settings.c.name == _text("name")))

# --- runs

insert_run = _inserted(runs)
insert_turn = _inserted(turns)
insert_run_event = Statement(
    insert(run_events).from_select(
        [column.name for column in run_events.columns],
        select(*(bindparam(column.name, type_=column.type) for column in run_events.columns)).where(
            ~select(run_events.c.seq)
            .where(
                run_events.c.tenant == _text("tenant"),
                run_events.c.run_id == _text("run_id"),
                run_events.c.seq == _number("seq"),
            )
            .exists()
        ),
    )
)
"""Leaves an event that is there as it is: the save that brought it was cut off, and nobody knew."""

_run = select(*runs.c).where(runs.c.tenant == _text("tenant"))
_one_run = _run.where(runs.c.run_id == _text("run_id"))
get_run = Statement(_one_run)
lock_run = Statement(_one_run.with_for_update())
_this_run = (runs.c.tenant == _text("of_tenant"), runs.c.run_id == _text("of_run"))
_OPEN = runs.c.status != literal_column("'ended'", Text)
take_run = Statement(update(runs).values(owner=_text("new_owner"), updated_us=_number("now_us")).where(*_this_run))
save_run = Statement(
    update(runs)
    .values(
        status=_text("to"),
        reason=_text("new_reason"),
        start=func.coalesce(bindparam("new_start", type_=runs.c.start.type), runs.c.start),
        owner=_text("new_owner"),
        turns=case((runs.c.turns < _number("least_turns"), _number("least_turns")), else_=runs.c.turns),
        updated_us=_number("now_us"),
    )
    .where(*_this_run, _OPEN, runs.c.owner == _text("expect_owner"))
)
cancel_run = Statement(
    update(runs).values(cancel=literal_column("1"), updated_us=_number("now_us")).where(*_this_run, _OPEN)
)
undriven_stops = Statement(
    select(*runs.c)
    .where(
        runs.c.status.in_([_RUNNING, _WAITING]),
        runs.c.cancel == literal_column("1"),
        func.coalesce(_silence_of(runs.c.owner), _number("least_silent_us")) >= _number("least_silent_us"),
    )
    .order_by(runs.c.updated_us, runs.c.run_id)
    .limit(_limit())
)
set_results = Statement(
    update(turns)
    .values(results=bindparam("new_results", type_=turns.c.results.type))
    .where(turns.c.tenant == _text("of_tenant"), turns.c.run_id == _text("of_run"), turns.c.turn == _number("of_turn"))
)


@cache
def list_runs(statuses: int) -> Statement:
    """The newest runs in some states, found as calls are."""
    newest = [
        select(
            _run.where(runs.c.status == status)
            .order_by(runs.c.created_us.desc(), runs.c.run_id.desc())
            .limit(_limit())
            .subquery()
        )
        for status in _any_of("status", statuses)
    ]
    merged = union_all(*newest).subquery()
    return Statement(select(merged).order_by(merged.c.created_us.desc(), merged.c.run_id.desc()).limit(_limit()))


list_turns = Statement(
    select(*turns.c).where(turns.c.tenant == _text("tenant"), turns.c.run_id == _text("run_id")).order_by(turns.c.turn)
)
list_run_events = Statement(
    select(*run_events.c)
    .where(
        run_events.c.tenant == _text("tenant"),
        run_events.c.run_id == _text("run_id"),
        run_events.c.seq > _number("after_seq"),
    )
    .order_by(run_events.c.seq)
    .limit(_limit())
)
