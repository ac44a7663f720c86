"""The statements about grants."""

from __future__ import annotations

from sqlalchemy import Text, bindparam, func, insert, literal_column, select, update

from .binding import limit, number, text
from .tables import approvals, calls, grants
from .tx import Statement

_of_tenant = select(*grants.c).where(grants.c.tenant == text("tenant"))
_one = _of_tenant.where(grants.c.grant_id == text("grant_id"))
_usable = (grants.c.revoked_us.is_(None), grants.c.expires_us > number("now_us"), grants.c.used < grants.c.uses)
_this = (grants.c.tenant == text("of_tenant"), grants.c.grant_id == text("of_grant"))

insert_grant = Statement(insert(grants).values({column.name: bindparam(column.name) for column in grants.columns}))
get_grant = Statement(_one)
lock_usable = Statement(_one.with_only_columns(grants.c.grant_id).where(*_usable).with_for_update())
list_grants = Statement(_of_tenant.order_by(grants.c.grant_id.desc()).limit(limit()))
open_grants = Statement(
    _of_tenant.where(
        grants.c.caller == text("caller"),
        grants.c.name == text("name"),
        grants.c.version == text("version"),
        *_usable,
    )
    .order_by(grants.c.expires_us, grants.c.grant_id)
    .limit(limit())
)
count_open = Statement(select(func.count()).select_from(grants).where(grants.c.tenant == text("tenant"), *_usable))
use = Statement(update(grants).values(used=grants.c.used + literal_column("1")).where(*_this))
revoke = Statement(
    update(grants).values(revoked_us=number("at"), revoked_by=text("by")).where(*_this, grants.c.revoked_us.is_(None))
)

# A constant in the text, not a parameter: otherwise the partial index cannot be used.
_REJECTED = literal_column("'APPROVAL_REJECTED'", Text)
rejected = Statement(
    select(calls.c.call_id)
    .select_from(
        calls.join(approvals, (approvals.c.tenant == calls.c.tenant) & (approvals.c.approval_id == calls.c.approval_id))
    )
    .where(
        calls.c.tenant == text("tenant"),
        calls.c.name == text("name"),
        calls.c.args_hash == text("args_hash"),
        calls.c.error_code == _REJECTED,
        approvals.c.requester == text("requester"),
    )
    .limit(limit())
)
"""Calls of one requester with exactly these arguments to which a person said no."""
