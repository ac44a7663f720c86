"""`engine.grants`: standing answers, given by those who could give each of them one by one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ..approval import Approval, Condition, Grant, Terms, asks, conditions, may_lift
from ..audit import AuditRow
from ..errors import ApprovalError, StoreError, SurehandError
from ..pipeline import Services, new_id
from ..pipeline.ask import keyed_digest
from ..pipeline.grants import grant_seal, terms_of
from ..pipeline.stored import own_caller, stored_passage
from ..pipeline.trace import record_row, seal_json, stored_arguments
from ..policy import Allow, Deny
from ..registry import Entry
from ..spec import ToolSpec
from ..types import Caller, Requirement
from .approvals import Approvals
from .arguments import checked

GrantStatus = Literal["open", "used_up", "expired", "revoked", "void"]
"""`void`: the tool or a policy is not what it was when the grant was given, so that it lifts nothing now."""

_REASON_CHARS = 1000
_LISTED = 1000


class Grantee(msgspec.Struct, frozen=True, kw_only=True):
    """Whose future calls of which tool a grant answers for."""

    caller: str
    """Their id, in the giver's tenant."""
    tool: str
    """`name`, or `name@version`; the current version otherwise. A grant is for one version."""
    policies: tuple[str, ...]
    """Ids of the policies whose question is answered."""
    agent: str = ""
    environment: str = ""


class GrantInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A standing answer, as people see it."""

    grant_id: str
    status: GrantStatus
    tool: str
    version: str
    caller: str
    agent: str
    environment: str
    giver: str
    needs: tuple[Requirement, ...]
    """What it lifts."""
    where: tuple[Condition, ...]
    """What the arguments must be; none: any."""
    reason: str
    uses: int
    used: int
    created_us: int
    expires_us: int
    revoked_by: str | None


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a grant would answer."""

    spec: ToolSpec
    caller: str
    agent: str
    environment: str
    needs: tuple[Requirement, ...]
    approval: Approval | None = None


