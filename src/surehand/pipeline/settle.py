"""Stage 9: the raw outcome is durable. From here on no later failure can turn a done effect into an unknown one."""

from __future__ import annotations

import msgspec

from ..errors import SurehandError
from ..normalize import failures
from ..ports import Move
from ..spec.undoing import UNDO
from .events import problem
from .passage import Outcome, Passage, Stop
from .services import Services
from .trace import seal_json, trace, undone


async def settle(p: Passage, s: Services) -> Stop | None:
    """Stores how the handler ended. If the store is gone, or another process gave the call up, it is unknown."""
    record, outcome = p.record, p.outcome
    assert record is not None
    assert outcome is not None
    move = _settlement(p, s, outcome)
    try:
        if await s.store.move(move):
            if record.undoes is not None and outcome.status == "ok":
                name, undo = record.name.removesuffix(UNDO), record.call_id
                s.emit("call.undone", caller=p.caller, call_id=record.undoes, name=name, undo_call_id=undo)
            return None
        await s.store.record([trace(p, s, "call.late", status=outcome.status)])
    except SurehandError:
        s.owed.append(move)
    p.outcome = None
    return Stop(status="unknown", error=failures.unknown_of(record.name, record.version, "lost"), of=record)


def _settlement(p: Passage, s: Services, outcome: Outcome) -> Move:
    """The change from running to how the call ended."""
    record = p.record
    assert record is not None
    now_us = s.clock.now_us()
    settled = outcome.status
    code = None if outcome.error is None else outcome.error.code
    return Move(
        tenant=record.tenant,
        call_id=record.call_id,
        expect=("running",),
        expect_owner=s.owner,
        expect_started_us=p.started_us,
        to="unknown" if settled == "pending" else settled,
        release_owner=(record.tenant, record.call_id) not in s.handlers,
        attempt=outcome.attempt,
        outcome=_sealed(p, s, outcome),
        error_code=code,
        finished_us=now_us,
        key_expires_us=now_us + int(_retention_s(p) * 1_000_000) if settled == "ok" else None,
        release_key=settled in ("error", "cancelled"),
        spent=p.spent,
        audit=(
            trace(p, s, "call.settled", status=settled, attempt=outcome.attempt, finished_us=now_us, error_code=code),
            *(undone(s, record) if settled == "ok" else ()),
        ),
    )


def _retention_s(p: Passage) -> float:
    above_s = p.spec.key_retention_s if p.parent is None else p.parent.key_retention_s
    return min(p.spec.key_retention_s, above_s)


def _sealed(p: Passage, s: Services, outcome: Outcome) -> bytes:
    """The outcome, or, if it cannot be written down, that it was so: its status is what counts."""
    record = p.record
    assert record is not None
    try:
        return seal_json(s, outcome, tenant=record.tenant, call_id=record.call_id, what="outcome")
    except Exception as error:
        problem(p, s, "settle", error)
        said = failures.output_invalid(p.spec, "it cannot be written as JSON")
        p.outcome = msgspec.structs.replace(outcome, value=None, error=said)
        return seal_json(s, p.outcome, tenant=record.tenant, call_id=record.call_id, what="outcome")
