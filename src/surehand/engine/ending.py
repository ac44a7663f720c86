"""How a call that waits for people ends without them: its time is over, or its run was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..approval import Approval
from ..errors import ApprovalError, Code
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.stored import own_caller
from ..pipeline.trace import record_row
from ..ports import Move
from ..types import Caller


async def expire(s: Services, approval: Approval) -> None:
    """Ends a question whose time is over. Nothing is ever approved by waiting."""
    call = await s.store.get_call(approval.tenant, approval.call_id)
    if call is not None:
        await _end(s, call, approval.approval_id, "expired", to="denied", code="APPROVAL_EXPIRED")


async def let_go(s: Services, call: CallRecord) -> None:
    """Ends a call that nobody will resume, and its question."""
    if call.approval_id is not None:
        await _end(s, call, call.approval_id, "withdrawn", to="cancelled", code="CANCELLED")


async def withdraw(s: Services, approval: Approval, *, by: Caller, reason: str) -> bool:
    """The requester takes the call back; `False`: it was started, or has ended.

    Raises:
        ApprovalError: `not_entitled`: it is somebody else's call.
    """
    call = await s.store.get_call(approval.tenant, approval.call_id)
    if call is None or not by.same_person(own_caller(s, call)):
        raise ApprovalError("not_entitled", f"{by.id} did not ask for this, so they may not withdraw it")
    if call.status not in ("waiting", "ready") or call.approval_id != approval.approval_id:
        return False
    said = {"by": by.id, "reason": reason}
    return await _end(s, call, approval.approval_id, "withdrawn", to="cancelled", code="CANCELLED", said=said)


async def _end(
    s: Services,
    call: CallRecord,
    approval_id: str,
    ends_as: Literal["expired", "withdrawn"],
    *,
    to: Literal["denied", "cancelled"],
    code: Code,
    said: Mapping[str, str] = {},
) -> bool:
    row = record_row(
        s,
        "approval.ended",
        tenant=call.tenant,
        call_id=call.call_id,
        run_id=call.run_id,
        approval_id=approval_id,
        name=call.name,
        version=call.version,
        status=ends_as if to == "denied" else to,
        error_code=code,
        **said,
    )
    waits = call.status in ("waiting", "ready")
    # A call that does not wait any more stays as it is; its question still has to end.
    return await s.store.move(
        Move(
            tenant=call.tenant,
            call_id=call.call_id,
            expect=(call.status,),
            to=to if waits else call.status,
            error_code=code if waits else None,
            finished_us=s.clock.now_us() if waits else None,
            release_key=waits,
            approval=(approval_id, ("open", "approved"), ends_as),
            audit=(row,),
        )
    )
