"""`engine.approvals`: the questions that wait for people, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ..approval import Approval, ApprovalStatus, Counted, Refused, Verdict, asks, count, seats_of
from ..audit import AuditRow
from ..errors import ApprovalError
from ..event import EventKind
from ..ledger import CallRecord
from ..normalize import Unwritable, read_value
from ..pipeline import Outcome, Services
from ..pipeline.ask import vote_seal
from ..pipeline.trace import record_row, seal_json
from ..policy import Allow, Deny
from ..ports import Ballot, Move
from ..types import Caller, Output
from . import deputies
from .arguments import checked
from .deputies import Deputy, principals_of
from .editing import edit
from .ending import withdraw
from .pending import Pending, is_escalated, shown

_REASON_CHARS = 1000
_ENDS = {"reject": ("denied", "APPROVAL_REJECTED"), "answer": ("cancelled", None)}
"""Verdict -> what its call becomes, with which code."""


@checked
class Approvals:
    """Decides by exact id, for people of the same tenant only. Nothing here runs a call: `resume` does."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def get(self, approval_id: str, *, by: Caller) -> Pending:
        """One question, for its requester, those it asks, their deputies, and those who may read the audit.

        Raises:
            ApprovalError: `not_found`, also for another tenant's or one that the caller may not see.
        """
        return shown(self._s, await self._visible(approval_id, by))

    async def list(
        self, *, by: Caller, statuses: tuple[ApprovalStatus, ...] = ("open",), limit: int = 1000
    ) -> list[Pending]:
        """Questions that the caller may see, oldest first; by default the open ones."""
        most = self._s.limits.open_approvals
        found = await self._s.store.list_approvals(by.tenant, statuses=statuses, limit=most)
        principals = await principals_of(self._s, by)
        return [shown(self._s, one) for one in found if self._may_see(one, by, principals)][:limit]

    def _may_see(self, approval: Approval, by: Caller, principals: tuple[Caller, ...]) -> bool:
        escalated = is_escalated(self._s, approval)
        asked = asks(approval.needs, by) or seats_of(approval, by, principals=principals, escalated=escalated)
        if asked or by.id == approval.requester:
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
        """Counts one answer. No decision (`None`) changes nothing; only the words "approve" and "reject" are decisions.

        Raises:
            ApprovalError: As `approve`, and `not_a_decision` for anything else.
        """
        found = await self._find(approval_id, by)
        if verdict is None:
            return await self.get(approval_id, by=by)
        if verdict not in ("approve", "reject"):
            raise ApprovalError(
                "not_a_decision", f"{verdict!r} is not a decision about {approval_id}; say 'approve' or 'reject'"
            )
        if digest is not None and digest != found.digest:
            raise ApprovalError("mismatch", f"{approval_id} is about another call than the one that was seen")
        return await self._count(found, verdict, by, reason)

    async def edit(
        self,
        approval_id: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        by: Caller,
        changes: Mapping[str, Any] | None = None,
        reason: str = "",
        digest: str | None = None,
    ) -> Pending:
        """Asks about other arguments of the same call, by somebody who may decide it. The model is told.

        They pass stages 1 to 5 again in the name of the call's own caller, and take the place of the question: earlier
        yeses are void, the editor's own counts in the new one if it still asks for them.

        Args:
            approval_id: The open question.
            arguments: All arguments that the model may write.
            by: Who edits.
            changes: Instead of `arguments`: only those that change, in what would run now.
            reason: For the audit and for the other approvers.
            digest: What the editor saw, if it is to be refused when that is not what is asked now.

        Returns:
            The new question: another id, revision 2 or more; `approved` if the editor's yes is enough.

        Raises:
            ApprovalError: Nothing changed. `denied`: policy, or a hook, forbids the call with these arguments.
                `invalid`: they are wrong, change nothing, or name an injected one. `conflict`: another call has that
                effect. `unavailable`: a check could not be made. Else as `approve`.
        """
        found = await self._find(approval_id, by)
        if digest is not None and digest != found.digest:
            raise ApprovalError("mismatch", f"{approval_id} is about another call than the one that was seen")
        await self._check_policy(found, by)
        if (arguments is None) is (changes is None):
            raise ApprovalError("invalid", "edit: pass arguments, or changes")
        if not isinstance(arguments if changes is None else changes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ApprovalError("invalid", "edit: arguments, and changes, are objects of name and value")
        given = dict(arguments or {}), None if changes is None else dict(changes)
        reason = self._s.redactor.polish(reason, _REASON_CHARS)
        made = await edit(self._s, found, by, given, reason)
        call = await self._call(made)
        self._tell("approval.edited", made, call, by, replaces=approval_id)
        if made.status == "approved":
            self._tell("approval.decided", made, call, by, verdict="approve")
        return shown(self._s, made)

    async def answer(self, approval_id: str, text: str, *, by: Caller, structured: Any = None) -> Pending:
        """One person gives the result instead of the tool, which never runs: the call ends `cancelled`, its key free.

        The model reads that a person answered, and `ToolResult.answered_by` says who.

        Args:
            approval_id: The open question.
            text: For the model; neither empty nor longer than `Limits.result_chars`.
            by: Somebody who may decide it. One person is enough: nothing happens.
            structured: The same as a JSON value, if there is one; it must be what the tool's contract promises.

        Raises:
            ApprovalError: As `approve`, and `invalid`.
        """
        found = await self._find(approval_id, by)
        if not isinstance(text, str) or not text.strip() or len(text) > self._s.limits.result_chars:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ApprovalError("invalid", f"answer: text must have 1 to {self._s.limits.result_chars} characters")
        try:
            value = read_value(Output(text=text, structured=structured), None)
        except Unwritable as error:
            raise ApprovalError("invalid", f"answer: structured cannot be written as JSON: {error}") from error
        entry = self._s.world.catalog.resolve(found.name, found.version)
        if structured is not None and entry is not None and entry.output is not None:
            wrong = entry.output.errors(value.structured)
            if wrong:
                raise ApprovalError("invalid", f"answer: structured is not what the tool promises: {wrong[0].message}")
        return await self._count(found, "answer", by, "", Outcome(status="cancelled", value=value, answered_by=by.id))

    async def withdraw(self, approval_id: str, *, by: Caller, reason: str = "") -> Pending:
        """The requester takes the call back, also after a yes: it ends `cancelled`, its key is free.

        Raises:
            ApprovalError: `not_found`, `not_entitled` for anybody else, `already_decided` once it ended or started.
        """
        found = await self._visible(approval_id, by)
        reason = self._s.redactor.polish(reason, _REASON_CHARS)
        if not await withdraw(self._s, found, by=by, reason=reason):
            raise await self._too_late(found)
        self._tell("approval.decided", found, await self._call(found), by, verdict="withdraw")
        return shown(self._s, await self._find(approval_id, by))

    async def delegate(self, *, to: str, until: datetime, by: Caller) -> Deputy:
        """Names a deputy, who may answer until then for the roles that `by` has, and has still when they decide.

        A deputy takes the principal's place: both together are one of a quorum. They never decide what they asked for
        themselves, nor what the principal asked for. Policy must let the deputy approve in their own name too.

        Args:
            to: The deputy's id, in the same tenant.
            until: With a time zone; at most a year from now.
            by: The principal.

        Raises:
            ApprovalError: `invalid`.
        """
        return await deputies.delegate(self._s, to, until, by)

    async def dismiss(self, delegation_id: str, *, by: Caller) -> None:
        """Ends one of the caller's own delegations at once.

        Raises:
            ApprovalError: `not_found`.
        """
        await deputies.dismiss(self._s, delegation_id, by)

    async def deputies(self, *, by: Caller) -> list[Deputy]:
        """Delegations that hold now, of which the caller is one side, oldest first."""
        return await deputies.deputies(self._s, by)

    async def _count(
        self, found: Approval, verdict: Verdict, by: Caller, reason: str, outcome: Outcome | None = None
    ) -> Pending:
        await self._check_policy(found, by)
        reason = self._s.redactor.polish(reason, _REASON_CHARS)
        principals = await principals_of(self._s, by)
        call = await self._call(found)

        def decide(approval: Approval) -> Ballot | Refused:
            escalated = is_escalated(self._s, approval)
            now_us = self._s.clock.now_us()
            counted = count(
                approval, by, verdict, reason=reason, now_us=now_us, principals=principals, escalated=escalated
            )
            return counted if isinstance(counted, Refused) else self._ballot(approval, call, counted, outcome)

        ballot = await self._s.store.vote(by.tenant, found.approval_id, decide)
        if ballot is None:
            raise _not_found(found.approval_id)
        if isinstance(ballot, Refused):
            if ballot.code == "already_decided" and not any(vote.approver == by.id for vote in found.votes):
                raise await self._too_late(found, ballot.message)
            raise ApprovalError(ballot.code, ballot.message)
        self._tell("approval.decided", found, call, by, verdict=verdict)
        return shown(self._s, await self._find(found.approval_id, by))

    async def _too_late(self, found: Approval, message: str = "") -> ApprovalError:
        """A question that is not open; where another took its place, that one's id."""
        call = await self._s.store.get_call(found.tenant, found.call_id)
        message = message or f"approval {found.approval_id} has ended, or its call was started"
        if call is not None and call.approval_id not in (None, found.approval_id):
            message = f"{found.approval_id} is not the question any more: {call.approval_id} is"
        return ApprovalError("already_decided", message)

    def _tell(self, kind: EventKind, approval: Approval, call: CallRecord, by: Caller, **data: str) -> None:
        self._s.emit(
            kind,
            caller=by,
            call_id=approval.call_id,
            tool_call_id=call.tool_call_id,
            name=approval.name,
            run_id=call.run_id or "",
            position=call.position or 0,
            approval_id=approval.approval_id,
            **data,
        )

    async def _call(self, approval: Approval) -> CallRecord:
        call = await self._s.store.get_call(approval.tenant, approval.call_id)
        if call is None:
            raise _not_found(approval.approval_id)
        return call

    async def _find(self, approval_id: str, by: Caller) -> Approval:
        found = await self._s.store.get_approval(by.tenant, approval_id)
        if found is None:
            raise _not_found(approval_id)
        return found

    async def _visible(self, approval_id: str, by: Caller) -> Approval:
        found = await self._find(approval_id, by)
        if not self._may_see(found, by, await principals_of(self._s, by)):
            raise _not_found(approval_id)
        return found

    async def _check_policy(self, approval: Approval, by: Caller) -> None:
        entry = self._s.world.catalog.resolve(approval.name, approval.version)
        if entry is None:
            raise ApprovalError(
                "not_entitled", f"`{approval.name}` is not known here, so nobody can say who may approve it"
            )
        decision = self._s.world.policies.may_approve(by, entry.tool.spec, now_ns=self._s.clock.now_us() * 1000)
        if isinstance(decision, Deny):
            raise ApprovalError("not_entitled", f"{by.id} may not approve: {'; '.join(decision.reasons)}")

    def _ballot(self, approval: Approval, call: CallRecord, counted: Counted, outcome: Outcome | None) -> Ballot:
        vote = msgspec.structs.replace(counted.vote, seal=vote_seal(self._s, approval, counted.vote))
        counted = msgspec.structs.replace(counted, vote=vote)
        sealed = None
        if outcome is not None:
            sealed = seal_json(self._s, outcome, tenant=approval.tenant, call_id=approval.call_id, what="outcome")
        row = self._row(approval, call.run_id, counted)
        return Ballot(counted=counted, move=_move(approval, counted, sealed), audit=(row,))

    def _row(self, approval: Approval, run_id: str | None, counted: Counted) -> AuditRow:
        vote = counted.vote
        return record_row(
            self._s,
            "approval.decided",
            tenant=approval.tenant,
            call_id=approval.call_id,
            run_id=run_id,
            approval_id=approval.approval_id,
            name=approval.name,
            version=approval.version,
            digest=approval.digest,
            shown_hash=approval.shown_hash,
            approver=vote.approver,
            groups=list(vote.groups),
            acts_for=vote.acts_for,
            verdict=vote.verdict,
            reason=vote.reason,
            status=counted.status,
        )


def _move(approval: Approval, counted: Counted, outcome: bytes | None) -> Move | None:
    """What a decided question does to its call. The approval's own state is the vote's to change."""
    if counted.status == "open":
        return None
    if counted.status == "approved":
        return Move(tenant=approval.tenant, call_id=approval.call_id, expect=("waiting",), to="ready")
    to, code = _ENDS[counted.vote.verdict]
    return Move(
        tenant=approval.tenant,
        call_id=approval.call_id,
        expect=("waiting",),
        to=to,  # pyright: ignore[reportArgumentType]
        outcome=outcome,
        error_code=code,
        finished_us=counted.vote.at_us,
        release_key=True,
    )


def _not_found(approval_id: object) -> ApprovalError:
    return ApprovalError("not_found", f"there is no approval {approval_id!r}")
