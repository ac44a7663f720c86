"""What a call that is already in the ledger answers, in its own caller's name."""

from __future__ import annotations

from typing import cast

import msgspec

from ..call import ResultStatus, RunStep, ToolCall, ToolResult
from ..errors import Code, ToolError, tool_error
from ..ledger import CallRecord
from ..normalize import failures
from ..provenance import Origin
from ..types import Caller
from ..view import World
from .parent import Parent
from .passage import Passage, Stop
from .services import Services
from .shape import shape
from .trace import stored_arguments, stored_outcome, stored_result


def own_caller(s: Services, record: CallRecord) -> Caller:
    """Who made the call. The sealed one: the column is for searching, and whoever can write it is nobody to believe."""
    return stored_arguments(s, record).caller


async def caller_now(s: Services, record: CallRecord, by: Caller) -> Caller | None:
    """Who made the call, with what they are entitled to today; `None` if they may act no longer.

    In which scene it was made stays as it was; so does what a handler took from the caller for a call of its own.
    """
    made_by = own_caller(s, record)
    today = await s.resolver.refresh(made_by, by)
    if today is None or not today.same_person(made_by):
        return None
    if record.parent_call_id is not None:
        today = today.narrowed(
            roles=set(today.roles) & set(made_by.roles), scopes=set(today.scopes) & set(made_by.scopes)
        )
    return today.in_scene(made_by.scene)


def stored_passage(s: Services, record: CallRecord, caller: Caller, world: World) -> Passage:
    """A passage for a call of the ledger, as far as stage 1."""
    stored = stored_arguments(s, record)
    run = parent = None
    if record.parent_call_id is not None:
        parent = Parent(
            call_id=record.parent_call_id,
            depth=record.depth or 1,
            position=record.position or 0,
            run_id=record.run_id,
        )
    elif record.run_id is not None:
        run = RunStep(run_id=record.run_id, turn=record.step_index or 0, position=record.position or 0)
    arguments = stored.written if stored.edit is None else stored.edit.arguments
    return Passage(
        call=ToolCall(id=record.tool_call_id, name=record.name, version=record.version, arguments=arguments),
        caller=caller,
        call_id=record.call_id,
        world=world,
        began_us=s.clock.now_us(),
        run=run,
        parent=parent,
        undoes=record.undoes,
        origin=Origin(untrusted=stored.untrusted, labels=stored.labels),
        record=record,
        written=stored.written,
        edit=stored.edit,
        idempotency_key=stored.idempotency_key,
        args_hash=record.args_hash,
    )


def is_repeat(s: Services, record: CallRecord, args_hash: str) -> bool:
    """Whether arguments are those of a stored call: as it would run, or as it was asked for before it was edited."""
    if record.args_hash == args_hash:
        return True
    edit = stored_arguments(s, record).edit
    return edit is not None and edit.asked_hash == args_hash


async def answer(s: Services, record: CallRecord, world: World) -> ToolResult:
    """The result of a call that is finished or unknown.

    Shaped, and kept, if nobody has yet: a process died, or evidence came later than the result.
    """
    if record.result is not None:
        stored = stored_result(s, record)
        if stored.status == record.status:
            return msgspec.structs.replace(stored, replayed=True)
    p = stored_passage(s, record, own_caller(s, record), world)
    p.entry = world.catalog.entries.get((record.name, record.version))
    p.arguments = stored_arguments(s, record).arguments
    if record.outcome is not None and p.entry is not None and record.status != "unknown":
        p.outcome = stored_outcome(s, record)
        result = await shape(p, s, None)
    else:
        status = cast("ResultStatus", record.status)
        result = await shape(p, s, Stop(status=status, error=await _ended(s, record), of=record))
    return msgspec.structs.replace(result, replayed=True)


async def _ended(s: Services, record: CallRecord) -> ToolError | None:
    if record.status == "unknown":
        return failures.unknown_of(record.name, record.version, "lost")
    if record.outcome is not None:
        outcome = stored_outcome(s, record)
        if outcome.answered_by is not None:
            return failures.cancelled_of(record.name, record.version)
        if outcome.error is not None or outcome.value is None:
            return outcome.error
        return failures.output_withheld(record.name, record.version, "the tool is not there any more to say how")
    code = cast("Code", record.error_code or "TOOL_ERROR")
    why, advice = await _why(s, record, code)
    return tool_error(code, f"`{record.name}` was not run: {why}. {advice}.", tool=record.name, version=record.version)


async def _why(s: Services, record: CallRecord, code: Code) -> tuple[str, str]:
    match code:
        case "APPROVAL_REJECTED":
            approval = await s.store.get_approval(record.tenant, record.approval_id or "")
            votes = approval.votes if approval is not None else ()
            reason = next((vote.reason for vote in votes if vote.verdict == "reject" and vote.reason), "")
            return f"a person said no{': ' + reason if reason else ''}", "Do not call it again for this"
        case "APPROVAL_EXPIRED":
            return "nobody approved it in time", "Ask the user before calling it again"
        case "CANCELLED":
            return "it was withdrawn", "Call it again only if it is still wanted"
        case "APPROVAL_STALE":
            return "what was approved is not what would have run", "Call again to have it approved anew"
        case "TOOL_UNAVAILABLE":
            return "it could not be started or finished, without any effect that matters", "It may be called again"
        case _:
            return "it was refused", "Do not call it again for this"


def for_reader(s: Services, by: Caller, record: CallRecord, result: ToolResult, world: World) -> ToolResult:
    """What somebody may read of a result: the call's own caller all of it, while the tool is in their view."""
    if result.status == "pending":
        return result
    entry = world.catalog.entries.get((record.name, record.version))
    hidden = entry is not None and not world.may_read(by, entry, now_us=s.clock.now_us())
    if not by.same_person(own_caller(s, record)):
        which = f"`{result.name}` of somebody else (call {result.call_id})"
        return _withheld(result, f"{which} is {result.status}; its result is theirs to read.")
    if hidden:
        return _withheld(result, f"`{result.name}` is {result.status}; what it returned is not yours to read any more.")
    return result


def _withheld(result: ToolResult, said: str) -> ToolResult:
    error = result.error
    if error is not None:
        error = msgspec.structs.replace(error, message=said, details={})
    return msgspec.structs.replace(
        result, content=said, structured=None, artifacts=(), error=error, display=result.name
    )
