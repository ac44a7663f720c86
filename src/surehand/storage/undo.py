"""Which call takes another one back."""

from __future__ import annotations

from sqlalchemy import Text, bindparam, select

from ..ledger import CallRecord
from .rows import call_record
from .tables import calls
from .tx import Statement, Tx

_undo_of = Statement(
    select(*calls.c)
    .where(calls.c.tenant == bindparam("tenant", type_=Text), calls.c.undoes == bindparam("undoes", type_=Text))
    .order_by(calls.c.created_us.desc(), calls.c.call_id.desc())
    .limit(1)
)


def undo_of(tx: Tx, tenant: str, call_id: str) -> CallRecord | None:
    """`UndoStore.undo_of`."""
    found = tx.rows(_undo_of, {"tenant": tenant, "undoes": call_id})
    return call_record(found[0]) if found else None
