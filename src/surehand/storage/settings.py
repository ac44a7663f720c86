"""The transaction of what all processes must agree on."""

from __future__ import annotations

from . import statements
from .tx import Tx


def remember(tx: Tx, name: str, value: str) -> str:
    """`Store.remember`. Of two processes that insert one name at once, one fails, and its rerun finds the other's."""
    for (kept,) in tx.rows(statements.get_setting, {"name": name}):
        return kept
    tx.write(statements.insert_setting, {"name": name, "value": value})
    return value
