"""The statements of budgets, rates and health."""

from __future__ import annotations

from sqlalchemy import Integer, bindparam, delete, func, select, update

from .binding import inserted, limit, number, text
from .tables import counters, health, reservations, workers
from .tx import Now, Statement

_counter = (counters.c.tenant == text("of_tenant"), counters.c.name == text("of_name"))
_this_counter = (*_counter, counters.c.scope == text("of_scope"))
lock_counter = Statement(select(counters.c.window_us, counters.c.used).where(*_this_counter).with_for_update())
insert_counter = inserted(counters)
set_counter = Statement(
    update(counters).values(window_us=number("window_us"), used=number("used")).where(*_this_counter)
)
give_back = Statement(
    update(counters)
    .values(used=counters.c.used - number("amount"))
    .where(*_this_counter, counters.c.window_us == number("of_window_us"))
)
"""Into the window that it was taken of; if that is over, nothing changes."""

insert_reservation = inserted(reservations)
_of_call = (reservations.c.tenant == text("tenant"), reservations.c.call_id == text("call_id"))
reservations_of = Statement(
    select(
        reservations.c.name, reservations.c.kind, reservations.c.scope, reservations.c.amount, reservations.c.window_us
    ).where(*_of_call)
)
end_reservation = Statement(
    delete(reservations).where(
        reservations.c.tenant == text("of_tenant"),
        reservations.c.call_id == text("of_call"),
        reservations.c.name == text("of_name"),
        reservations.c.scope == text("of_scope"),
    )
)
_silent_us = select(Now() - workers.c.seen_us).where(workers.c.owner == reservations.c.owner).scalar_subquery()
open_reads = Statement(
    select(reservations.c.tenant, reservations.c.call_id)
    .where(
        reservations.c.owner.is_not(None),
        (reservations.c.owner == text("of_owner"))
        | (func.coalesce(_silent_us, number("least_silent_us")) >= number("least_silent_us")),
    )
    .limit(limit())
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
    .where(counters.c.tenant == text("tenant"))
    .order_by(counters.c.name, counters.c.scope)
    .limit(limit())
)

insert_health = inserted(health)
set_health = Statement(
    update(health)
    .values(
        state=text("state"),
        failures=bindparam("failures", type_=Integer),
        changed_us=number("changed_us"),
        retry_us=number("retry_us"),
    )
    .where(
        health.c.tenant == text("of_tenant"),
        health.c.subject == text("of_subject"),
        health.c.owner == text("of_owner"),
    )
)
list_health = Statement(
    select(*health.c).where(health.c.tenant == text("tenant")).order_by(health.c.subject, health.c.owner).limit(limit())
)
