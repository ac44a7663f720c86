"""How a run ends that was asked to stop and that nobody drives: its questions are withdrawn, its calls get an end."""

from __future__ import annotations

import asyncio

from ..errors import SurehandError
from ..pipeline import Services
from ..ports import RunRecord, RunSave, StoredEvent
from .ending import let_go
from .last_turn import ended_elsewhere, last_turn
from .run_parts import BY_HAND, GAP, last_seq, owe_release, seal, take


async def stop(s: Services, record: RunRecord) -> None:
    """Ends a run, unless somebody drives it, who will. Once it is taken it is ended, whoever gives up waiting.

    Raises:
        StoreError: The store did not take it, or the run was tampered with. `Maintenance` tries again.
    """
    key = (record.tenant, record.run_id)
    if key in s.driving:
        return
    s.driving.add(key)
    ending = asyncio.create_task(_end(s, record))
    ending.add_done_callback(lambda _: s.driving.discard(key))
    await asyncio.shield(ending)


async def _end(s: Services, record: RunRecord) -> None:
    taken = await take(s, record)
    if taken is None:
        return
    try:
        await s.store.save_run(await _ended(s, taken))
    except SurehandError:
        owe_release(s, taken)
        raise


async def _ended(s: Services, run: RunRecord) -> RunSave:
    tenant, run_id = run.tenant, run.run_id
    await withdraw_all(s, tenant, run_id)
    last = await last_turn(s, run)
    now_us = s.clock.now_us()
    end = {"reason": "cancelled", "why": BY_HAND, "text": last.text, "resumable": False}
    told = [("call.finished", ended_elsewhere(result, position)) for position, result in last.ended.items()]
    first = await last_seq(s, tenant, run_id) + GAP
    events: list[StoredEvent] = []
    for seq, (kind, data) in enumerate([*told, ("run.ended", end)], first):
        turn = max(0, run.turns - 1)
        event = {"run_id": run_id, "seq": seq, "turn": turn, "kind": kind, "at_us": now_us, "data": data}
        body = seal(s, event, tenant=tenant, run_id=run_id, what=f"event{seq}")
        events.append(StoredEvent(run_id=run_id, tenant=tenant, seq=seq, at_us=now_us, body=body))
    return RunSave(
        tenant=tenant,
        run_id=run_id,
        expect_owner=s.owner,
        status="ended",
        reason="cancelled",
        turn=last.record,
        events=tuple(events),
        now_us=now_us,
    )


async def withdraw_all(s: Services, tenant: str, run_id: str) -> None:
    """Ends the calls of a run that wait for people or were not resumed: nobody will."""
    most = s.limits.open_approvals
    for call in await s.store.list_calls(tenant, statuses=("waiting", "ready"), run_id=run_id, limit=most):
        await let_go(s, call)
