"""`ControlStore`: what all processes know of tools, policies and switches. Part of `Store`, with the same guarantees.

It is a log with one revision that only rises. Of each `(tenant, kind, name)` the newest row holds; older ones are its
history. A claim or a start may carry the revision that it was decided with: it is refused if that is not the latest,
so a change holds for every effect, on every machine, as soon as it is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

import msgspec

from ..audit import AuditRow


class ControlRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one change made of one thing."""

    tenant: str
    """Whose; empty for all."""
    kind: str
    """Such as `version`, `alias`, `kill`, `policies`."""
    name: str
    """Unique within its tenant and kind."""
    revision: int
    """From 1."""
    body: bytes
    """Sealed."""
    at_us: int
    by: str
    """Who did it, as `tenant/id`."""


class ControlChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change: applies as a whole, or not at all."""

    rows: tuple[ControlRow, ...]
    """At least one. All are of one revision, the one after the latest: that is the condition."""
    audit: tuple[AuditRow, ...] = ()


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A claim was refused: what it was decided with does not hold any more."""

    revision: int
    """The latest."""


class ControlStore(Protocol):
    """See the module."""

    def change_control(self, change: ControlChange) -> Awaitable[bool]:
        """`False`: the rows' revision is not the one after the latest, and nothing was written.

        Raises:
            StoreError: The rows are none, or of several revisions.
        """
        ...

    async def control_revision(self) -> int:
        """The latest; 0 if nothing was ever changed."""
        ...

    async def list_control(self, *, after: int = 0) -> list[ControlRow]:
        """Of everything that changed after a revision, the newest row, oldest first."""
        ...

    async def control_history(
        self, *, kind: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[ControlRow]:
        """Newest first; all, or of one kind, or of one name of a kind (of whichever tenant)."""
        ...
