"""The statements of the control plane."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Integer, Text, bindparam, func, insert, select, update

from .tables import control, control_head
from .tx import Statement


def _number(name: str) -> Any:
    return bindparam(name, type_=BigInteger)


revision = Statement(select(control_head.c.revision))
hold_revision = Statement(select(control_head.c.revision).with_for_update(read=True))
"""Locked for all who change it, shared by all who rely on it."""
raise_revision = Statement(
    update(control_head).values(revision=_number("to")).where(control_head.c.revision == _number("expect"))
)
insert_control = Statement(insert(control).values({column.name: bindparam(column.name) for column in control.columns}))

_later = control.alias("later")
_newest = (
    select(func.max(_later.c.revision))
    .where(_later.c.tenant == control.c.tenant, _later.c.kind == control.c.kind, _later.c.name == control.c.name)
    .scalar_subquery()
)
list_control = Statement(
    select(*control.c)
    .where(control.c.revision > _number("after"), control.c.revision == _newest)
    .order_by(control.c.revision, control.c.tenant, control.c.kind, control.c.name)
)


@cache
def control_history(*, of_kind: bool, of_name: bool) -> Statement:
    """The newest rows; of one kind, of one name."""
    wanted = select(*control.c)
    if of_kind:
        wanted = wanted.where(control.c.kind == bindparam("kind", type_=Text))
    if of_name:
        wanted = wanted.where(control.c.name == bindparam("name", type_=Text))
    order = (control.c.revision.desc(), control.c.tenant, control.c.kind, control.c.name)
    return Statement(wanted.order_by(*order).limit(bindparam("limit", type_=Integer)))
