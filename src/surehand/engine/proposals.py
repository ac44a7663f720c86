"""Changes that a second person confirms: asked for by one, made by the last yes, and bound to what they start from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ..approval import Approval, Counted, Refused, Verdict, asks, count
from ..errors import ApprovalError, NotAllowedError, SurehandError
from ..pipeline import Services, new_id
from ..policy import Ask, Decision, Deny
from ..types import Caller, Requirement
from .control_state import Change, ControlState, Proposal
from .plane import Plane, Planned

Judge = Callable[[Change, Caller], Decision]
"""What policy says of a change, as of now; raises if it denies."""


class Proposals:
    """Of one engine."""

    def __init__(self, services: Services, plane: Plane, judge: Judge) -> None:
        self._s = services
        self._plane = plane
        self._judge = judge

    async def ask(self, change: Change, needs: tuple[Requirement, ...], by: Caller) -> Proposal:
        """Stores a change for others to confirm. A later one about the same takes the place of an open one."""
        now_us = self._s.clock.now_us()
        made: list[Proposal] = []

        def plan(state: ControlState) -> list[Planned]:
            made.append(
                Proposal(
                    change_id=new_id("chg"),
                    change=change,
                    requester=by,
                    needs=needs,
                    digest=self._digest(change, needs, by, state),
                    created_us=now_us,
                    expires_us=now_us + int(self._s.limits.approval_ttl_s * 1_000_000),
                )
            )
            return [_row(made[-1], "control.asked", now="open")]

        await self._plane.write(plan, by=by)
        return made[-1]

    async def decide(
        self,
        change_id: str,
        verdict: Verdict,
        *,
        by: Caller,
        reason: str,
        make: Callable[[Change, ControlState], Planned],
    ) -> tuple[Proposal, int | None]:
        """Counts one answer; the last yes makes the change, in the same transaction.

        Raises:
            ApprovalError: `not_found`, `already_decided`, `not_entitled`, `expired`, or `mismatch`: what was asked for
                is not what would be done now, or its requester may not ask for it any more.
        """
        now_us = self._s.clock.now_us()
        waits = self._plane.state.proposal(by.tenant, change_id)
        requester = None if waits is None else await self._s.resolver.refresh(waits[1].requester, by)
        answered: list[Proposal] = []
        stale: list[str] = []

        def plan(state: ControlState) -> list[Planned]:
            stale.clear()
            found = state.proposal(by.tenant, change_id)
            if found is None:
                raise ApprovalError("not_found", f"there is no change {change_id!r} that waits")
            proposal = found[1]
            counted = count(_as_approval(proposal), by, verdict, reason=reason, now_us=now_us)
            if isinstance(counted, Refused):
                raise ApprovalError(counted.code, counted.message.replace("approval ", "change "))
            why = self._stale(proposal, state, requester)
            if why:
                stale.append(why)
                return [_row(replace(proposal, status="stale"), "control.decided", was="open", now="stale", reason=why)]
            after = replace(proposal, status=counted.status, votes=(*proposal.votes, counted.vote))
            answered.append(after)
            rows = [_row(after, "control.decided", was="open", now=after.status, reason=reason, counted=counted)]
            if after.status == "approved":
                made = make(proposal.change, state)
                yes = tuple(vote.approver for vote in after.votes)
                facts = {**made.facts, "change_id": change_id, "requester": proposal.requester.id}
                asked_by = f"{proposal.requester.tenant}/{proposal.requester.id}"
                rows.append(dataclasses.replace(made, confirmed_by=yes, asked_by=asked_by, facts=facts))
            return rows

        revision = await self._plane.write(plan, by=by)
        if stale:
            raise ApprovalError("mismatch", f"{change_id} cannot be made any more: {stale[0]}; ask for it again")
        after = answered[-1]
        return after, revision if after.status == "approved" else None

    def listed(self, by: Caller, *, all_of_them: bool) -> list[Proposal]:
        """Open ones of the caller's tenant: their own, those that ask a group of theirs, or all."""
        now_us = self._s.clock.now_us()
        return [
            one
            for (tenant, _), one in sorted(self._plane.state.proposals.items(), key=lambda item: item[1].created_us)
            if tenant == by.tenant and one.status == "open" and now_us < one.expires_us
            if all_of_them or one.requester.id == by.id or asks(one.needs, by)
        ]

    def _stale(self, proposal: Proposal, state: ControlState, requester: Caller | None) -> str:
        lost = f"{proposal.requester.id} may not do it any more"
        if requester is None or not requester.same_person(proposal.requester):
            return lost
        try:
            decision = self._judge(proposal.change, requester)
        except SurehandError:
            return lost
        needs = decision.requirements if isinstance(decision, Ask) else proposal.needs
        if self._digest(proposal.change, needs, proposal.requester, state) != proposal.digest:
            return "what it starts from, or what policy asks, has changed"
        return ""

    def _digest(self, change: Change, needs: tuple[Requirement, ...], requester: Caller, state: ControlState) -> str:
        of: dict[str, Any] = {
            "change": msgspec.to_builtins(change),
            "from": state.changed.get(change.subject, 0),
            "requester": [requester.tenant, requester.id],
            "question": sorted([need.policy_id, need.group, need.policy_hash, need.quorum] for need in needs),
        }
        return self._s.keyring.keyed_hash(of)


def not_allowed(by: Caller, what: str, decision: Deny) -> NotAllowedError:
    """A refusal in words."""
    return NotAllowedError(f"{by.id} may not {what}: {'; '.join(decision.reasons)}")


def _as_approval(proposal: Proposal) -> Approval:
    """So that people count for it as they do for a call."""
    status: Literal["open", "approved", "rejected", "stale"] = proposal.status
    return Approval(
        approval_id=proposal.change_id,
        call_id="",
        tenant=proposal.requester.tenant,
        requester=proposal.requester.id,
        name=proposal.change.target,
        version="",
        digest=proposal.digest,
        needs=proposal.needs,
        status=status,
        shown=b"",
        shown_hash="",
        created_us=proposal.created_us,
        expires_us=proposal.expires_us,
        votes=proposal.votes,
    )


def _row(
    proposal: Proposal, audit: str, *, was: str = "", now: str, reason: str = "", counted: Counted | None = None
) -> Planned:
    facts: dict[str, Any] = {
        "change_id": proposal.change_id,
        "of": proposal.change.target,
        "digest": proposal.digest,
        "requester": proposal.requester.id,
        "requirements": [[need.policy_id, need.group] for need in proposal.needs],
    }
    if counted is not None:
        facts |= {"verdict": counted.vote.verdict, "groups": list(counted.vote.groups)}
    return Planned(
        kind="proposal",
        tenant=proposal.requester.tenant,
        name=f"{proposal.change.action}/{proposal.change.target}",
        value=proposal,
        action=proposal.change.action,
        reason=reason or proposal.change.reason,
        was=was,
        now=now,
        facts=facts,
        audit=audit,
    )
