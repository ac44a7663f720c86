"""`GrantStore`: what is kept of standing answers. Part of `Store`, with the same guarantees.

A grant is used by `Store.claim_within`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

import msgspec

from ..approval import Grant
from ..audit import AuditRow


class NotLifted(msgspec.Struct, frozen=True, kw_only=True):
    """The grants of a claim do not lift its question any more; nothing was written."""


class GrantStore(Protocol):
    """See the module."""

    def add_grant(self, grant: Grant, *, most: int, audit: AuditRow) -> Awaitable[bool]:
        """`False`: the tenant has `most` grants already that are open when this one is made; nothing was written."""
        ...

    def revoke_grant(self, tenant: str, grant_id: str, *, by: str, now_us: int, audit: AuditRow) -> Awaitable[bool]:
        """Ends one that was not revoked before; `False` if there is none."""
        ...

    async def get_grant(self, tenant: str, grant_id: str) -> Grant | None:
        """One grant."""
        ...

    async def list_grants(self, tenant: str, *, limit: int = 100) -> list[Grant]:
        """Newest first, by their ids, which sort by time; whatever became of them."""
        ...

    async def open_grants(
        self, tenant: str, caller: str, name: str, version: str, *, now_us: int, limit: int = 100
    ) -> list[Grant]:
        """Those of one caller and one version of a tool that can be used now; first those that expire first."""
        ...
