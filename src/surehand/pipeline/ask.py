"""How a question to people is made: bound by its digest to exactly what will run, and showing exactly that."""

from __future__ import annotations

from typing import Any, cast

from ..approval import Approval, Shown, Vote, digest
from ..redact import MARK
from ..types import Requirement
from .events import redactor_of
from .passage import Passage
from .services import Services, new_id
from .trace import caller_facts, seal_json


def ask(p: Passage, s: Services, needs: tuple[Requirement, ...], *, now_us: int) -> Approval:
    """A question about this call, for those whose yes it needs."""
    call_id = p.call_id
    shown = Shown(
        description=p.spec.description,
        arguments=_readable(p, s, p.arguments),
        injected=p.injected,
        written=None if p.written == p.arguments else _readable(p, s, p.written or {}),
        caller=caller_facts(p.caller),
    )
    return Approval(
        approval_id=new_id("apr"),
        call_id=call_id,
        tenant=p.caller.tenant,
        requester=p.caller.id,
        name=p.spec.name,
        version=p.spec.version,
        digest=keyed_digest(p, s, needs),
        needs=needs,
        shown=seal_json(s, shown, tenant=p.caller.tenant, call_id=call_id, what="shown"),
        shown_hash=s.keyring.keyed_hash([p.spec.id, shown.arguments, shown.injected, shown.written, shown.caller]),
        created_us=now_us,
        expires_us=now_us + int(s.limits.approval_ttl_s * 1_000_000),
    )


def keyed_digest(p: Passage, s: Services, needs: tuple[Requirement, ...]) -> str:
    """The digest, keyed: whoever can write the database cannot make one up."""
    plain = digest(p.spec, p.final, p.caller, needs, idempotency_key=p.idempotency_key)
    return s.keyring.keyed_hash(["approval", plain])


def vote_seal(s: Services, approval: Approval, vote: Vote) -> str:
    """Binds one person's answer to the very question; made when it is counted, checked when the call starts."""
    return s.keyring.keyed_hash(
        [
            "vote",
            approval.tenant,
            approval.approval_id,
            approval.call_id,
            approval.digest,
            approval.requester,
            approval.expires_us,
            vote.approver,
            vote.verdict,
            list(vote.groups),
            vote.acts_for,
            vote.at_us,
        ]
    )


def _readable(p: Passage, s: Services, arguments: dict[str, Any]) -> dict[str, Any]:
    shown: Any = redactor_of(p, s).value(arguments, p.spec.parameters, names=True)
    return cast("dict[str, Any]", shown) if isinstance(shown, dict) else dict.fromkeys(arguments, MARK)
