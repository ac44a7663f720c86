"""Deputies: who may answer in whose place. The principal is looked up again whenever a deputy decides."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..errors import ApprovalError, ConfigError
from ..pipeline import Services, new_id
from ..pipeline.trace import record_row, seal_json, unseal_json
from ..ports import Delegation
from ..secrets import UnsealError
from ..types import Caller

_MOST = 20
"""Deputies that one person may have at once."""
_LONGEST_US = 366 * 86_400_000_000


class Deputy(msgspec.Struct, frozen=True, kw_only=True):
    """One person who may answer in another's place."""

    delegation_id: str
    principal: str
    deputy: str
    created_us: int
    until_us: int


class _Named(msgspec.Struct, frozen=True):
    """What is sealed, so that nobody who can write the database names a deputy."""

    principal: Caller
    deputy: str
    until_us: int


async def delegate(s: Services, to: str, until: datetime, by: Caller) -> Deputy:
    """See `Approvals.delegate`."""
    now_us = s.clock.now_us()
    if not isinstance(until, datetime) or until.tzinfo is None:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ApprovalError("invalid", "delegate: until must be a datetime with a time zone")
    until_us = int(until.timestamp() * 1_000_000)
    if not now_us < until_us <= now_us + _LONGEST_US:
        raise ApprovalError("invalid", "delegate: until must be in the future, by a year at most")
    try:
        Caller(id=to, tenant=by.tenant)
    except ConfigError as error:
        raise ApprovalError("invalid", f"delegate: to is no person's id: {error}") from error
    if to == by.id:
        raise ApprovalError("invalid", f"delegate: {to} cannot be their own deputy")
    named = Deputy(delegation_id=new_id("dlg"), principal=by.id, deputy=to, created_us=now_us, until_us=until_us)
    body = _Named(principal=by, deputy=to, until_us=until_us)
    stored = Delegation(
        **msgspec.structs.asdict(named),
        tenant=by.tenant,
        body=seal_json(s, body, tenant=by.tenant, call_id=named.delegation_id, what="delegation"),
    )
    row = record_row(
        s,
        "approval.delegated",
        tenant=by.tenant,
        call_id=None,
        run_id=None,
        **msgspec.structs.asdict(named),
        status="named",
        by=by.id,
    )
    if not await s.store.delegate(stored, [row], most=_MOST):
        raise ApprovalError("invalid", f"delegate: {by.id} has {_MOST} deputies already; dismiss one first")
    return named


async def dismiss(s: Services, delegation_id: str, by: Caller) -> None:
    """See `Approvals.dismiss`."""
    row = record_row(
        s,
        "approval.delegated",
        tenant=by.tenant,
        call_id=None,
        run_id=None,
        delegation_id=delegation_id,
        status="dismissed",
        by=by.id,
    )
    if not await s.store.undelegate(by.tenant, delegation_id, by.id, [row]):
        raise ApprovalError("not_found", f"{by.id} has named no deputy as {delegation_id!r}")


async def deputies(s: Services, by: Caller) -> list[Deputy]:
    """See `Approvals.deputies`."""
    now_us = s.clock.now_us()
    named = await s.store.list_delegations(by.tenant, by.id, "principal", now_us=now_us)
    taken = await s.store.list_delegations(by.tenant, by.id, "deputy", now_us=now_us)
    fields = Deputy.__struct_fields__
    both = sorted([*named, *taken], key=lambda one: one.created_us)
    return [Deputy(**{name: getattr(one, name) for name in fields}) for one in both]


async def principals_of(s: Services, deputy: Caller) -> tuple[Caller, ...]:
    """Whose deputy somebody is now, each as they are now. Of what was written into the database, nothing counts."""
    now_us = s.clock.now_us()
    found = await s.store.list_delegations(deputy.tenant, deputy.id, "deputy", now_us=now_us)
    principals: dict[str, Caller] = {}
    for one in found:
        try:
            named = unseal_json(s, one.body, _Named, tenant=one.tenant, call_id=one.delegation_id, what="delegation")
        except (UnsealError, msgspec.MsgspecError):
            continue
        if named.deputy == deputy.id and named.principal.tenant == deputy.tenant and now_us < named.until_us:
            today = await s.resolver.refresh(named.principal, deputy)
            if today is not None and today.same_person(named.principal):
                principals[today.id] = today
    return tuple(principals.values())
