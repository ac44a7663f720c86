"""What the audit keeps of a call: hashes, decisions and redacted summaries, never raw arguments or results."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ..audit import AuditRow, Kind, audit_row
from ..call import ToolResult
from ..ledger import CallRecord
from ..policy import Ask, Decision
from ..types import Caller, Trust
from .events import redactor_of
from .passage import Edit, Outcome, Passage, storable
from .services import Services, new_id
from .strays import recordable

T = TypeVar("T")


class StoredArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a call, as the ledger keeps them."""

    written: dict[str, Any]
    """As the model wrote them."""
    arguments: dict[str, Any]
    """As validated."""
    final: dict[str, Any]
    """With the injected ones: what ran, or would."""
    caller: Caller
    """Who made the call, where nobody can change it."""
    idempotency_key: str
    """What the handler is given."""
    edit: Edit | None = None
    """What a person made of them; `arguments` and `final` are then theirs."""
    untrusted: bool = False
    """Whether something from outside had been read before the call was asked for."""
    labels: dict[str, Trust] = {}
    """Where each argument came from, if so."""


def trace(p: Passage, s: Services, kind: Kind, **facts: Any) -> AuditRow:
    """One record of a call as far as it has come. `facts` are added, without floats."""
    known: dict[str, Any] = {
        "tool_call_id": storable(p.call.id),
        "name": storable(p.call.name),
        "version": None if p.call.version is None else storable(p.call.version),
        "caller": caller_facts(p.caller),
        "step_index": None if p.run is None else p.run.turn,
        "position": None if p.run is None else p.run.position,
        "run_state": p.caller.run_state,
        "parent_call_id": None if p.parent is None else p.parent.call_id,
        "depth": None if p.parent is None else p.parent.depth,
        "undoes": p.undoes,
        "read_untrusted": p.origin.untrusted or None,
        "untrusted_arguments": sorted(n for n, label in p.labels.items() if label == "untrusted") or None,
        "policy_set": p.world.policies.digest,
        "view_digest": p.view_digest,
        "started_us": p.started_us,
    }
    if p.entry is not None:
        known |= _tool_facts(p, s)
    known |= _beside(p)
    if p.record is not None:
        known |= {
            "key": p.record.key,
            "approval_id": p.record.approval_id,
            "digest": p.record.digest,
            "attempt": p.record.attempt,
        }
    call_id = p.record.call_id if p.record is not None else p.call_id
    return _row(s, kind, p.caller.tenant, call_id, p.run_id, {**known, **facts})


def record_row(
    s: Services, kind: Kind, *, tenant: str, call_id: str | None, run_id: str | None, **facts: Any
) -> AuditRow:
    """A record of something that happened to a call outside its passage, such as a decision about it; or to none."""
    return _row(s, kind, tenant, call_id, run_id, {"policy_set": s.world.policies.digest, **facts})


def undone(s: Services, undo: CallRecord) -> tuple[AuditRow, ...]:
    """The record, with a call that was taken back, of the call that did it; nothing if that takes none back."""
    if undo.undoes is None:
        return ()
    facts = {"undo_call_id": undo.call_id, "by": undo.caller.id}
    return (_row(s, "call.undone", undo.tenant, undo.undoes, None, facts),)


def late(s: Services, row: AuditRow) -> AuditRow:
    """The same record as evidence that came too late to change the call."""
    facts = msgspec.json.decode(row.body)
    return _row(s, "call.late", row.tenant, row.call_id or "", row.run_id, facts)


def caller_facts(caller: Caller) -> dict[str, str]:
    """Who, without roles and scopes: the decision says what those led to."""
    return {"id": caller.id, "agent": caller.agent, "environment": caller.environment}


def decision_facts(decision: Decision) -> dict[str, Any]:
    """A decision in the audit's words."""
    facts: dict[str, Any] = {
        "kind": type(decision).__name__.lower(),
        "policies": list(decision.policies),
        "reasons": list(decision.reasons),
    }
    if isinstance(decision, Ask):
        facts["requirements"] = [[one.policy_id, one.group, one.quorum] for one in decision.requirements]
    if decision.shadow:
        facts["shadow"] = shadow_facts(decision)
    return facts


def shadow_facts(decision: Decision) -> list[dict[str, Any]]:
    """What policies in shadow mode would have changed, in the audit's words."""
    return msgspec.to_builtins(decision.shadow)


def _beside(p: Passage) -> dict[str, Any]:
    """What few calls have."""
    facts: dict[str, Any] = {
        "charges": [[one.limit, one.amount] for one in p.charges],
        "limit": p.refused_by,
        "liberties": list(p.liberties),
        "fallback_for": p.fallback_for,
        "fallback_of": p.fallback_of,
        "cached": p.reused is not None,
        "stale": p.reused is not None and p.reused.stale,
    }
    return {name: value for name, value in facts.items() if value}


def _tool_facts(p: Passage, s: Services) -> dict[str, Any]:
    spec = p.spec
    schema = spec.parameters
    return {
        "name": spec.name,
        "version": spec.version,
        "contract_hash": spec.contract_hash,
        "binding_hash": spec.binding_hash,
        "arguments": redactor_of(p, s).summary(recordable(p.arguments, spec, s.redactor), schema),
        "args_hash": p.args_hash or s.keyring.keyed_hash(p.arguments),
        "coercions": [[c.path, *c.kinds] for c in p.coercions],
        "decision": None if p.decision is None else decision_facts(p.decision),
    }


def _row(
    s: Services, kind: Kind, tenant: str, call_id: str | None, run_id: str | None, facts: dict[str, Any]
) -> AuditRow:
    return audit_row(
        row_id=new_id("rec"),
        tenant=tenant,
        kind=kind,
        call_id=call_id,
        run_id=run_id,
        at_us=s.clock.now_us(),
        facts=facts,
    )


def seal_json(s: Services, value: Any, *, tenant: str, call_id: str, what: str) -> bytes:
    """Encodes and seals one part of a call for the ledger; it opens only in that place."""
    return s.keyring.seal(msgspec.json.encode(value), context=_context(tenant, call_id, what))


def unseal_json(s: Services, sealed: bytes, kind: type[T], *, tenant: str, call_id: str, what: str) -> T:
    """What `seal_json` sealed.

    Raises:
        StoreError: It was not sealed for this place, or was changed.
    """
    return msgspec.json.decode(s.keyring.unseal(sealed, context=_context(tenant, call_id, what)), type=kind)


def stored_result(s: Services, record: CallRecord) -> ToolResult:
    """The result that was given for a call."""
    assert record.result is not None
    return unseal_json(s, record.result, ToolResult, tenant=record.tenant, call_id=record.call_id, what="result")


def stored_outcome(s: Services, record: CallRecord) -> Outcome:
    """How the handler of a call ended."""
    assert record.outcome is not None
    return unseal_json(s, record.outcome, Outcome, tenant=record.tenant, call_id=record.call_id, what="outcome")


def stored_arguments(s: Services, record: CallRecord) -> StoredArguments:
    """The arguments of a call."""
    return unseal_json(
        s, record.arguments, StoredArguments, tenant=record.tenant, call_id=record.call_id, what="arguments"
    )


def _context(tenant: str, call_id: str, what: str) -> str:
    return f"{what}:{call_id}:{tenant}"