@checked
class Grants:
    """Gives, lists and revokes. A use is a part of the call that it lets through."""

    def __init__(self, services: Services, approvals: Approvals) -> None:
        self._s = services
        self._approvals = approvals

    async def give(
        self,
        *,
        by: Caller,
        uses: int,
        expires_s: float,
        where: Mapping[str, Any],
        from_approval: str | None = None,
        to: Grantee | None = None,
        reason: str = "",
    ) -> GrantInfo:
        """Answers future questions of one caller about one tool, as far as `by` could answer each of them.

        Args:
            by: The giver, as the application authenticated them.
            uses: How many calls may use it; at most `Limits.grant_uses`.
            expires_s: Seconds from now; at most `Limits.grant_ttl_s`.
            where: Argument path -> `equals`, `one_of`, `at_most`, `at_least`; `{}` for any arguments.
            from_approval: Take everything else from this question, and say yes to it if it still waits for `by`.
            to: Else, whose calls of what.
            reason: For people.

        Raises:
            ApprovalError: `not_found`, `not_entitled`, `already_decided`, `expired`, `mismatch` (the tool is not what
                it was when it was asked), `not_grantable` (nobody can give such a grant, or something is wrong).
        """
        if from_approval is not None and to is None:
            asked = await self._asked(from_approval, by)
        elif to is not None and from_approval is None:
            asked = self._named(to, by.tenant)
        else:
            raise _not_grantable("say what it is for: from_approval=ID, or to=Grantee(...)")
        needs = self._liftable(asked, by)
        grant = self._made(asked, needs, by=by, uses=uses, expires_s=expires_s, where=where, reason=reason)
        row = self._row("grant.given", grant, by, asked.approval)
        if not await self._s.store.add_grant(grant, most=self._s.limits.open_grants, audit=row):
            raise _not_grantable(
                f"the tenant has {self._s.limits.open_grants} open grants already; revoke some, or let them expire"
            )
        if asked.approval is not None and _waits_for(asked.approval, by):
            await self._say_yes(asked.approval, grant, by)
        self._s.emit("grant.given", caller=by, name=grant.name, grant_id=grant.grant_id, giver=by.id)
        return self._shown(grant)

    async def list(self, *, by: Caller, limit: int = 100) -> list[GrantInfo]:
        """Grants that the caller may see, newest first: their own, those for them or their groups; auditors see all."""
        found = await self._s.store.list_grants(by.tenant, limit=_LISTED)
        shown: list[GrantInfo] = []
        for one in found:
            if self._may_see(one, by):
                with contextlib.suppress(StoreError):  # a row that somebody damaged hides no other
                    shown.append(self._shown(one))
        return shown[:limit]

    async def get(self, grant_id: str, *, by: Caller) -> GrantInfo:
        """One grant.

        Raises:
            ApprovalError: `not_found`, also for one that the caller may not see.
        """
        return self._shown(await self._find(grant_id, by))

    async def revoke(self, grant_id: str, *, by: Caller) -> GrantInfo:
        """Ends a grant at once: no call starts by it any more.

        For its giver, its caller, those of a group that it answers for, and those with the action `admin`.

        Raises:
            ApprovalError: `not_found`, `not_entitled`, `already_decided` (it was revoked before).
        """
        found = await self._find(grant_id, by)
        if not (self._is_theirs(found, by) or self._may(by, "admin")):
            raise ApprovalError("not_entitled", f"{by.id} neither gave {grant_id} nor could have; they may not end it")
        now_us = self._s.clock.now_us()
        row = self._row("grant.revoked", found, by, None)
        if not await self._s.store.revoke_grant(by.tenant, grant_id, by=by.id, now_us=now_us, audit=row):
            raise ApprovalError("already_decided", f"{grant_id} was revoked already")
        self._s.emit("grant.revoked", caller=by, name=found.name, grant_id=grant_id, by=by.id)
        return self._shown(msgspec.structs.replace(found, revoked_us=now_us, revoked_by=by.id))

    async def _say_yes(self, approval: Approval, grant: Grant, by: Caller) -> None:
        """To the question that the grant was taken from. The grant stands only with it, the yes only with the grant."""
        try:
            await self._approvals.approve(approval.approval_id, by=by, digest=approval.digest)
        except SurehandError:
            row = self._row("grant.revoked", grant, by, approval)
            await self._s.store.revoke_grant(
                by.tenant, grant.grant_id, by=by.id, now_us=self._s.clock.now_us(), audit=row
            )
            raise

    # -- what it answers ------------------------------------------------------------------------------

    async def _asked(self, approval_id: str, by: Caller) -> _Asked:
        """The question, as the keys say that it was asked: what the database alone says is nothing to answer for."""
        await self._approvals.get(approval_id, by=by)
        approval = await self._s.store.get_approval(by.tenant, approval_id)
        call = None if approval is None else await self._s.store.get_call(by.tenant, approval.call_id)
        if approval is None or call is None:
            raise ApprovalError("not_found", f"there is no approval {approval_id!r}")
        if approval.status not in ("open", "approved", "consumed"):
            raise ApprovalError("already_decided", f"{approval_id} is {approval.status}; there is no yes to remember")
        if approval.status == "open" and self._s.clock.now_us() >= approval.expires_us:
            raise ApprovalError("expired", f"{approval_id} expired before it was decided")
        caller = own_caller(self._s, call)
        entry = self._entry(approval.name, approval.version)
        passage = stored_passage(self._s, call, caller, self._s.world)
        passage.entry = entry
        passage.final = stored_arguments(self._s, call).final
        if caller.id != approval.requester or keyed_digest(passage, self._s, approval.needs) != approval.digest:
            raise ApprovalError(
                "mismatch", f"`{approval.name}` is not what it was when {approval_id} was asked; name it with to="
            )
        return _Asked(
            spec=entry.tool.spec,
            caller=caller.id,
            agent=caller.agent,
            environment=caller.environment,
            needs=approval.needs,
            approval=approval,
        )

    def _named(self, to: Grantee, tenant: str) -> _Asked:
        name, _, version = to.tool.partition("@")
        spec = self._entry(name, version or None).tool.spec
        asking = self._s.world.policies.asking(spec, tenant)
        known = {need.policy_id for need in asking}
        for policy_id in to.policies:
            if policy_id not in known:
                there = ", ".join(sorted(known)) or "none"
                raise _not_grantable(f"no policy {policy_id!r:.80} asks about `{name}`; those that may are {there}")
        if not to.policies:
            raise _not_grantable("name the policies whose question it answers: policies=(...)")
        whose = Caller(id=to.caller, tenant="-", agent=to.agent, environment=to.environment)
        return _Asked(
            spec=spec,
            caller=whose.id,
            agent=whose.agent,
            environment=whose.environment,
            needs=tuple(need for need in asking if need.policy_id in to.policies),
        )

    def _entry(self, name: str, version: str | None) -> Entry:
        entry = self._s.world.catalog.resolve(name, version)
        if entry is None:
            raise ApprovalError("not_found", f"there is no tool {name!r} here, so nobody can answer for it")
        return entry

    def _liftable(self, asked: _Asked, by: Caller) -> tuple[Requirement, ...]:
        spec = asked.spec
        if spec.idempotency == "irreversible":
            raise _not_grantable(f"`{spec.name}` cannot be taken back, so each call of it is asked about")
        decision = self._s.world.policies.may_approve(by, spec, now_ns=self._s.clock.now_us() * 1000)
        if isinstance(decision, Deny):
            raise ApprovalError("not_entitled", f"{by.id} may not approve: {'; '.join(decision.reasons)}")
        needs = tuple(need for need in asked.needs if may_lift(need, by, asked.caller))
        if needs:
            return needs
        if all(need.quorum > 1 for need in asked.needs):
            raise _not_grantable("several people must agree on each call, so no grant can stand for them")
        groups = ", ".join(sorted({need.group for need in asked.needs}))
        raise ApprovalError("not_entitled", f"{by.id} could not answer this for {asked.caller} ({groups} could)")

    def _made(
        self,
        asked: _Asked,
        needs: tuple[Requirement, ...],
        *,
        by: Caller,
        uses: int,
        expires_s: float,
        where: Mapping[str, Any],
        reason: str,
    ) -> Grant:
        limits = self._s.limits
        _within("uses", uses, int, limits.grant_uses)
        _within("expires_s", expires_s, int | float, limits.grant_ttl_s)
        try:
            meant = conditions(where, asked.spec)
        except ValueError as error:
            raise _not_grantable(str(error)) from None
        spec, grant_id, now_us = asked.spec, new_id("grt"), self._s.clock.now_us()
        terms = Terms(where=meant, reason=self._s.redactor.polish(reason, _REASON_CHARS))
        grant = Grant(
            grant_id=grant_id,
            tenant=by.tenant,
            caller=asked.caller,
            agent=asked.agent,
            environment=asked.environment,
            name=spec.name,
            version=spec.version,
            contract_hash=spec.contract_hash,
            binding_hash=spec.binding_hash,
            needs=needs,
            giver=by,
            terms=seal_json(self._s, terms, tenant=by.tenant, call_id=grant_id, what="grant"),
            uses=uses,
            created_us=now_us,
            expires_us=now_us + int(expires_s * 1_000_000),
        )
        return msgspec.structs.replace(grant, seal=grant_seal(self._s, grant))

    def _row(
        self, kind: Literal["grant.given", "grant.revoked"], grant: Grant, by: Caller, approval: Approval | None
    ) -> AuditRow:
        return record_row(
            self._s,
            kind,
            tenant=grant.tenant,
            call_id=None if approval is None else approval.call_id,
            run_id=None,
            grant_id=grant.grant_id,
            giver=grant.giver.id,
            by=by.id,
            of=grant.caller,
            agent=grant.agent,
            environment=grant.environment,
            name=grant.name,
            version=grant.version,
            contract_hash=grant.contract_hash,
            binding_hash=grant.binding_hash,
            needs=[[need.policy_id, need.group, need.policy_hash] for need in grant.needs],
            terms_hash=self._s.keyring.keyed_hash(grant.terms),
            uses=grant.uses,
            expires_us=grant.expires_us,
            from_approval=None if approval is None else approval.approval_id,
        )

    # -- who sees and ends it -------------------------------------------------------------------------

    async def _find(self, grant_id: str, by: Caller) -> Grant:
        found = await self._s.store.get_grant(by.tenant, grant_id)
        if found is None or not self._may_see(found, by):
            raise ApprovalError("not_found", f"there is no grant {grant_id!r}")
        return found

    def _is_theirs(self, grant: Grant, by: Caller) -> bool:
        return by.id in (grant.giver.id, grant.caller) or asks(grant.needs, by)

    def _may_see(self, grant: Grant, by: Caller) -> bool:
        return self._is_theirs(grant, by) or self._may(by, "audit") or self._may(by, "admin")

    def _may(self, by: Caller, action: Literal["audit", "admin"]) -> bool:
        decision = self._s.world.policies.may(by, action, None, now_ns=self._s.clock.now_us() * 1000)
        return isinstance(decision, Allow)

    def _shown(self, grant: Grant) -> GrantInfo:
        terms = terms_of(self._s, grant)
        return GrantInfo(
            grant_id=grant.grant_id,
            status=self._status(grant),
            tool=grant.name,
            version=grant.version,
            caller=grant.caller,
            agent=grant.agent,
            environment=grant.environment,
            giver=grant.giver.id,
            needs=grant.needs,
            where=terms.where,
            reason=terms.reason,
            uses=grant.uses,
            used=grant.used,
            created_us=grant.created_us,
            expires_us=grant.expires_us,
            revoked_by=grant.revoked_by,
        )

    def _status(self, grant: Grant) -> GrantStatus:
        if grant.revoked_us is not None:
            return "revoked"
        if grant.used >= grant.uses:
            return "used_up"
        if not grant.is_open(self._s.clock.now_us()):
            return "expired"
        return "open" if self._still_means_the_same(grant) else "void"

    def _still_means_the_same(self, grant: Grant) -> bool:
        """As far as can be told without a call: what hooks ask shows when they ask it."""
        entry = self._s.world.catalog.resolve(grant.name, grant.version)
        if entry is None or grant.seal != grant_seal(self._s, grant):
            return False
        spec = entry.tool.spec
        if (spec.contract_hash, spec.binding_hash) != (grant.contract_hash, grant.binding_hash):
            return False
        asking = self._s.world.policies.asking(spec, grant.tenant)
        return all(need.policy_id.startswith("hook:") or need in asking for need in grant.needs)


def _waits_for(approval: Approval, by: Caller) -> bool:
    return approval.status == "open" and all(vote.approver != by.id for vote in approval.votes)


def _within(name: str, value: Any, kind: Any, most: float) -> None:
    of_kind = isinstance(value, kind) and not isinstance(value, bool)
    if not of_kind or not 0 < value <= most:
        whole = "a whole number" if kind is int else "a number"
        raise _not_grantable(f"{name} must be {whole} above 0 and at most {most:.15g}")


def _not_grantable(why: str) -> ApprovalError:
    return ApprovalError("not_grantable", why)
