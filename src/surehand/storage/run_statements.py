"""Statements of `RunStore`."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Text, bindparam, case, func, insert, literal_column, select, union_all, update

from .binding import inserted, limit, number, text
from .statements import any_of_these, silence_of
from .tables import run_events, runs, turns
from .tx import Statement

insert_run = inserted(runs)
insert_turn = inserted(turns)
insert_run_event = Statement(
    insert(run_events).from_select(
        [column.name for column in run_events.columns],
        select(*(bindparam(column.name, type_=column.type) for column in run_events.columns)).where(
            ~select(run_events.c.seq)
            .where(
                run_events.c.tenant == text("tenant"),
                run_events.c.run_id == text("run_id"),
                run_events.c.seq == number("seq"),
            )
            .exists()
        ),
    )
)
"""Leaves an event that is there as it is: the save that brought it was cut off, and nobody knew."""

_run = select(*runs.c).where(runs.c.tenant == text("tenant"))
_one_run = _run.where(runs.c.run_id == text("run_id"))
get_run = Statement(_one_run)
lock_run = Statement(_one_run.with_for_update())
_this_run = (runs.c.tenant == text("of_tenant"), runs.c.run_id == text("of_run"))
_OPEN = runs.c.status != literal_column("'ended'", Text)
take_run = Statement(update(runs).values(owner=text("new_owner"), updated_us=number("now_us")).where(*_this_run))
save_run = Statement(
    update(runs)
    .values(
        status=text("to"),
        reason=text("new_reason"),
        start=func.coalesce(bindparam("new_start", type_=runs.c.start.type), runs.c.start),
        owner=text("new_owner"),
        turns=case((runs.c.turns < number("least_turns"), number("least_turns")), else_=runs.c.turns),
        updated_us=number("now_us"),
    )
    .where(*_this_run, _OPEN, runs.c.owner == text("expect_owner"))
)
cancel_run = Statement(
    update(runs).values(cancel=literal_column("1"), updated_us=number("now_us")).where(*_this_run, _OPEN)
)
undriven_stops = Statement(
    select(*runs.c)
    .where(
        runs.c.status.in_([literal_column("'running'", Text), literal_column("'waiting'", Text)]),
        runs.c.cancel == literal_column("1"),
        func.coalesce(silence_of(runs.c.owner), number("least_silent_us")) >= number("least_silent_us"),
    )
    .order_by(runs.c.updated_us, runs.c.run_id)
    .limit(limit())
)
set_results = Statement(
    update(turns)
    .values(results=bindparam("new_results", type_=turns.c.results.type))
    .where(turns.c.tenant == text("of_tenant"), turns.c.run_id == text("of_run"), turns.c.turn == number("of_turn"))
)


@cache
def list_runs(statuses: int) -> Statement:
    """The newest runs in some states, found as calls are."""
    newest = [
        select(
            _run.where(runs.c.status == status)
            .order_by(runs.c.created_us.desc(), runs.c.run_id.desc())
            .limit(limit())
            .subquery()
        )
        for status in any_of_these("status", statuses)
    ]
    merged = union_all(*newest).subquery()
    return Statement(select(merged).order_by(merged.c.created_us.desc(), merged.c.run_id.desc()).limit(limit()))


list_turns = Statement(
    select(*turns.c).where(turns.c.tenant == text("tenant"), turns.c.run_id == text("run_id")).order_by(turns.c.turn)
)
list_run_events = Statement(
    select(*run_events.c)
    .where(
        run_events.c.tenant == text("tenant"),
        run_events.c.run_id == text("run_id"),
        run_events.c.seq > number("after_seq"),
    )
    .order_by(run_events.c.seq)
    .limit(limit())
)
