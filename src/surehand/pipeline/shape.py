"""Stage 10: what the model gets, and the record of it. Nothing here can undo or repeat an effect."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import msgspec

from ..audit import AuditRow
from ..call import Artifact, ResultStatus, ToolResult
from ..errors import SurehandError, ToolError
from ..normalize import Value, cap, display, failures
from ..ports import Move, StoredArtifact
from .before import proposed
from .interceptor import Rewrite, Withhold, settled
from .passage import Passage, Stop
from .services import Services, new_id
from .trace import seal_json, trace


async def shape(p: Passage, s: Services, stop: Stop | None) -> ToolResult:
    """Makes the result of a call, however it ended."""
    if stop is not None and stop.replay is not None:
        return await _replayed(p, s, stop)
    if stop is None or p.outcome is not None:
        result = await _outcome(p, s)
    else:
        result = _stopped(p, s, stop)
    if result.status == "pending":
        s.emit(
            "call.waiting",
            caller=p.caller,
            call_id=result.call_id,
            tool_call_id=result.tool_call_id,
            name=result.name,
            approval_id=result.approval_id,
        )
        return result
    result = await _record(p, s, await _after(p, s, result), stop)
    s.emit(
        "call.finished",
        caller=p.caller,
        call_id=result.call_id,
        tool_call_id=result.tool_call_id,
        name=result.name,
        status=result.status,
        code=None if result.error is None else result.error.code,
        replayed=result.replayed,
        display=result.display,
    )
    return result


def _stopped(p: Passage, s: Services, stop: Stop) -> ToolResult:
    error = stop.error
    if stop.status == "pending" and stop.of is not None:
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
        content=s.redactor.text(content),
        error=error,
        is_error=stop.status not in ("pending", "ok"),
        approval_id=stop.approval_id,
        replayed=stop.status == "unknown" and stop.of is not None and stop.of.call_id != p.call_id,
        display=_display(p, s),
    )


async def _outcome(p: Passage, s: Services) -> ToolResult:
    outcome = p.outcome
    assert outcome is not None
    error = outcome.error
    value = outcome.value
    if value is not None:
        error = _check_output(p, value)
    if error is not None or value is None:
        return _result(p, s, outcome.status, error.message if error else "Done.", error=error)
    structured = s.redactor.value(value.structured, p.spec.output_schema)
    text = s.redactor.text(value.text)
    artifacts: list[StoredArtifact] = [_artifact(p, s, media_type, body) for media_type, body in value.attachments]
    if len(text) > s.limits.result_chars:
        whole = _artifact(p, s, "text/plain; charset=utf-8", text.encode())
        artifacts.append(whole)
        text, structured = cap(text, s.limits.result_chars, reference=whole.artifact.id), None
    if sum(one.artifact.size_bytes for one in artifacts) > s.limits.artifact_bytes:
        error = failures.output_invalid(p.spec, f"it is larger than {s.limits.artifact_bytes} bytes")
        return _result(p, s, outcome.status, error.message, error=error)
    if artifacts:
        await s.store.put_artifacts(artifacts)
        named = artifacts[: len(value.attachments)]
        text = "\n".join([*([text] if value.text != "(empty)" else []), *(_named(one.artifact) for one in named)])
    return _result(
        p, s, outcome.status, text, structured=structured, artifacts=tuple(one.artifact for one in artifacts)
    )


def _check_output(p: Passage, value: Value) -> ToolError | None:
    assert p.entry is not None
    if p.entry.output is None or value.not_finite:
        # null stands for NaN and infinity, which a schema of numbers would refuse although the tool kept it
        return None
    violations = p.entry.output.errors(value.text if value.structured is None else value.structured)
    if not violations:
        return None
    return failures.output_invalid(p.spec, f"at {violations[0].path}: {violations[0].message}")


def _result(
    p: Passage,
    s: Services,
    status: ResultStatus,
    content: str,
    *,
    structured: Any = None,
    artifacts: tuple[Artifact, ...] = (),
    error: ToolError | None = None,
) -> ToolResult:
    return ToolResult(
        call_id=p.call_id if p.record is None else p.record.call_id,
        tool_call_id=p.call.id,
        name=p.spec.name,
        version=p.spec.version,
        status=status,
        content=content,
        structured=structured,
        artifacts=artifacts,
        error=error,
        is_error=error is not None or status != "ok",
        approval_id=None if p.record is None else p.record.approval_id,
        display=_display(p, s),
    )


def _display(p: Passage, s: Services) -> str:
    if p.entry is None:
        return p.call.name
    return s.redactor.text(display(p.spec.display, p.spec.name, p.arguments))


def _artifact(p: Passage, s: Services, media_type: str, body: bytes) -> StoredArtifact:
    artifact = Artifact(
        id=new_id("art"), media_type=media_type, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest()
    )
    call_id = p.call_id if p.record is None else p.record.call_id
    return StoredArtifact(
        artifact=artifact,
        tenant=p.caller.tenant,
        call_id=call_id,
        body=s.keyring.seal(body, context=f"artifact:{artifact.id}:{p.caller.tenant}"),
    )


def _named(artifact: Artifact) -> str:
    return f"[{artifact.media_type}, {artifact.size_bytes} bytes: artifact {artifact.id}]"


async def _after(p: Passage, s: Services, result: ToolResult) -> ToolResult:
    """`after` in reverse, for those whose `before` completed. One that fails withholds the content."""
    for interceptor in reversed(p.passed):
        try:
            async with asyncio.timeout(s.limits.hook_timeout_s):
                verdict = await settled(interceptor.after(proposed(p), result))
            if verdict is not None and not isinstance(verdict, Withhold | Rewrite):
                raise TypeError(f"an interceptor returned {type(verdict).__name__}")
        except Exception as error:
            s.emit(
                "engine.problem",
                caller=p.caller,
                call_id=p.call_id,
                name=p.spec.name,
                where="after",
                problem=s.redactor.text(f"{type(error).__name__}: {error}"),
            )
            verdict = Withhold("a check of it failed")
        if isinstance(verdict, Rewrite):
            result = msgspec.structs.replace(result, content=verdict.content or "(empty)", structured=None)
        elif isinstance(verdict, Withhold):
            error = failures.output_invalid(p.spec, verdict.reason)
            if result.error is None:
                result = msgspec.structs.replace(result, error=error, is_error=True)
            result = msgspec.structs.replace(result, content=error.message, structured=None, artifacts=())
    return result


async def _replayed(p: Passage, s: Services, stop: Stop) -> ToolResult:
    """The stored result under the new call's own id; its content only for the caller who made the call."""
    result, record = stop.replay, stop.of
    assert result is not None
    assert record is not None
    result = msgspec.structs.replace(result, tool_call_id=p.call.id, replayed=True)
    if not p.caller.same_person(record.caller):
        result = msgspec.structs.replace(
            result,
            content=f"`{record.name}` was already done by another caller (call {record.call_id}); "
            "its result is shown to that caller only.",
            structured=None,
            artifacts=(),
        )
    row = trace(p, s, "call.replayed", status=result.status, result_ref=record.call_id)
    await s.recorder.soon(row)
    s.emit(
        "call.finished",
        caller=p.caller,
        call_id=result.call_id,
        tool_call_id=result.tool_call_id,
        name=result.name,
        status=result.status,
        code=None,
        replayed=True,
        display=result.display,
    )
    return result


