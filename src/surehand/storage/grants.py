"""The grants' transactions."""

from __future__ import annotations

from collections.abc import Sequence

from ..approval import Grant
from ..audit import AuditRow
from ..ports import Claim
from . import grants_statements as statements
from .audit import record
from .rows import all_readable, grant_record, grant_values
from .tx import Statement, Tx, Values


def lock_usable(tx: Tx, claim: Claim, grants: Sequence[str]) -> bool:
    """Whether each of them can be used for a call. All are locked, in one order for everybody; none is changed."""
    record_ = claim.record
    of = {"tenant": record_.tenant, "name": record_.name, "args_hash": record_.args_hash}
    if tx.rows(statements.rejected, {**of, "requester": record_.caller.id, "limit": 1}):
        return False
    values = {"tenant": record_.tenant, "now_us": claim.now_us}
    return all(tx.rows(statements.lock_usable, {**values, "grant_id": one}) for one in sorted(set(grants)))


def use(tx: Tx, tenant: str, grants: Sequence[str]) -> None:
    """Uses each of them once."""
    for grant_id in sorted(set(grants)):
        tx.write(statements.use, {"of_tenant": tenant, "of_grant": grant_id})


def add_grant(tx: Tx, grant: Grant, most: int, audit: AuditRow) -> bool:
    """`GrantStore.add_grant`."""
    ((count,),) = tx.rows(statements.count_open, {"tenant": grant.tenant, "now_us": grant.created_us})
    if count >= most:
        return False
    tx.write(statements.insert_grant, grant_values(grant))
    record(tx, (audit,))
    return True


def revoke_grant(tx: Tx, tenant: str, grant_id: str, by: str, now_us: int, audit: AuditRow) -> bool:
    """`GrantStore.revoke_grant`."""
    if not tx.change(statements.revoke, {"of_tenant": tenant, "of_grant": grant_id, "by": by, "at": now_us}):
        return False
    record(tx, (audit,))
    return True


def get_grant(tx: Tx, tenant: str, grant_id: str) -> Grant | None:
    """`GrantStore.get_grant`."""
    found = tx.rows(statements.get_grant, {"tenant": tenant, "grant_id": grant_id})
    return grant_record(found[0]) if found else None


def list_grants(tx: Tx, tenant: str, limit: int) -> list[Grant]:
    """`GrantStore.list_grants`."""
    return _list(tx, statements.list_grants, {"tenant": tenant}, limit)


def open_grants(tx: Tx, tenant: str, caller: str, name: str, version: str, now_us: int, limit: int) -> list[Grant]:
    """`GrantStore.open_grants`."""
    values = {"tenant": tenant, "caller": caller, "name": name, "version": version, "now_us": now_us}
    return _list(tx, statements.open_grants, values, limit)


def _list(tx: Tx, statement: Statement, values: Values, limit: int) -> list[Grant]:
    return all_readable(grant_record, lambda most: tx.rows(statement, {**values, "limit": most}), limit)
