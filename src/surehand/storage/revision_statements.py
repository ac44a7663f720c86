"""Statements of `ApprovalStore`."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from sqlalchemy import Integer, Text, bindparam, delete, func, literal_column, select, update

from .binding import inserted, number, text
from .tables import calls, delegations, reminders
from .tx import Statement

REVISED = (
    "status",
    "contract_hash",
    "binding_hash",
    "key",
    "idempotency_key",
    "args_hash",
    "arguments",
    "approval_id",
    "digest",
)
"""What an edit changes of a call."""


def _new(name: str) -> Any:
    return bindparam(f"new_{name}", type_=calls.c[name].type)


revise_call = Statement(
    update(calls)
    .values({name: _new(name) for name in REVISED})
    .where(
        calls.c.tenant == text("of_tenant"),
        calls.c.call_id == text("of_call"),
        calls.c.status == literal_column("'waiting'", Text),
        calls.c.approval_id == text("of_approval"),
    )
)

insert_delegation = inserted(delegations)
forget_delegations = Statement(
    delete(delegations).where(delegations.c.tenant == text("tenant"), delegations.c.until_us <= number("now_us"))
)
count_delegations = Statement(
    select(func.count())
    .select_from(delegations)
    .where(delegations.c.tenant == text("tenant"), delegations.c.principal == text("principal"))
)
end_delegation = Statement(
    delete(delegations).where(
        delegations.c.tenant == text("tenant"),
        delegations.c.delegation_id == text("delegation_id"),
        delegations.c.principal == text("principal"),
    )
)


@cache
def list_delegations(side: Literal["principal", "deputy"]) -> Statement:
    """Those that hold and of which somebody is one side."""
    return Statement(
        select(*delegations.c)
        .where(
            delegations.c.tenant == text("tenant"),
            delegations.c[side] == text("person"),
            delegations.c.until_us > number("now_us"),
        )
        .order_by(delegations.c.created_us, delegations.c.delegation_id)
        .limit(bindparam("limit", type_=Integer))
    )


insert_reminder = inserted(reminders)
find_reminder = Statement(
    select(reminders.c.at_us).where(
        reminders.c.tenant == text("tenant"),
        reminders.c.approval_id == text("approval_id"),
        reminders.c.due == text("due"),
    )
)
