"""How a call goes on that is already in the ledger, whatever state it is in."""

from __future__ import annotations

import asyncio

from ..call import OPEN, ToolResult
from ..errors import tool_error
from ..ledger import CallRecord
from ..pipeline import Services, Stop, carry_on
from ..pipeline.claim import pending
from ..pipeline.shape import stopped
from ..pipeline.stored import answer, caller_now, for_reader, own_caller, stored_passage
from ..pipeline.trace import stored_arguments
from ..pipeline.unknown import is_alive, recover_one, settle_by_check
from ..types import Caller
from ..view import World
from .ending import expire

_POLL_S = 0.05


class Resumption:
    """Reads, and where a yes is there, runs, calls of the ledger."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def resume(self, record: CallRecord, by: Caller, world: World, *, wait_s: float) -> ToolResult:
        """See `Engine.resume`; waits at most `wait_s` for another process that runs the call."""
        s = self._s
        if record.status in ("waiting", "ready"):
            record = await self._expired(record)
        if record.status == "ready":
            result = await self._run(record, by, world)
            if result.status != "pending" or result.error is not None:
                return for_reader(s, by, record, result, world)
            record = await self._fresh(record)
        if record.status == "running":
            record = await self._finished(record, wait_s)
        if record.status == "unknown":
            record = await settle_by_check(s, record, world)
        if record.status in OPEN:
            return self._pending(record, world)
        return for_reader(s, by, record, await answer(s, record, world), world)

    async def _run(self, record: CallRecord, by: Caller, world: World) -> ToolResult:
        caller = await caller_now(self._s, record, by)
        stop = None
        if caller is None:
            why = f"`{record.name}` was not run: its caller may act no longer."
            stop = Stop(status="denied", error=tool_error("POLICY_DENIED", why, tool=record.name))
            caller = own_caller(self._s, record)
        return await carry_on(stored_passage(self._s, record, caller, world), self._s, stop)

    def _pending(self, record: CallRecord, world: World) -> ToolResult:
        p = stored_passage(self._s, record, own_caller(self._s, record), world)
        p.entry = world.catalog.resolve(record.name, record.version)
        p.arguments = stored_arguments(self._s, record).arguments
        # Asking how it stands is no event: whoever waits asks twice a second.
        return stopped(p, self._s, pending(record))

    async def _expired(self, record: CallRecord) -> CallRecord:
        approval = await self._s.store.get_approval(record.tenant, record.approval_id or "")
        if approval is None or self._s.clock.now_us() < approval.expires_us:
            return record
        await expire(self._s, approval)
        return await self._fresh(record)

    async def _finished(self, record: CallRecord, wait_s: float) -> CallRecord:
        """Waits for whoever runs it; takes it over from the dead, as unknown."""
        deadline = self._s.clock.monotonic() + wait_s
        while record.status == "running":
            if not await is_alive(self._s, record.owner):
                return await recover_one(self._s, record)
            if self._s.clock.monotonic() >= deadline:
                return record
            await asyncio.sleep(_POLL_S)
            record = await self._fresh(record)
        return record

    async def _fresh(self, record: CallRecord) -> CallRecord:
        return await self._s.store.get_call(record.tenant, record.call_id) or record
