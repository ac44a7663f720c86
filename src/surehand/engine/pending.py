"""`Pending`: a question as the people see it who decide it."""

from __future__ import annotations

from typing import Any

import msgspec

from ..approval import Approval, ApprovalStatus, Progress, Shown, progress
from ..pipeline import Services
from ..pipeline.trace import unseal_json
from ..types import Requirement


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver sees: exactly what will run."""

    approval_id: str
    call_id: str
    status: ApprovalStatus
    tool: str
    version: str
    description: str
    arguments: dict[str, Any]
    """Final arguments, secrets redacted."""
    injected: dict[str, Any]
    """Arguments that came from the caller, not from the model."""
    written: dict[str, Any] | None
    """What the model wrote, where it differs."""
    preview: str | None
    """What the tool says its effect would be; `None` if it says nothing."""
    revision: int
    """1 as the model asked, one more for each edit."""
    edited_by: str
    """The person who wrote these arguments; empty if the model did."""
    edit_reason: str
    requester: dict[str, str]
    """Who asked: id, agent, environment."""
    needs: tuple[Requirement, ...]
    """Whose yes is needed, and why."""
    progress: tuple[Progress, ...]
    """How many of each group have said yes, and how many must."""
    escalated: bool
    """Whether the groups that needs name for escalation count by now."""
    digest: str
    created_us: int
    expires_us: int
    approved_by: tuple[str, ...]
    rejected_by: tuple[str, ...]
    answered_by: str
    """The person who gave the result instead of the tool; empty if nobody did."""
    reason: str
    """Of the rejection."""


def is_escalated(s: Services, approval: Approval) -> bool:
    """Whether nobody has decided a question for so long that the groups for escalation count. Nothing else changes."""
    if not any(need.escalate_to for need in approval.needs):
        return False
    return s.clock.now_us() - _seen(s, approval).asked_us >= int(s.limits.escalate_after_s * 1_000_000)


def _seen(s: Services, approval: Approval) -> Shown:
    return unseal_json(s, approval.shown, Shown, tenant=approval.tenant, call_id=approval.call_id, what="shown")


def shown(s: Services, approval: Approval) -> Pending:
    """The question and how it stands.

    Raises:
        StoreError: What was shown was changed since.
    """
    seen = _seen(s, approval)
    by = {
        verdict: tuple(vote.approver for vote in approval.votes if vote.verdict == verdict)
        for verdict in ("approve", "reject", "answer")
    }
    return Pending(
        approval_id=approval.approval_id,
        call_id=approval.call_id,
        status=approval.status,
        tool=approval.name,
        version=approval.version,
        description=seen.description,
        arguments=seen.arguments,
        injected=seen.injected,
        written=seen.written,
        preview=seen.preview,
        revision=seen.revision,
        edited_by=seen.edited_by,
        edit_reason=seen.edit_reason,
        requester=seen.caller,
        needs=approval.needs,
        progress=progress(approval.needs, approval.votes),
        escalated=approval.status == "open" and is_escalated(s, approval),
        digest=approval.digest,
        created_us=approval.created_us,
        expires_us=approval.expires_us,
        approved_by=by["approve"],
        rejected_by=by["reject"],
        answered_by=next(iter(by["answer"]), ""),
        reason=next((vote.reason for vote in approval.votes if vote.verdict == "reject"), ""),
    )
