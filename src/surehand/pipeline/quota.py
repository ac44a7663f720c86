"""What a call takes of budgets and rates, and what it is told if there is no room."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

from ..errors import SurehandError
from ..limits import Budget, Charge, Full, Per, Uncountable
from ..limits.quotas import PLACE_RETRY_S
from ..normalize import failures
from ..ports import ReadCharges
from .events import tell
from .passage import Passage, Stop
from .services import Services


def charges(p: Passage, s: Services, *, starts: bool) -> tuple[Charge, ...] | Stop:
    """What the call takes: of budgets when it is claimed, and if it starts, of rates too."""
    if not (s.quotas.budgets or s.quotas.rates):
        return ()
    parts = _parts(p)
    now_us = s.clock.now_us()
    found = s.quotas.of_claim(parts, p.final, now_us)
    if isinstance(found, Uncountable):
        return _uncountable(p, found)
    if starts:
        more = s.quotas.of_start(parts, now_us)
        if isinstance(more, Uncountable):
            return _uncountable(p, more)
        found += more
    p.charges = tuple(found)
    return p.charges


def _parts(p: Passage) -> Mapping[Per, str]:
    parts: dict[Per, str] = {"tenant": p.caller.tenant, "caller": p.caller.id, "tool": p.spec.name}
    return parts if p.run_id is None else {**parts, "run": p.run_id}


def _uncountable(p: Passage, found: Uncountable) -> Stop:
    if found.argument is None:
        return p.refuse(
            "BUDGET_EXCEEDED",
            f"`{p.spec.name}` was not run: the limit `{found.limit}` {found.why}. Nothing was done; "
            "tell the user that the application must make it in a run.",
            limit=found.limit,
        )
    return p.refuse(
        "TOOL_ARGUMENT_INVALID",
        f"`{p.spec.name}` was not run: its argument `{found.argument}` {found.why}, and the budget `{found.limit}` "
        "counts by it. Write a plain number that is not negative.",
        limit=found.limit,
        argument=found.argument,
    )


def no_room(p: Passage, s: Services, full: Full, *, approved: bool = False) -> Stop:
    """The stop of a call for which a limit has no room. How much is left is not for the model: it must not try less.

    Args:
        p: The call.
        s: The services.
        full: What the store said.
        approved: Whether the call is approved, and stays so.
    """
    charge = full.charge
    declared = s.quotas.get(charge.limit)
    retry_after_s = _retry_after_s(s, charge)
    tell(p, s, "limit.refused", limit=charge.limit, amount=charge.amount, retry_after_s=retry_after_s)
    p.refused_by = charge.limit
    who = declared.raised_by if isinstance(declared, Budget) and declared.raised_by else "whoever runs this application"
    if charge.kind != "budget":
        when = f"Try again in {retry_after_s} s"
    elif retry_after_s is None:
        when = f"It is not renewed by itself; tell the user that {who} can raise it"
    else:
        when = f"It is renewed in {retry_after_s} s; tell the user. {who[0].upper()}{who[1:]} can raise it"
    what = "was approved and waits" if approved else "was not run"
    after = "Nothing is needed from you; do not call it again" if approved else "Nothing was done"
    return p.refuse(
        "BUDGET_EXCEEDED" if charge.kind == "budget" else "RATE_LIMITED",
        f"`{p.spec.name}` {what}: the limit `{charge.limit}` has no room for it. {when}. {after}.",
        limit=charge.limit,
        retry_after_s=retry_after_s,
    )


def _retry_after_s(s: Services, charge: Charge) -> int | None:
    if charge.kind == "place":
        return PLACE_RETRY_S
    if charge.ends_us is None or charge.amount > charge.cap:
        return None
    return max(1, math.ceil((charge.ends_us - s.clock.now_us()) / 1_000_000))


def tell_reserved(p: Passage, s: Services) -> None:
    """There was room."""
    if p.charges:
        tell(p, s, "limit.reserved", charges=[[one.limit, one.amount] for one in p.charges])


async def charge_read(p: Passage, s: Services) -> Stop | None:
    """For a read that is not in the ledger. In the store, so that all engines count together."""
    taken = charges(p, s, starts=True)
    if isinstance(taken, Stop):
        return taken
    if not taken:
        return None
    read = ReadCharges(tenant=p.caller.tenant, call_id=p.call_id, owner=s.owner, charges=taken, now_us=s.clock.now_us())
    s.reading.add(p.call_id)
    try:
        full = await s.store.charge_read(read)
    except SurehandError:
        p.charges = ()
        s.reading.discard(p.call_id)
        return Stop(status="error", error=failures.unavailable(p.spec, "its limits could not be looked at"))
    if full is not None:
        p.charges = ()
        s.reading.discard(p.call_id)
        return no_room(p, s, full)
    tell_reserved(p, s)
    return None


def end_read(p: Passage, s: Services) -> None:
    """Gives back what a read held. Nobody waits for it; what fails is made good by maintenance."""
    if p.call_id not in s.reading:
        return
    s.reading.discard(p.call_id)
    work = asyncio.ensure_future(s.store.end_read(p.caller.tenant, p.call_id, spent=p.spent))
    work.add_done_callback(lambda done: done.cancelled() or done.exception())


def waits(p: Passage, stop: Stop) -> Stop:
    """An approved call that cannot start now: it stays approved, and says when to come again."""
    record = p.record
    assert record is not None
    return Stop(status="pending", approval_id=record.approval_id, of=record, error=stop.error)
