"""The audit's transactions: append, seal, read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ..audit import AuditRow, Checkpoint
from . import statements
from .rows import audit_record, audit_values, checkpoint_record, checkpoint_values
from .tx import Tx


def record(tx: Tx, rows: Sequence[AuditRow]) -> None:
    """`Store.record`, and the audit of every other change."""
    for row in rows:
        tx.write(statements.insert_audit, audit_values(row))


def seal(
    tx: Tx, tenant: str, link: Callable[[str, int, str], str], sign: Callable[[int, str], Checkpoint], limit: int
) -> Checkpoint | None:
    """`Store.seal`. The chain's head is locked before the rows are read, so a second sealer finds them sealed."""
    of = {"tenant": tenant, "limit": limit}
    if not tx.rows(statements.some_unsealed, {"tenant": tenant, "limit": 1}):
        return None
    head = tx.rows(statements.lock_head, of)
    if not head:
        tx.write(statements.insert_head, {"tenant": tenant, "seq": 0, "chain": ""})
    seq, chain = head[0] if head else (0, "")
    rows = [audit_record(row) for row in tx.rows(statements.some_unsealed, of)]
    if not rows:
        return None
    for row in rows:
        seq += 1
        chain = link(chain, seq, row.digest)
        values = {"of_tenant": tenant, "of_row": row.row_id, "new_seq": seq, "new_chain": chain}
        tx.write(statements.seal_row, values)
    checkpoint = sign(seq, chain)
    tx.write(statements.move_head, {"of_tenant": tenant, "new_seq": seq, "new_chain": chain})
    tx.write(statements.insert_checkpoint, checkpoint_values(checkpoint))
    return checkpoint


def list_audit(
    tx: Tx, tenant: str, call_id: str | None, after_seq: int | None, order: Literal["time", "chain"], limit: int
) -> list[AuditRow]:
    """`Store.list_audit`."""
    if order == "chain":
        statement = statements.audit_chain if call_id is None else statements.audit_chain_of_call
    else:
        statement = statements.audit_newest if call_id is None else statements.audit_of_call
    values = {"tenant": tenant, "call_id": call_id, "after_seq": after_seq or 0, "limit": limit}
    return [audit_record(row) for row in tx.rows(statement, values)]


def unsealed(tx: Tx, tenant: str) -> list[AuditRow]:
    """`Store.unsealed`."""
    return [audit_record(row) for row in tx.rows(statements.unsealed, {"tenant": tenant})]


def tenants(tx: Tx, unsealed_only: bool) -> list[str]:
    """`Store.tenants`."""
    found: set[str] = {row[0] for row in tx.rows(statements.tenants_unsealed, {})}
    if not unsealed_only:
        found.update(row[0] for row in tx.rows(statements.tenants_sealed, {}))
    return sorted(found)


def checkpoints(tx: Tx, tenant: str, after_seq: int) -> list[Checkpoint]:
    """`Store.checkpoints`."""
    given = {"tenant": tenant, "after_seq": after_seq}
    return [checkpoint_record(row) for row in tx.rows(statements.list_checkpoints, given)]
