"""The control plane's transactions, and the check by which a change of it holds for every effect at once."""

from __future__ import annotations

from ..errors import StoreError
from ..ports import ControlChange, ControlRow
from . import control_statements as statements
from .audit import record
from .tx import Tx

_FIELDS = ControlRow.__struct_fields__


def change_control(tx: Tx, change: ControlChange) -> bool:
    """`ControlStore.change_control`."""
    revisions = {row.revision for row in change.rows}
    if len(revisions) != 1:
        raise StoreError("a change of the control plane needs rows, all of one revision")
    revision = revisions.pop()
    if not tx.change(statements.raise_revision, {"to": revision, "expect": revision - 1}):
        return False
    for row in change.rows:
        tx.write(statements.insert_control, {name: getattr(row, name) for name in _FIELDS})
    record(tx, change.audit)
    return True


def revision(tx: Tx) -> int:
    """`ControlStore.control_revision`."""
    return tx.rows(statements.revision, {})[0][0]


def held_revision(tx: Tx) -> int:
    """The latest, which nobody raises until this transaction has ended."""
    return tx.rows(statements.hold_revision, {})[0][0]


def list_control(tx: Tx, after: int) -> list[ControlRow]:
    """`ControlStore.list_control`."""
    return [_row(row) for row in tx.rows(statements.list_control, {"after": after})]


def control_history(tx: Tx, kind: str | None, name: str | None, limit: int) -> list[ControlRow]:
    """`ControlStore.control_history`."""
    statement = statements.control_history(of_kind=kind is not None, of_name=name is not None)
    return [_row(row) for row in tx.rows(statement, {"kind": kind, "name": name, "limit": limit})]


def _row(row: tuple[object, ...]) -> ControlRow:
    values = dict(zip(_FIELDS, row, strict=True))
    return ControlRow(**{**values, "body": bytes(values["body"])})  # pyright: ignore[reportArgumentType]
