"""An approval: one question about one call, and the answers to it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..types import SELF, Caller, Requirement

ApprovalStatus = Literal["open", "approved", "rejected", "expired", "consumed", "stale"]
Verdict = Literal["approve", "reject"]


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """One person's answer."""

    approver: str
    """The person's id in the tenant."""
    verdict: Verdict
    groups: tuple[str, ...]
    """The groups that this person counted for when they decided."""
    reason: str
    at_us: int
    seal: str = ""
    """Keyed hash that only an engine with the key file can make: a vote written into the database counts nothing."""


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """One question, bound by its digest to exactly what will run."""

    approval_id: str
    call_id: str
    tenant: str
    requester: str
    name: str
    version: str
    digest: str
    needs: tuple[Requirement, ...]
    status: ApprovalStatus = "open"
    shown: bytes
    """Sealed: what the approver sees."""
    shown_hash: str
    created_us: int
    expires_us: int
    decided_us: int | None = None
    votes: tuple[Vote, ...] = ()


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver sees of the call, besides the question itself. Secrets are redacted."""

    description: str
    """Of the tool."""
    arguments: dict[str, Any]
    """What will run, without the injected arguments."""
    injected: dict[str, Any]
    """Arguments that came from the caller, not from the model."""
    written: dict[str, Any] | None
    """What the model wrote, where it differs."""
    caller: dict[str, str]
    """Who asks: id, agent, environment."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that does not count."""

    code: Literal["already_decided", "not_entitled", "expired"]
    message: str


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that counts, and what the approval becomes by it."""

    vote: Vote
    status: Literal["open", "approved", "rejected"]


def count(approval: Approval, voter: Caller, verdict: Verdict, *, reason: str, now_us: int) -> Counted | Refused:
    """What one person's answer does. Pure; the caller checked the tenant.

    One person may count for every group they are in; the requester counts for `self` only; one reject ends it.
    """
    if approval.status != "open":
        return Refused(code="already_decided", message=f"approval {approval.approval_id} is already {approval.status}")
    if now_us >= approval.expires_us:
        return Refused(code="expired", message=f"approval {approval.approval_id} expired before it was decided")
    if any(vote.approver == voter.id for vote in approval.votes):
        return Refused(code="already_decided", message=f"{voter.id} has already decided {approval.approval_id}")
    groups = _groups_of(approval, voter)
    if not groups:
        return Refused(code="not_entitled", message=_not_entitled(approval, voter))
    vote = Vote(approver=voter.id, verdict=verdict, groups=groups, reason=reason, at_us=now_us)
    if verdict == "reject":
        return Counted(vote=vote, status="rejected")
    return Counted(vote=vote, status="approved" if is_met(approval.needs, (*approval.votes, vote)) else "open")


def is_met(needs: tuple[Requirement, ...], votes: tuple[Vote, ...]) -> bool:
    """Whether each group said yes and nobody no. Where nobody was asked, or nobody answered, there is no yes."""
    if not needs or not votes:
        return False
    met = {group for vote in votes if vote.verdict == "approve" for group in vote.groups}
    return all(need.group in met for need in needs) and all(vote.verdict == "approve" for vote in votes)


def _groups_of(approval: Approval, voter: Caller) -> tuple[str, ...]:
    requester = voter.id == approval.requester
    return tuple(
        sorted(
            {
                need.group
                for need in approval.needs
                if (requester if need.group == SELF else need.group in voter.roles and not requester)
            }
        )
    )


def _not_entitled(approval: Approval, voter: Caller) -> str:
    groups = sorted({need.group for need in approval.needs} - {SELF})
    if voter.id == approval.requester:
        others = " and of ".join(groups) or "this tenant"
        return f"{voter.id} asked for this and may not decide it; another person of {others} must"
    if any(need.group == SELF for need in approval.needs):
        groups.append(f"{approval.requester}, who asked")
    return f"{voter.id} is not among those who may decide this ({', '.join(groups)})"
