"""`QuotaStore`: what calls take of budgets and rates, and how tools are. Part of `Store`, with the same guarantees."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol

import msgspec

from ..limits import Charge, Counter, Full, Held

HealthState = Literal["closed", "open", "half-open"]


class ReadCharges(msgspec.Struct, frozen=True, kw_only=True):
    """What a call takes that is not in the ledger: a read that nobody is asked about."""

    tenant: str
    call_id: str
    owner: str
    """The process that makes it: what the dead hold is given back."""
    charges: tuple[Charge, ...]
    now_us: int


class HealthRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool version or an upstream was when an engine last said so."""

    tenant: str
    subject: str
    """`tool NAME@VERSION` or `upstream HOST`."""
    owner: str
    """The engine: each looks for itself."""
    state: HealthState
    failures: int
    """In a row."""
    changed_us: int
    retry_us: int | None
    """When a probe may be made."""


class QuotaStore(Protocol):
    """See the module.

    What a call of the ledger has reserved ends with it, in the transaction of the `Move` that ends it: kept if the
    call is `ok` or `Move.spent`, given back if the move releases the key, held while it is `unknown`. Its places are
    free as soon as it is not `running`. For each budget that ends so, an audit row is written.
    """

    def charge_read(self, read: ReadCharges) -> Awaitable[Full | None]:
        """Reserves all charges of a read, or none."""
        ...

    def end_read(self, tenant: str, call_id: str, *, spent: bool) -> Awaitable[None]:
        """Ends a read's charges: its places are free, its budgets kept if it is `spent`. Safe to repeat."""
        ...

    async def open_reads(self, owner: str, *, now_us: int, silent_us: int, limit: int = 100) -> list[tuple[str, str]]:
        """Tenant and call id of reads with open charges: of one process, and of all that are silent for so long."""
        ...

    async def list_counters(self, tenant: str, *, limit: int = 1000) -> list[Counter]:
        """What is used of all limits of a tenant, by limit and scope."""
        ...

    async def held_by(self, tenant: str, call_id: str) -> list[Held]:
        """What an open call has reserved."""
        ...

    def note_health(self, record: HealthRecord) -> Awaitable[None]:
        """Keeps how a subject is, as one engine sees it."""
        ...

    async def list_health(self, tenant: str, *, limit: int = 1000) -> list[HealthRecord]:
        """By subject and engine."""
        ...
