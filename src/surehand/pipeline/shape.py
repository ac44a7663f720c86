"""Stage 10: what the model gets, and the record of it. Nothing here can undo or repeat an effect."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial
from typing import Any, cast

import msgspec

from ..audit import AuditRow
from ..call import ToolResult, told
from ..errors import SurehandError
from ..normalize import failures
from ..ports import Move
from .before import proposed, run_hook
from .edited import NOTE_CHARS, noted
from .events import problem, redactor_of, tell
from .interceptor import Rewrite, Withhold
from .output import display_text, make_result, outcome_result, trust_of
from .passage import Passage, Stop, storable
from .reuse import keep
from .services import Services
from .trace import seal_json, trace

_MESSAGE_CHARS = 4000
_DISPLAY_CHARS = 300
_MARK_CHARS = 200
"""Room for the mark that says what a cap left out."""


async def shape(p: Passage, s: Services, stop: Stop | None) -> ToolResult:
    """Makes the result of a call, however it ended."""
    if stop is not None and stop.replay is not None:
        result = msgspec.structs.replace(stop.replay, tool_call_id=p.call.id, replayed=True)
        await _note_replay(p, s, stop)
    else:
        made = result = await _outcome(p, s) if stop is None else stopped(p, s, stop)
        if result.status != "pending":
            if stop is None:
                keep(p, s, made)
            result = noted(p, s, await _after(p, s, made))
            # A result of the handler's that nobody touched was redacted and capped when it was made.
            if result is not made or result.error is not None:
                result = _polished(p, s, result)
            result = await _record(p, s, result, stop)
    if p.entry is not None and p.entry.notice is not None:
        result = msgspec.structs.replace(result, notice=str(p.entry.notice))
    _tell(p, s, result)
    return result


async def _outcome(p: Passage, s: Services) -> ToolResult:
    """Whatever goes wrong with showing it, a done effect is told as done."""
    if p.reused is not None:
        trust = p.reused.trust if trust_of(p) == "trusted" else "untrusted"
        return msgspec.structs.replace(p.reused, display=display_text(p, s), trust=trust)
    assert p.outcome is not None
    try:
        return await outcome_result(p, s)
    except Exception as error:
        problem(p, s, "shape", error)
        withheld = failures.output_invalid(p.spec, "it could not be prepared or kept")
        return make_result(p, s, p.outcome.status, withheld.message, error=withheld)


def _polished(p: Passage, s: Services, result: ToolResult) -> ToolResult:
    """The last look at everything that a model or a person reads: clean, without secrets, within bounds."""
    redactor = redactor_of(p, s)
    room = s.limits.result_chars + _MARK_CHARS + (0 if p.edit is None else NOTE_CHARS)
    error = result.error
    if error is not None:
        details = cast("dict[str, Any]", redactor.value(error.details))
        message = redactor.polish(error.message, _MESSAGE_CHARS)
        error = msgspec.structs.replace(error, message=message, details=details)
    return msgspec.structs.replace(
        result,
        content=redactor.polish(result.content, room) or "(empty)",
        error=error,
        display=redactor.polish(result.display, _DISPLAY_CHARS),
    )


def _tell(p: Passage, s: Services, result: ToolResult) -> None:
    if result.status == "pending":
        tell(p, s, "call.waiting", approval_id=result.approval_id, display=result.display)
    elif s.sinks:
        tell(p, s, "call.finished", **told(result))


def stopped(p: Passage, s: Services, stop: Stop) -> ToolResult:
    """The result of a call that goes no further now. Tells and records nothing."""
    error = stop.error
    if stop.status == "pending" and stop.of is not None and error is None:
        state = stop.of.status
        what = {
            "waiting": "waits for a person to approve it",
            "ready": "was approved and has not been resumed yet",
        }.get(state, "is being run")
        content = f"`{stop.of.name}` {what}; nothing is needed from you. Its result comes later; do not call it again."
    else:
        content = error.message if error is not None else "Done."
    return ToolResult(
        call_id=p.call_id if stop.of is None else stop.of.call_id,
        tool_call_id=p.call.id,
        name=p.call.name if p.entry is None else p.spec.name,
        version=p.call.version if p.entry is None else p.spec.version,
        status=stop.status,
        content=content,
        error=error,
        is_error=stop.status not in ("pending", "ok"),
        approval_id=stop.approval_id,
        replayed=stop.status == "unknown" and stop.of is not None and stop.of.call_id != p.call_id,
        display=display_text(p, s),
    )


async def _note_replay(p: Passage, s: Services, stop: Stop) -> None:
    assert stop.replay is not None
    assert stop.of is not None
    row = trace(p, s, "call.replayed", status=stop.replay.status, result_ref=stop.of.call_id)
    try:
        await s.recorder.soon(row)
    except SurehandError:
        problem(p, s, "record", "a replay could not be recorded")


async def _after(p: Passage, s: Services, result: ToolResult) -> ToolResult:
    """`after` in reverse, for those whose `before` completed. One that fails withholds the content."""
    for interceptor in reversed(p.passed):
        try:
            verdict = await run_hook(s, partial(interceptor.after, proposed(p), deepcopy(result)))
            if verdict is not None and not isinstance(verdict, Withhold | Rewrite):
                raise TypeError(f"an interceptor returned {type(verdict).__name__}")
        except Exception as error:
            problem(p, s, "after", error.__cause__ or error)
            verdict = Withhold("a check of it failed")
        if isinstance(verdict, Rewrite):
            result = msgspec.structs.replace(result, content=verdict.content or "(empty)", structured=None)
        elif isinstance(verdict, Withhold):
            error = failures.output_invalid(p.spec, verdict.reason)
            if result.error is None:
                result = msgspec.structs.replace(result, error=error, is_error=True)
            result = msgspec.structs.replace(result, content=error.message, structured=None, artifacts=())
    return result


async def _record(p: Passage, s: Services, result: ToolResult, stop: Stop | None) -> ToolResult:
    """Keeps the result for replays, and the record of it. A read that cannot be recorded is not given."""
    ran = stop is None or stop.status == "unknown"
    row = trace(
        p,
        s,
        "call.finished" if ran else "call.refused",
        status=result.status,
        error_code=None if result.error is None else result.error.code,
        finished_us=s.clock.now_us(),
        attempt=0 if p.outcome is None else p.outcome.attempt,
        trust=result.trust,
        result_ref=s.keyring.keyed_hash(result.content),
    )
    try:
        if p.record is not None and await s.store.move(_keep(p, s, result, row)):
            return result
        if p.record is None and s.read_only_records == "before":
            await s.store.record([row])
        else:
            await s.recorder.soon(row)
    except SurehandError:
        problem(p, s, "record", "the result could not be recorded")
        if stop is None and p.record is None:
            error = failures.unavailable(p.spec, "the record of it could not be written")
            return make_result(p, s, "error", error.message, error=error)
    return result


def _keep(p: Passage, s: Services, result: ToolResult, row: AuditRow) -> Move:
    assert p.record is not None
    assert result.status != "pending"
    kept = msgspec.structs.replace(result, tool_call_id=storable(result.tool_call_id))
    return Move(
        tenant=p.record.tenant,
        call_id=p.record.call_id,
        expect=(result.status,),
        to=result.status,
        result=seal_json(s, kept, tenant=p.record.tenant, call_id=p.record.call_id, what="result"),
        audit=(row,),
    )


def note_cancelled(p: Passage, s: Services) -> None:
    """The record of a read whose caller gave up. Cannot wait: the caller's cancellation is on its way."""
    row = trace(p, s, "call.finished", status="cancelled", error_code="CANCELLED", finished_us=s.clock.now_us())
    future = asyncio.ensure_future(s.store.record([row]))
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
