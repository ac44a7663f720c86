"""The approvals' transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from ..approval import Approval, ApprovalStatus, Refused
from ..ports import Ballot
from . import statements
from .audit import record
from .ledger import move
from .rows import ApprovalRows, all_readable, approval_record, approvals_apart, vote_values
from .tx import Statement, Tx, Values

STATUSES: tuple[ApprovalStatus, ...] = get_args(ApprovalStatus)


def vote(
    tx: Tx, tenant: str, approval_id: str, decide: Callable[[Approval], Ballot | Refused]
) -> Ballot | Refused | None:
    """`Store.vote`.

    The votes are read by a second statement, after the lock: PostgreSQL reads a statement's other rows as they
    were before it waited, and a vote counted meanwhile would be missed.
    """
    of = {"tenant": tenant, "approval_id": approval_id}
    found = tx.rows(statements.lock_approval, of)
    if not found:
        return None
    approval = approval_record((found[0], tx.rows(statements.votes_of, of)))
    ballot = decide(approval)
    if isinstance(ballot, Refused):
        return ballot
    if ballot.move is not None and not move(tx, ballot.move):
        return Refused(code="already_decided", message=f"the call of approval {approval_id} waits no longer")
    counted = ballot.counted
    tx.write(statements.insert_vote, vote_values(tenant, approval_id, len(approval.votes), counted.vote))
    if counted.status != "open":
        values = {"of_tenant": tenant, "of_approval": approval_id, "to": counted.status, "at": counted.vote.at_us}
        tx.write(statements.set_approval, values)
    record(tx, ballot.audit)
    return ballot


def get_approval(tx: Tx, tenant: str, approval_id: str) -> Approval | None:
    """`Store.get_approval`."""
    found = approvals_apart(tx.rows(statements.get_approval, {"tenant": tenant, "approval_id": approval_id}))
    return approval_record(found[0]) if found else None


def list_approvals(tx: Tx, tenant: str, statuses: Sequence[ApprovalStatus], limit: int) -> list[Approval]:
    """`Store.list_approvals`."""
    wanted = sorted(set(statuses or STATUSES))
    values = {"tenant": tenant, **statements.any_of("status", wanted)}
    return listed(tx, statements.list_approvals(len(wanted)), values, limit)


def expired_approvals(tx: Tx, now_us: int, limit: int) -> list[Approval]:
    """`Store.expired_approvals`."""
    return listed(tx, statements.expired_approvals, {"now_us": now_us}, limit)


def listed(tx: Tx, statement: Statement, values: Values, limit: int) -> list[Approval]:
    """Approvals with their votes, of any statement made by `with_votes`."""

    def fetch(most: int) -> list[ApprovalRows]:
        return approvals_apart(tx.rows(statement, {**values, "limit": most}))

    return all_readable(approval_record, fetch, limit)


def count_open_approvals(tx: Tx, tenant: str) -> int:
    """`Store.count_open_approvals`."""
    ((count,),) = tx.rows(statements.count_open_approvals, {"tenant": tenant})
    return count
