"""Stage 9: the raw outcome is durable. From here on no later failure can turn a done effect into an unknown one."""

from __future__ import annotations

from ..errors import SurehandError
from ..normalize import failures
from ..ports import Move
from .passage import Outcome, Passage, Stop
from .services import Services
from .trace import seal_json, trace


async def settle(p: Passage, s: Services) -> Stop | None:
    """Stores how the handler ended. If the store is gone, or another process gave the call up, it is unknown."""
    record, outcome = p.record, p.outcome
    assert record is not None
    assert outcome is not None
    move = settlement(p, s, outcome)
    try:
        if await s.store.move(move):
            return None
    except SurehandError:
        s.owed.append(move)
    else:
        await s.store.record([trace(p, s, "call.late", status=outcome.status)])
    p.outcome = None
    return Stop(status="unknown", error=failures.outcome_unknown(p.spec, "lost"), of=record)


def settlement(p: Passage, s: Services, outcome: Outcome) -> Move:
    """The change from running to how the call ended."""
    record = p.record
    assert record is not None
    now_us = s.clock.now_us()
    settled = outcome.status
    done = settled == "ok"
    return Move(
        tenant=record.tenant,
        call_id=record.call_id,
        expect=("running",),
        expect_owner=s.owner,
        to="unknown" if settled == "pending" else settled,
        attempt=outcome.attempt,
        outcome=seal_json(s, outcome, tenant=record.tenant, call_id=record.call_id, what="outcome"),
        error_code=None if outcome.error is None else outcome.error.code,
        finished_us=now_us,
        key_expires_us=now_us + int(p.spec.key_retention_s * 1_000_000) if done else None,
        release_key=settled in ("error", "cancelled"),
        audit=(
            trace(
                p,
                s,
                "call.settled",
                status=settled,
                attempt=outcome.attempt,
                finished_us=now_us,
                error_code=None if outcome.error is None else outcome.error.code,
            ),
        ),
    )
