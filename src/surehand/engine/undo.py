"""`Engine.undo`: taking back what a call did is a call itself, through the whole pipeline."""

from __future__ import annotations

from ..call import ToolCall, ToolResult
from ..errors import ConfigError, NotAllowedError, NotFoundError
from ..ledger import HOLDS_KEY, CallRecord
from ..pipeline import Passage, Services, new_id, perform
from ..pipeline.faults import fault
from ..pipeline.stored import own_caller
from ..pipeline.trace import stored_arguments
from ..pipeline.undo import bound_arguments
from ..policy import Allow
from ..spec.undoing import UNDO
from ..types import Caller
from ..view import World

_REASON_CHARS = 1000


async def undo(s: Services, call_id: str, *, by: Caller, reason: str, world: World) -> ToolResult:
    """See `Engine.undo`."""
    record = await s.store.get_call(by.tenant, call_id)
    if record is None:
        raise NotFoundError(f"there is no call {call_id!r}")
    if not by.same_person(own_caller(s, record)):
        _may(s, by, record, world)
    if not reason.strip():
        raise ConfigError("undo: reason is empty; say why the call is to be taken back")
    if record.status != "ok":
        raise ConfigError(f"undo: call {call_id} is {record.status}; only a call that is ok can be taken back")
    if (record.name + UNDO, record.version) not in world.catalog.entries:
        raise ConfigError(f"undo: {record.name}@{record.version} declares no undo=; it cannot be taken back")
    before = await s.store.undo_of(by.tenant, call_id)
    if before is not None and before.status in HOLDS_KEY:
        arguments = stored_arguments(s, before).written
    else:
        arguments = await bound_arguments(s, record, world)
        arguments["reason"] = s.redactor.polish(reason, _REASON_CHARS)
    passage = Passage(
        call=ToolCall(id=f"undo.{call_id}", name=record.name + UNDO, version=record.version, arguments=arguments),
        caller=by,
        call_id=new_id("call"),
        world=world,
        began_us=s.clock.now_us(),
        undoes=call_id,
    )
    try:
        return await perform(passage, s)
    except Exception as error:
        return await fault(passage, s, error)


def _may(s: Services, by: Caller, record: CallRecord, world: World) -> None:
    entry = world.catalog.resolve(record.name, record.version)
    spec = None if entry is None else entry.tool.spec
    decision = world.policies.may(by, "resolve", spec, now_ns=s.clock.now_us() * 1000)
    if not isinstance(decision, Allow):
        why = "; ".join(decision.reasons)
        raise NotAllowedError(f"{by.id} may not take back calls of somebody else: {why}")
