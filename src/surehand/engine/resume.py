"""How a call goes on that is already in the ledger, whatever state it is in."""

from __future__ import annotations

import asyncio

import msgspec

from ..call import OPEN, RunStep, ToolCall, ToolResult
from ..errors import Code, ToolError, tool_error
from ..ledger import CallRecord
from ..pipeline import Passage, Services, Stop, carry_on
from ..pipeline.claim import pending, unknown
from ..pipeline.shape import shape, withheld
from ..pipeline.trace import stored_arguments, stored_outcome, stored_result
from ..pipeline.unknown import recover_one, settle_by_check
from ..types import Caller
from ..view import World
from .maintenance import expire

_POLL_S = 0.05


class Resumption:
    """Reads, and where a yes is there, runs, calls of the ledger."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def resume(self, record: CallRecord, by: Caller, world: World) -> ToolResult:
        """See `Engine.resume`."""
        s = self._s
        if record.status in ("waiting", "ready"):
            record = await self._expired(record)
        if record.status == "ready":
            result = await self._run(record, by, world)
            if result.status != "pending":
                return _for(by, record, result)
            record = await self._fresh(record)
        if record.status == "running":
            record = await self._finished(record)
        if record.status == "unknown":
            record = await settle_by_check(s, record, world)
        return _for(by, record, await self._read(record, by, world))

    async def _run(self, record: CallRecord, by: Caller, world: World) -> ToolResult:
        caller = await self._s.resolver.refresh(record.caller, by)
        stop = None
        if caller is None:
            stop = Stop(status="denied", error=_error(record, "POLICY_DENIED", "its caller may act no longer"))
        p = self._passage(record, caller or record.caller, world)
        return await carry_on(p, self._s, stop)

    def _passage(self, record: CallRecord, caller: Caller, world: World) -> Passage:
        run = None
        if record.run_id is not None:
            run = RunStep(run_id=record.run_id, turn=record.step_index or 0, position=record.position or 0)
        return Passage(
            call=ToolCall(
                id=record.tool_call_id,
                name=record.name,
                version=record.version,
                arguments=stored_arguments(self._s, record).written,
            ),
            caller=caller,
            call_id=record.call_id,
            world=world,
            began_us=self._s.clock.now_us(),
            run=run,
            record=record,
        )

    async def _read(self, record: CallRecord, by: Caller, world: World) -> ToolResult:
        if record.result is not None and record.status not in OPEN:
            stored = stored_result(self._s, record)
            if stored.status == record.status:
                return msgspec.structs.replace(stored, replayed=True)
        p = self._passage(record, record.caller, world)
        p.entry = world.catalog.resolve(record.name, record.version)
        p.arguments = stored_arguments(self._s, record).arguments
        if record.status in OPEN:
            return await shape(p, self._s, pending(record))
        if record.status == "unknown" and p.entry is not None:
            return await shape(p, self._s, unknown(p, record))
        if record.outcome is not None and p.entry is not None:
            p.outcome = stored_outcome(self._s, record)
            return await shape(p, self._s, None)
        error = await self._ended(record)
        status = "denied" if record.status == "denied" else "error"
        return await shape(p, self._s, Stop(status=status, error=error, of=record))

    async def _ended(self, record: CallRecord) -> ToolError:
        code = record.error_code or "TOOL_ERROR"
        if code == "APPROVAL_REJECTED":
            approval = await self._s.store.get_approval(record.tenant, record.approval_id or "")
            votes = approval.votes if approval is not None else ()
            reason = next((vote.reason for vote in votes if vote.verdict == "reject" and vote.reason), "")
            return _error(record, code, f"a person said no{': ' + self._s.redactor.text(reason) if reason else ''}")
        if code == "APPROVAL_EXPIRED":
            return _error(record, code, "nobody approved it in time")
        return _error(record, msgspec.convert(code, Code), "it was not run")

    async def _expired(self, record: CallRecord) -> CallRecord:
        approval = await self._s.store.get_approval(record.tenant, record.approval_id or "")
        if approval is None or self._s.clock.now_us() < approval.expires_us:
            return record
        await expire(self._s, approval)
        return await self._fresh(record)

    async def _finished(self, record: CallRecord) -> CallRecord:
        """Waits for whoever runs it; takes it over from the dead, as unknown."""
        deadline = self._s.clock.monotonic() + self._s.limits.wait_s
        while record.status == "running" and self._s.clock.monotonic() < deadline:
            before_us = self._s.clock.now_us() - int(self._s.limits.lease_s * 1_000_000)
            orphans = await self._s.store.orphans(before_us)
            if any(one.call_id == record.call_id for one in orphans):
                return await recover_one(self._s, record)
            await asyncio.sleep(_POLL_S)
            record = await self._fresh(record)
        return record

    async def _fresh(self, record: CallRecord) -> CallRecord:
        return await self._s.store.get_call(record.tenant, record.call_id) or record


def _for(by: Caller, record: CallRecord, result: ToolResult) -> ToolResult:
    """Content is shown to the call's own caller only."""
    return result if result.status != "ok" or by.same_person(record.caller) else withheld(result)


def _error(record: CallRecord, code: Code, why: str) -> ToolError:
    advice = "Do not call it again for this" if code != "APPROVAL_EXPIRED" else "Ask the user before calling it again"
    return tool_error(code, f"`{record.name}` was not run: {why}. {advice}.", tool=record.name, version=record.version)
