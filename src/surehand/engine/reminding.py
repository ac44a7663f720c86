"""What is told of questions that nobody decides: a reminder, and that a second group may answer.

Nothing is approved by it. Each is told once, by whichever engine notices it first.
"""

from __future__ import annotations

from ..approval import Approval
from ..event import EventKind
from ..pipeline import Services
from ..pipeline.trace import record_row
from ..ports import Due
from ..types import Caller

_BATCH = 100


async def remind(s: Services) -> None:
    """Tells `approval.reminder` of questions that are open for `Limits.remind_after_s`."""
    for approval in await _due(s, "reminder", s.limits.remind_after_s):
        if await _note(s, approval, "reminder"):
            groups = sorted({need.group for need in approval.needs})
            _tell(s, "approval.reminder", approval, groups)


async def escalate(s: Services) -> None:
    """Tells `approval.escalated` of those with a second group that are open for `Limits.escalate_after_s`."""
    for approval in await _due(s, "escalation", s.limits.escalate_after_s):
        groups = sorted({need.escalate_to for need in approval.needs if need.escalate_to})
        if await _note(s, approval, "escalation", told=bool(groups)) and groups:
            _tell(s, "approval.escalated", approval, groups)


async def _due(s: Services, due: Due, after_s: float) -> list[Approval]:
    before_us = s.clock.now_us() - int(after_s * 1_000_000)
    return await s.store.due_approvals(due, before_us=before_us, limit=_BATCH)


async def _note(s: Services, approval: Approval, due: Due, *, told: bool = True) -> bool:
    row = record_row(
        s,
        "approval.reminded" if due == "reminder" else "approval.escalated",
        tenant=approval.tenant,
        call_id=approval.call_id,
        run_id=None,
        approval_id=approval.approval_id,
        name=approval.name,
        version=approval.version,
    )
    rows = (row,) if told else ()
    return await s.store.note_due(approval.tenant, approval.approval_id, due, at_us=s.clock.now_us(), audit=rows)


def _tell(s: Services, kind: EventKind, approval: Approval, groups: list[str]) -> None:
    s.emit(
        kind,
        caller=Caller(id=approval.requester, tenant=approval.tenant),
        call_id=approval.call_id,
        name=approval.name,
        approval_id=approval.approval_id,
        groups=groups,
        expires_us=approval.expires_us,
    )
