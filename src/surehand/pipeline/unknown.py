"""Calls whose effect may or may not have happened: found after a crash, settled by evidence only."""

from __future__ import annotations

from typing import Any

from ..call import Status
from ..errors import tool_error
from ..ledger import CallRecord
from ..normalize import Unwritable, failures, read_value
from ..ports import Move
from ..runners import Job, Raised, Returned
from ..spec import Done, NotDone, Tool
from ..spec.tool_spec import is_async
from ..types import Caller
from ..view import World
from .passage import Outcome
from .services import Services
from .trace import record_row, seal_json, stored_arguments, undone

CHECK_TIMEOUT_S = 30.0
HELD = "held"
"""Owner of an unknown call whose handler outlived its engine: only a person can tell that it did not happen."""


async def recover_one(s: Services, record: CallRecord, *, why: str = "its process is gone") -> CallRecord:
    """Takes a running call from a dead process. What may be repeated is free again, the rest is unknown.

    Returns:
        The call as it is now, whoever changed it.
    """
    entry = s.world.catalog.resolve(record.name, record.version)
    repeatable = entry is not None and entry.tool.spec.repeatable
    to: Status = "error" if repeatable else "unknown"
    code = "TOOL_UNAVAILABLE" if repeatable else "TOOL_OUTCOME_UNKNOWN"
    await s.store.move(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=("running",),
            expect_owner=record.owner,
            expect_started_us=record.started_us,
            to=to,
            error_code=code,
            finished_us=s.clock.now_us(),
            release_key=repeatable,
            spent=True,
            audit=(_row(s, "call.recovered", record, status=to, error_code=code, evidence=why),),
        )
    )
    return await s.store.get_call(record.tenant, record.call_id) or record


async def is_alive(s: Services, owner: str | None) -> bool:
    """Whether the process that has a call is alive, as far as anybody can tell. This one always is."""
    if owner is None:
        return False
    if owner == s.owner:
        return True
    silent_us = await s.store.silence(owner, now_us=s.clock.now_us())
    return silent_us is not None and silent_us < s.lease_us


async def may_still_run(s: Services, record: CallRecord) -> bool:
    """Whether a handler that was given up may still have its effect: then nobody can say that it did not."""
    if record.owner == HELD or (record.tenant, record.call_id) in s.handlers:
        return True
    return record.owner != s.owner and await is_alive(s, record.owner)


async def settle_by_check(s: Services, record: CallRecord, world: World) -> CallRecord:
    """Asks the tool's `status_check` about an unknown call. No check, no answer, a failing check: it stays unknown.

    "Not done" is believed only when no handler of the call is left that could still do it.
    """
    entry = world.catalog.resolve(record.name, record.version)
    if entry is None or entry.tool.status_check is None:
        return record
    ended = not await may_still_run(s, record)  # before the check: what ends after it may have done it after it
    evidence = await _ask(s, entry.tool, record)
    if isinstance(evidence, Done):
        return await settle_done(s, record, evidence, tool=entry.tool, by=None, words="status check: done")
    if isinstance(evidence, NotDone) and ended:
        return await settle_not_done(s, record, by=None, words="status check: not done")
    return record


async def _ask(s: Services, tool: Tool, record: CallRecord) -> Any:
    check = tool.status_check
    assert check is not None
    stored = stored_arguments(s, record)
    runner = s.inline if is_async(check) else s.thread
    ended = await runner.run(
        Job(
            call=lambda: check(stored.final, stored.idempotency_key),
            timeout_s=CHECK_TIMEOUT_S,
            late=lambda ended: None,
        )
    )
    if isinstance(ended, Returned):
        return ended.value
    s.emit(
        "engine.problem",
        call_id=record.call_id,
        name=record.name,
        where="status_check",
        problem=type(ended.error).__name__ if isinstance(ended, Raised) else type(ended).__name__,
    )
    return None


async def settle_done(
    s: Services, record: CallRecord, evidence: Done, *, tool: Tool | None, by: Caller | None, words: str
) -> CallRecord:
    """The effect happened: the call becomes `ok`, its result is what the evidence says."""
    try:
        outcome = Outcome(status="ok", value=read_value(evidence.result, tool), attempt=record.attempt)
    except Unwritable as why:
        error = failures.output_withheld(record.name, record.version, str(why))
        outcome = Outcome(status="ok", error=error, attempt=record.attempt)
    now_us = s.clock.now_us()
    retention_s = 30 * 86_400.0 if tool is None else tool.spec.key_retention_s
    await s.store.move(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=("unknown",),
            to="ok",
            outcome=seal_json(s, outcome, tenant=record.tenant, call_id=record.call_id, what="outcome"),
            finished_us=now_us,
            key_expires_us=now_us + int(retention_s * 1_000_000),
            audit=(_row(s, "call.resolved", record, by=by, status="ok", evidence=words), *undone(s, record)),
        )
    )
    return await s.store.get_call(record.tenant, record.call_id) or record


async def settle_not_done(s: Services, record: CallRecord, *, by: Caller | None, words: str) -> CallRecord:
    """The effect did not happen: the call becomes `error` and its key is free."""
    error = tool_error(
        "TOOL_UNAVAILABLE",
        f"`{record.name}` did not have its effect; it may be called again.",
        tool=record.name,
        version=record.version,
    )
    outcome = Outcome(status="error", error=error, attempt=record.attempt)
    await s.store.move(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=("unknown",),
            to="error",
            outcome=seal_json(s, outcome, tenant=record.tenant, call_id=record.call_id, what="outcome"),
            error_code=error.code,
            finished_us=s.clock.now_us(),
            release_key=True,
            audit=(_row(s, "call.resolved", record, by=by, status="error", evidence=words),),
        )
    )
    return await s.store.get_call(record.tenant, record.call_id) or record


def _row(s: Services, kind: Any, record: CallRecord, *, by: Caller | None = None, **facts: Any) -> Any:
    return record_row(
        s,
        kind,
        tenant=record.tenant,
        call_id=record.call_id,
        run_id=record.run_id,
        name=record.name,
        version=record.version,
        key=record.key,
        attempt=record.attempt,
        approver=None if by is None else by.id,
        **facts,
    )