async def _record(p: Passage, s: Services, result: ToolResult, stop: Stop | None) -> ToolResult:
    """Keeps the result for replays, and the record of it. A read that cannot be recorded is not given."""
    ran = stop is None or p.outcome is not None
    row = trace(
        p,
        s,
        "call.finished" if ran else "call.refused",
        status=result.status,
        error_code=None if result.error is None else result.error.code,
        finished_us=s.clock.now_us(),
        attempt=0 if p.outcome is None else p.outcome.attempt,
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
        s.emit("engine.problem", caller=p.caller, call_id=p.call_id, name=result.name, where="record", problem="lost")
        if stop is None and p.record is None:
            error = failures.unavailable(p.spec, "the record of it could not be written")
            return _result(p, s, "error", error.message, error=error)
    return result


def _keep(p: Passage, s: Services, result: ToolResult, row: AuditRow) -> Move:
    assert p.record is not None
    assert result.status != "pending"
    return Move(
        tenant=p.record.tenant,
        call_id=p.record.call_id,
        expect=(result.status,),
        to=result.status,
        result=seal_json(s, result, tenant=p.record.tenant, call_id=p.record.call_id, what="result"),
        audit=(row,),
    )


def note_cancelled(p: Passage, s: Services) -> None:
    """The record of a read whose caller gave up. Cannot wait: the caller's cancellation is on its way."""
    row = trace(p, s, "call.finished", status="cancelled", error_code="CANCELLED", finished_us=s.clock.now_us())
    future = asyncio.ensure_future(s.store.record([row]))
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
