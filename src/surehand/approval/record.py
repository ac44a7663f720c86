"""An approval: one question about one call, and the answers to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ..types import SELF, Caller, Requirement

ApprovalStatus = Literal[
    "open", "approved", "rejected", "answered", "withdrawn", "edited", "expired", "consumed", "stale"
]
"""`edited`: another question took its place, about the arguments that a person wrote. `stale`: it no longer fits."""
Verdict = Literal["approve", "reject", "answer"]
"""`answer`: a person gave the result, and the tool does not run."""


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """One person's answer."""

    approver: str
    """The person's id in the tenant."""
    verdict: Verdict
    groups: tuple[str, ...]
    """The groups that this person counted for when they decided."""
    acts_for: dict[str, str] = {}
    """Group -> the member in whose place they counted, as a deputy. Groups that they are in themselves are left out."""
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
    preview: str | None = None
    """What the tool says its effect would be."""
    revision: int = 1
    """One more for each edit."""
    edited_by: str = ""
    """The person who wrote these arguments; empty if the model did."""
    edit_reason: str = ""
    asked_us: int = 0
    """When: escalation counts from here, not from a column that somebody may have changed."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one group is."""

    group: str
    have: int
    """Distinct people of the group who said yes; a deputy and whom they stand for are one."""
    need: int


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that does not count."""

    code: Literal["already_decided", "not_entitled", "expired"]
    message: str


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that counts, and what the approval becomes by it."""

    vote: Vote
    status: Literal["open", "approved", "rejected", "answered"]


def count(
    approval: Approval,
    voter: Caller,
    verdict: Verdict,
    *,
    reason: str,
    now_us: int,
    principals: Sequence[Caller] = (),
    escalated: bool = False,
) -> Counted | Refused:
    """What one person's answer does. Pure; the caller checked the tenant.

    One person may count for every group they are in; the requester counts for `self` only; one reject ends it.

    Args:
        approval: With the votes so far.
        voter: As they are when they decide.
        verdict: Their answer.
        reason: Their words.
        now_us: The time.
        principals: Who has named the voter their deputy, as they are now.
        escalated: Whether the groups that needs name for escalation count.
    """
    if approval.status != "open":
        return Refused(code="already_decided", message=f"approval {approval.approval_id} is already {approval.status}")
    if now_us >= approval.expires_us:
        return Refused(code="expired", message=f"approval {approval.approval_id} expired before it was decided")
    if any(vote.approver == voter.id for vote in approval.votes):
        return Refused(code="already_decided", message=f"{voter.id} has already decided {approval.approval_id}")
    seats = seats_of(approval, voter, principals=principals, escalated=escalated)
    if not seats:
        return Refused(code="not_entitled", message=_not_entitled(approval, voter))
    vote = Vote(
        approver=voter.id,
        verdict=verdict,
        groups=tuple(sorted(seats)),
        acts_for={group: seat for group, seat in seats.items() if seat != voter.id},
        reason=reason,
        at_us=now_us,
    )
    if verdict != "approve":
        return Counted(vote=vote, status="rejected" if verdict == "reject" else "answered")
    return Counted(vote=vote, status="approved" if is_met(approval.needs, (*approval.votes, vote)) else "open")


def is_met(needs: tuple[Requirement, ...], votes: tuple[Vote, ...]) -> bool:
    """Whether enough people of each group said yes and nobody no. Where nobody was asked, or answered, there is no yes.

    A member and whoever stood in for them are one person of that group.
    """
    if not needs or not votes or any(vote.verdict != "approve" for vote in votes):
        return False
    return all(len(_seats(votes, need.group)) >= max(1, need.quorum) for need in needs)


def progress(needs: tuple[Requirement, ...], votes: tuple[Vote, ...]) -> tuple[Progress, ...]:
    """How far each group is, in the order in which they are asked."""
    wanted: dict[str, int] = {}
    for need in needs:
        wanted[need.group] = max(1, need.quorum, wanted.get(need.group, 0))
    return tuple(Progress(group=group, have=len(_seats(votes, group)), need=most) for group, most in wanted.items())


def seats_of(
    approval: Approval, person: Caller, *, principals: Sequence[Caller] = (), escalated: bool = False
) -> dict[str, str]:
    """Group -> whose place in it a person's answer takes: their own, or that of a member whose deputy they are.

    Nobody stands in for the requester, the requester for nobody, and nobody confirms in another's name.
    """
    if person.id == approval.requester:
        return {SELF: person.id} if any(need.group == SELF for need in approval.needs) else {}
    seats: dict[str, str] = {}
    for group in {need.group for need in approval.needs} - {SELF}:
        others = {need.escalate_to if escalated else "" for need in approval.needs if need.group == group}
        taken = _seats(approval.votes, group)
        members = [
            one.id
            for one in (person, *principals)
            # With several policies that ask one group, whoever stands in for it must do so for all of them.
            if one.id != approval.requester and (group in one.roles or others.issubset(one.roles))
        ]
        if members:
            seats[group] = members[0] if members[0] == person.id else _free(members, taken)
    return seats


def asks(needs: Sequence[Requirement], person: Caller) -> bool:
    """Whether somebody is in a group that is asked. `self` is the requester, never a role of that name."""
    return any(need.group != SELF and need.group in person.roles for need in needs)


def _free(members: list[str], taken: set[str]) -> str:
    return next((member for member in members if member not in taken), members[0])


def _seats(votes: tuple[Vote, ...], group: str) -> set[str]:
    return {
        vote.acts_for.get(group, vote.approver) for vote in votes if vote.verdict == "approve" and group in vote.groups
    }


def _not_entitled(approval: Approval, voter: Caller) -> str:
    groups = sorted({need.group for need in approval.needs} - {SELF})
    if voter.id == approval.requester:
        others = " and of ".join(groups) or "this tenant"
        return f"{voter.id} asked for this and may not decide it; another person of {others} must"
    if any(need.group == SELF for need in approval.needs):
        groups.append(f"{approval.requester}, who asked")
    return f"{voter.id} is not among those who may decide this ({', '.join(groups)})"
