"""One audit record: what is kept of one step of one call, as bytes that are hashed as they are."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from ..spec.hashes import canonical_json

Kind = Literal[
    "call.waiting",
    "call.started",
    "call.settled",
    "call.finished",
    "call.refused",
    "call.replayed",
    "call.late",
    "call.recovered",
    "call.resolved",
    "call.nested",
    "call.undone",
    "approval.decided",
    "approval.edited",
    "approval.ended",
    "approval.reminded",
    "approval.escalated",
    "approval.delegated",
    "grant.given",
    "grant.used",
    "grant.revoked",
    "budget.settled",
    "budget.released",
    "limit.refused",
    "tool.health",
    "control.asked",
    "control.decided",
    "control.changed",
]
"""Which step: a question was asked, the intent before an effect, the raw outcome, the result as given, a call
that never ran, a stored result given again, a completion after its deadline, the work of a dead process found,
an unknown outcome settled by evidence, a call that the handler made, another call that took this one back; a
person's answer, other arguments that a person wrote, an approval that ended without an answer, one that nobody
decides told again, or given to a second group; a deputy named or dismissed; a standing answer that was given, lifted a
question, or was taken back; what a call reserved of a budget was used or given back, an approved call had to wait for
a limit; a tool or its upstream went down or came back; a change of the control plane that needs a second person, that
person's answer, and a change as made: those are of no call."""


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it is stored. The columns repeat what the body says, so that it can be searched."""

    row_id: str
    """A uuid7: sorts by time."""
    tenant: str
    kind: Kind
    call_id: str | None
    run_id: str | None
    at_us: int
    body: bytes
    """Canonical JSON."""
    digest: str
    """sha256 of the body."""
    seq: int | None = None
    """Place in the tenant's chain, from 1; `None` until it is sealed."""
    chain: str | None = None
    """Hash of this row and all before it."""


def audit_row(
    *, row_id: str, tenant: str, kind: Kind, call_id: str | None, run_id: str | None, at_us: int, facts: dict[str, Any]
) -> AuditRow:
    """Encodes one record. `facts` holds JSON values without floats; hashes and summaries, never raw arguments."""
    body = canonical_json(
        {
            **facts,
            "row_id": row_id,
            "tenant": tenant,
            "kind": kind,
            "call_id": call_id,
            "run_id": run_id,
            "at_us": at_us,
        }
    )
    return AuditRow(
        row_id=row_id,
        tenant=tenant,
        kind=kind,
        call_id=call_id,
        run_id=run_id,
        at_us=at_us,
        body=body,
        digest=hashlib.sha256(body).hexdigest(),
    )


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A signed statement that a tenant's chain had this hash at this length."""

    tenant: str
    seq: int
    chain: str
    at_us: int
    key_id: str
    signature: str
    """Ed25519 over the other fields, in hex."""
