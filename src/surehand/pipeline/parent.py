"""`Parent`: whose handler made a call, and what that lets it do."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """Calls that are left to the handlers below one call, all of them together."""

    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The call whose handler made another one. All but the first four hold while that handler runs."""

    call_id: str
    depth: int
    """Of the call that was made: 1 below a call that no handler made."""
    position: int
    """Of the call among those of its parent's handler, from 0."""
    run_id: str | None = None
    key: str = ""
    """The parent's idempotency key: the same whenever its handler runs again for the same effect."""
    key_retention_s: float = math.inf
    """A parent that may have its effect anew must find its children's effects new too."""
    calls: frozenset[str] | None = None
    """What the parent's contract lets it call; `None` once a person has said yes to the very call."""
    read_only: bool = False
    above: tuple[str, ...] = ()
    """Names of the tools whose handlers run above the call, outermost first."""
    budget: Budget | None = None
    lent: asyncio.Semaphore | None = field(default=None, compare=False)
    """The parent's place among the handlers that run at once."""
