"""`UndoStore`: which call takes another one back. Part of `Store`, with the same guarantees."""

from __future__ import annotations

from typing import Protocol

from ..ledger import CallRecord


class UndoStore(Protocol):
    """See the module."""

    async def undo_of(self, tenant: str, call_id: str) -> CallRecord | None:
        """The newest call that was to take a call back, however it ended."""
        ...
