"""The transactions of `ApprovalStore`: edits, deputies, and what was told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ..approval import Approval
from ..audit import AuditRow
from ..limits import Full
from ..ports import Delegation, Due, Existing, Revision
from . import revision_statements, statements
from .approvals import listed
from .audit import record
from .ledger import existing, let_go
from .quotas import room, take
from .rows import approval_record, approval_values, call_record, call_values, vote_values
from .tx import LostRaceError, Tx


def revise(tx: Tx, revision: Revision) -> Existing | Full | bool:
    """`ApprovalStore.revise`. Everything is checked, under the question's lock, before anything is written."""
    call, of = revision.record, {"tenant": revision.record.tenant, "approval_id": revision.approval_id}
    found = tx.rows(statements.lock_approval, of)
    if not found or not _is_open(approval_record((found[0], [])), revision):
        return False
    values = {**call_values(call), "now_us": revision.now_us}
    query = statements.find_unknown if call.key is None else statements.find_existing
    holder: str | None = None
    for row in tx.rows(query, values):
        other = call_record(row)
        if row[-1]:
            holder = other.call_id
        if other.call_id != call.call_id and not (row[-1] and let_go(other, call, revision.now_us)):
            return existing(row)
    taken = room(tx, call.tenant, call.call_id, revision.charges) if revision.charges else []
    if isinstance(taken, Full):
        return taken
    changes = {f"new_{name}": values[name] for name in revision_statements.REVISED}
    where = {"of_tenant": call.tenant, "of_call": call.call_id, "of_approval": revision.approval_id}
    if not tx.change(revision_statements.revise_call, {**changes, **where}):
        return False
    take(tx, call.tenant, call.call_id, taken)
    _take_key(tx, revision, holder)
    set_to = {"of_tenant": call.tenant, "of_approval": revision.approval_id, "to": "edited", "at": revision.now_us}
    tx.write(statements.set_approval, set_to)
    approval = revision.approval
    tx.write(statements.insert_approval, approval_values(approval))
    for position, vote in enumerate(approval.votes):
        tx.write(statements.insert_vote, vote_values(call.tenant, approval.approval_id, position, vote))
    record(tx, revision.audit)
    return True


def _is_open(approval: Approval, revision: Revision) -> bool:
    return (
        approval.call_id == revision.record.call_id
        and approval.status == "open"
        and approval.digest == revision.digest
        and revision.now_us < approval.expires_us
    )


def _take_key(tx: Tx, revision: Revision, holder: str | None) -> None:
    call = revision.record
    if call.key is None or holder == call.call_id:
        return
    if holder is None:
        tx.write(statements.insert_key, call_values(call))
        return
    values = {"of_tenant": call.tenant, "of_name": call.name, "of_key": call.key}
    if not tx.change(statements.take_key, {**values, "call_id": call.call_id, "held_by": holder}):
        raise LostRaceError("the key moved to another call")


def delegate(tx: Tx, delegation: Delegation, audit: Sequence[AuditRow], most: int) -> bool:
    """`ApprovalStore.delegate`."""
    values = msgspec.structs.asdict(delegation)
    tx.write(revision_statements.forget_delegations, {"tenant": delegation.tenant, "now_us": delegation.created_us})
    ((count,),) = tx.rows(revision_statements.count_delegations, values)
    if count >= most:
        return False
    tx.write(revision_statements.insert_delegation, values)
    record(tx, audit)
    return True


def undelegate(tx: Tx, tenant: str, delegation_id: str, principal: str, audit: Sequence[AuditRow]) -> bool:
    """`ApprovalStore.undelegate`."""
    one = {"tenant": tenant, "delegation_id": delegation_id, "principal": principal}
    if not tx.change(revision_statements.end_delegation, one):
        return False
    record(tx, audit)
    return True


def list_delegations(
    tx: Tx, tenant: str, person: str, side: Literal["principal", "deputy"], now_us: int, limit: int
) -> list[Delegation]:
    """`ApprovalStore.list_delegations`."""
    values = {"tenant": tenant, "now_us": now_us, "person": person, "limit": limit}
    rows = tx.rows(revision_statements.list_delegations(side), values)
    return [Delegation(**dict(zip(Delegation.__struct_fields__, row, strict=True))) for row in rows]


def due_approvals(tx: Tx, due: Due, before_us: int, limit: int) -> list[Approval]:
    """`ApprovalStore.due_approvals`."""
    return listed(tx, statements.due_approvals, {"due": due, "before_us": before_us}, limit)


def note_due(tx: Tx, tenant: str, approval_id: str, due: Due, at_us: int, audit: Sequence[AuditRow]) -> bool:
    """`ApprovalStore.note_due`. Whoever holds the question's lock is the only one who tells."""
    of = {"tenant": tenant, "approval_id": approval_id, "due": due, "at_us": at_us}
    found = tx.rows(statements.lock_approval_status, of)
    if not found or found[0][1] != "open" or tx.rows(revision_statements.find_reminder, of):
        return False
    tx.write(revision_statements.insert_reminder, of)
    record(tx, audit)
    return True
