"""Between 5 and 6: standing answers that lift a question before anybody is asked.

What is found here is only proposed: the claim uses the grants up in its own transaction, or the question is asked.
"""

from __future__ import annotations

from ..approval import Grant, Terms, is_bound_to, lifts, matches
from ..audit import AuditRow
from ..errors import StoreError
from ..policy import Deny
from ..types import Caller, Requirement
from .events import problem, tell
from .passage import Passage
from .services import Services
from .trace import record_row, unseal_json

_LOOKED_AT = 100
"""Grants of one caller and tool; more are not looked at, so that a call takes no longer."""


async def standing_answers(p: Passage, s: Services, needs: tuple[Requirement, ...]) -> tuple[Grant, ...]:
    """Grants that together lift every requirement, as few as come first; none if one requirement is left over."""
    found = await s.store.open_grants(
        p.caller.tenant, p.caller.id, p.spec.name, p.spec.version, now_us=s.clock.now_us(), limit=_LOOKED_AT
    )
    left: list[Requirement] = list(needs)
    taken: list[Grant] = []
    for grant in found:
        if not left:
            break
        if not any(lifts(grant, need, grant.giver) for need in left) or not _counts(p, s, grant):
            continue
        giver = await _giver_now(p, s, grant)
        if giver is None:
            continue
        lifted = [need for need in left if lifts(grant, need, giver)]
        if lifted:
            left = [need for need in left if need not in lifted]
            taken.append(grant)
    return () if left else tuple(taken)


def _counts(p: Passage, s: Services, grant: Grant) -> bool:
    if grant.seal != grant_seal(s, grant) or not is_bound_to(grant, p.spec, p.caller):
        return False
    try:
        return matches(terms_of(s, grant).where, p.final)
    except StoreError as error:
        problem(p, s, "grants", error)
        return False


async def _giver_now(p: Passage, s: Services, grant: Grant) -> Caller | None:
    """Who gave it, with what they are entitled to today; `None` if they may not approve any more."""
    try:
        giver = await s.resolver.refresh(grant.giver, p.caller)
    except Exception as error:  # a resolver of the user's; without its answer nobody can say that the giver may
        problem(p, s, "grants: resolver", error)
        return None
    if giver is None or not giver.same_person(grant.giver):
        return None
    decision = p.world.policies.may_approve(giver, p.spec, now_ns=p.began_us * 1000)
    return None if isinstance(decision, Deny) else giver


def grant_seal(s: Services, grant: Grant) -> str:
    """Binds all that was given; what changes later, its use and its end, is not covered."""
    return s.keyring.keyed_hash(
        [
            "grant",
            [grant.tenant, grant.grant_id, grant.caller, grant.agent, grant.environment],
            [grant.name, grant.version, grant.contract_hash, grant.binding_hash],
            [[need.policy_id, need.group, need.policy_hash, need.quorum, need.reason] for need in grant.needs],
            list(grant.giver.identity),
            s.keyring.keyed_hash(grant.terms),
            [grant.uses, grant.created_us, grant.expires_us],
        ]
    )


def terms_of(s: Services, grant: Grant) -> Terms:
    """What the giver wrote.

    Raises:
        StoreError: It cannot be opened: it was changed, or sealed with other keys.
    """
    return unseal_json(s, grant.terms, Terms, tenant=grant.tenant, call_id=grant.grant_id, what="grant")


def used(p: Passage, s: Services, granted: tuple[Grant, ...]) -> tuple[AuditRow, ...]:
    """The records of one use of each grant, beside that of the call's start."""
    return tuple(
        record_row(
            s,
            "grant.used",
            tenant=p.caller.tenant,
            call_id=p.call_id,
            run_id=p.run_id,
            grant_id=grant.grant_id,
            giver=grant.giver.id,
            groups=sorted({need.group for need in grant.needs}),
        )
        for grant in granted
    )


def tell_used(p: Passage, s: Services, granted: tuple[Grant, ...]) -> None:
    """One event for each grant that was used."""
    for grant in granted:
        tell(p, s, "grant.used", grant_id=grant.grant_id, giver=grant.giver.id)
