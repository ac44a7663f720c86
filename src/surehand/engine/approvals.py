"""`engine.approvals`: the questions that wait for people, and their answers."""

from __future__ import annotations

from typing import get_args

import msgspec

from ..approval import Approval, ApprovalStatus, Counted, Refused, Verdict, count
from ..audit import AuditRow
from ..errors import ApprovalError
from ..pipeline import Services
from ..pipeline.ask import vote_seal
from ..pipeline.trace import record_row
from ..policy import Allow, Deny
from ..ports import Ballot, Move
from ..types import Caller
from .pending import Pending, shown

_REASON_CHARS = 1000


class Approvals:
    """Decides by exact id, for people of the same tenant only. Nothing here runs a call: `resume` does."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def get(self, approval_id: str, *, by: Caller) -> Pending:
        """One question, for its requester, those it asks, and those who may read the audit.

        Raises:
            ApprovalError: `not_found`, also for another tenant's or one that the caller may not see.
        """
        found = await self._find(approval_id, by)
        if not self._may_see(found, by):
            raise _not_found(approval_id)
        return shown(self._s, found)

    async def list(
        self, *, by: Caller, statuses: tuple[ApprovalStatus, ...] = ("open",), limit: int = 1000
    ) -> list[Pending]:
        """Questions that the caller may see, oldest first; by default the open ones."""
        most = self._s.limits.open_approvals
        found = await self._s.store.list_approvals(by.tenant, statuses=statuses, limit=most)
        return [shown(self._s, one) for one in found if self._may_see(one, by)][:limit]

    def _may_see(self, approval: Approval, by: Caller) -> bool:
        if by.id == approval.requester or any(need.group in by.roles for need in approval.needs):
            return True
        return isinstance(self._s.world.policies.may(by, "audit", None, now_ns=self._s.clock.now_us() * 1000), Allow)

    async def approve(self, approval_id: str, *, by: Caller, digest: str | None = None) -> Pending:
        """One person's yes to exactly the stored call. Pass `digest` to say which version of it was seen.

        Raises:
            ApprovalError: `not_found`, `already_decided`, `not_entitled`, `expired`, `mismatch`.
        """
        return await self.decide(approval_id, "approve", by=by, digest=digest)

    async def reject(self, approval_id: str, *, by: Caller, reason: str = "") -> Pending:
        """One person's no; it ends the question. The model reads the reason.

        Raises:
            ApprovalError: `not_found`, `already_decided`, `not_entitled`, `expired`.
        """
        return await self.decide(approval_id, "reject", by=by, reason=reason)

    async def decide(
        self, approval_id: str, verdict: Verdict | None, *, by: Caller, reason: str = "", digest: str | None = None
    ) -> Pending:
        """Counts one answer. No decision (`None`) changes nothing; only the two words are decisions.

        Raises:
            ApprovalError: As `approve`, and `not_a_decision` for anything but "approve", "reject" or None.
        """
        found = await self._find(approval_id, by)
        if verdict is None:
            return await self.get(approval_id, by=by)
        if verdict not in get_args(Verdict):
            raise ApprovalError(
                "not_a_decision", f"{verdict!r} is not a decision about {approval_id}; say 'approve' or 'reject'"
            )
        if digest is not None and digest != found.digest:
            raise ApprovalError("mismatch", f"{approval_id} is about another call than the one that was seen")
        self._check_policy(found, by)
        reason = self._s.redactor.polish(reason, _REASON_CHARS)
        ballot = await self._s.store.vote(
            by.tenant, approval_id, lambda approval: self._ballot(approval, by, verdict, reason)
        )
        if ballot is None:
            raise _not_found(approval_id)
        if isinstance(ballot, Refused):
            raise ApprovalError(ballot.code, ballot.message)
        self._s.emit(
            "approval.decided",
            caller=by,
            call_id=found.call_id,
            name=found.name,
            verdict=verdict,
            approval_id=approval_id,
        )
        return shown(self._s, await self._find(approval_id, by))

    async def _find(self, approval_id: str, by: Caller) -> Approval:
        found = await self._s.store.get_approval(by.tenant, approval_id)
        if found is None:
            raise _not_found(approval_id)
        return found

    def _check_policy(self, approval: Approval, by: Caller) -> None:
        entry = self._s.world.catalog.resolve(approval.name, approval.version)
        if entry is None:
            raise ApprovalError(
                "not_entitled", f"`{approval.name}` is not known here, so nobody can say who may approve it"
            )
        decision = self._s.world.policies.may_approve(by, entry.tool.spec, now_ns=self._s.clock.now_us() * 1000)
        if isinstance(decision, Deny):
            raise ApprovalError("not_entitled", f"{by.id} may not approve: {'; '.join(decision.reasons)}")

    def _ballot(self, approval: Approval, by: Caller, verdict: Verdict, reason: str) -> Ballot | Refused:
        now_us = self._s.clock.now_us()
        counted = count(approval, by, verdict, reason=reason, now_us=now_us)
        if isinstance(counted, Refused):
            return counted
        vote = msgspec.structs.replace(counted.vote, seal=vote_seal(self._s, approval, counted.vote))
        counted = msgspec.structs.replace(counted, vote=vote)
        return Ballot(
            counted=counted,
            move=_move(approval, counted, now_us),
            audit=(self._row(approval, by, verdict, reason, counted),),
        )

    def _row(self, approval: Approval, by: Caller, verdict: Verdict, reason: str, counted: Counted) -> AuditRow:
        return record_row(
            self._s,
            "approval.decided",
            tenant=approval.tenant,
            call_id=approval.call_id,
            run_id=None,
            approval_id=approval.approval_id,
            name=approval.name,
            version=approval.version,
            digest=approval.digest,
            shown_hash=approval.shown_hash,
            approver=by.id,
            groups=list(counted.vote.groups),
            verdict=verdict,
            reason=reason,
            status=counted.status,
        )


def _move(approval: Approval, counted: Counted, now_us: int) -> Move | None:
    """What a decided question does to its call. The approval's own state is the vote's to change."""
    if counted.status == "open":
        return None
    if counted.status == "approved":
        return Move(tenant=approval.tenant, call_id=approval.call_id, expect=("waiting",), to="ready")
    return Move(
        tenant=approval.tenant,
        call_id=approval.call_id,
        expect=("waiting",),
        to="denied",
        error_code="APPROVAL_REJECTED",
        finished_us=now_us,
        release_key=True,
    )


def _not_found(approval_id: object) -> ApprovalError:
    return ApprovalError("not_found", f"there is no approval {approval_id!r}")
