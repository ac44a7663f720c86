"""The statements about grants."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, Text, bindparam, func, insert, literal_column, select, update

from .tables import approvals, calls, grants
from .tx import Statement


def _text(name: str) -> object:
    return bindparam(name, type_=Text)


def _number(name: str) -> object:
    return bindparam(name, type_=BigInteger)


_LIMIT = bindparam("limit", type_=Integer)
_of_tenant = select(*grants.c).where(grants.c.tenant == _text("tenant"))
_one = _of_tenant.where(grants.c.grant_id == _text("grant_id"))
_usable = (grants.c.revoked_us.is_(None), grants.c.expires_us > _number("now_us"), grants.c.used < grants.c.uses)
_this = (grants.c.tenant == _text("of_tenant"), grants.c.grant_id == _text("of_grant"))

insert_grant = Statement(insert(grants).values({column.name: bindparam(column.name) for column in grants.columns}))
get_grant = Statement(_one)
lock_usable = Statement(_one.with_only_columns(grants.c.grant_id).where(*_usable).with_for_update())
list_grants = Statement(_of_tenant.order_by(grants.c.grant_id.desc()).limit(_LIMIT))
open_grants = Statement(
    _of_tenant.where(
        grants.c.caller == _text("caller"),
        grants.c.name == _text("name"),
        grants.c.version == _text("version"),
        *_usable,
    )
    .order_by(grants.c.expires_us, grants.c.grant_id)
    .limit(_LIMIT)
)
count_open = Statement(select(func.count()).select_from(grants).where(grants.c.tenant == _text("tenant"), *_usable))
use = Statement(update(grants).values(used=grants.c.used + literal_column("1")).where(*_this))
revoke = Statement(
    update(grants).values(revoked_us=_number("at"), revoked_by=_text("by")).where(*_this, grants.c.revoked_us.is_(None))
)

# A constant in the text, not a parameter: otherwise the partial index cannot be used.
_REJECTED = literal_column("'APPROVAL_REJECTED'", Text)
rejected = Statement(
    select(calls.c.call_id)
    .select_from(
        calls.join(approvals, (approvals.c.tenant == calls.c.tenant) & (approvals.c.approval_id == calls.c.approval_id))
    )
    .where(
        calls.c.tenant == _text("tenant"),
        calls.c.name == _text("name"),
        calls.c.args_hash == _text("args_hash"),
        calls.c.error_code == _REJECTED,
        approvals.c.requester == _text("requester"),
    )
    .limit(_LIMIT)
)
"""Calls of one requester with exactly these arguments to which a person said no."""
