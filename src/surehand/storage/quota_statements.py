"""The statements of budgets, rates and health."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer, Table, Text, bindparam, delete, func, insert, select, update

from .tables import counters, health, reservations, workers
from .tx import Now, Statement


def _text(name: str) -> Any:
    return bindparam(name, type_=Text)


def _number(name: str) -> Any:
    return bindparam(name, type_=BigInteger)


def _limit() -> Any:
    return bindparam("limit", type_=Integer)


def _inserted(table: Table) -> Statement:
    return Statement(insert(table).values({column.name: bindparam(column.name) for column in table.columns}))


_counter = (counters.c.tenant == _text("of_tenant"), counters.c.name == _text("of_name"))
_this_counter = (*_counter, counters.c.scope == _text("of_scope"))
lock_counter = Statement(select(counters.c.window_us, counters.c.used).where(*_this_counter).with_for_update())
insert_counter = _inserted(counters)
set_counter = Statement(
    update(counters).values(window_us=_number("window_us"), used=_number("used")).where(*_this_counter)
)
give_back = Statement(
    update(counters)
    .values(used=counters.c.used - _number("amount"))
    .where(*_this_counter, counters.c.window_us == _number("of_window_us"))
)
"""Into the window that it was taken of; if that is over, nothing changes."""

insert_reservation = _inserted(reservations)
_of_call = (reservations.c.tenant == _text("tenant"), reservations.c.call_id == _text("call_id"))
reservations_of = Statement(
    select(
        reservations.c.name, reservations.c.kind, reservations.c.scope, reservations.c.amount, reservations.c.window_us
    ).where(*_of_call)
)
end_reservation = Statement(
    delete(reservations).where(
        reservations.c.tenant == _text("of_tenant"),
        reservations.c.call_id == _text("of_call"),
        reservations.c.name == _text("of_name"),
        reservations.c.scope == _text("of_scope"),
    )
)
_silent_us = select(Now() - workers.c.seen_us).where(workers.c.owner == reservations.c.owner).scalar_subquery()
open_reads = Statement(
    select(reservations.c.tenant, reservations.c.call_id)
    .where(
        reservations.c.owner.is_not(None),
        (reservations.c.owner == _text("of_owner"))
        | (func.coalesce(_silent_us, _number("least_silent_us")) >= _number("least_silent_us")),
    )
    .limit(_limit())
)

_reserved = (
    select(func.sum(reservations.c.amount))
    .where(
        reservations.c.tenant == counters.c.tenant,
        reservations.c.name == counters.c.name,
        reservations.c.scope == counters.c.scope,
    )
    .scalar_subquery()
)
list_counters = Statement(
    select(counters.c.name, counters.c.scope, counters.c.window_us, counters.c.used, func.coalesce(_reserved, 0))
    .where(counters.c.tenant == _text("tenant"))
    .order_by(counters.c.name, counters.c.scope)
    .limit(_limit())
)

insert_health = _inserted(health)
set_health = Statement(
    update(health)
    .values(
        state=_text("state"),
        failures=bindparam("failures", type_=Integer),
        changed_us=_number("changed_us"),
        retry_us=_number("retry_us"),
    )
    .where(
        health.c.tenant == _text("of_tenant"),
        health.c.subject == _text("of_subject"),
        health.c.owner == _text("of_owner"),
    )
)
list_health = Statement(
    select(*health.c)
    .where(health.c.tenant == _text("tenant"))
    .order_by(health.c.subject, health.c.owner)
    .limit(_limit())
)
