"""How sources of tools are: told by whoever keeps them, shown by the engine."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

SourceState: TypeAlias = Literal["connecting", "ready", "unavailable", "closed"]


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How one source is."""

    name: str
    kind: str
    state: SourceState = "connecting"
    why: str = ""
    """Why it is unavailable."""
    offered: tuple[str, ...] = ()
    """`name@version` of what it offers now."""
    waiting: tuple[str, ...] = ()
    """`name@version` of definitions that nobody has approved yet: they are in no view."""
    notes: tuple[str, ...] = ()
    """What it offers that could not be taken, and why."""
    since_us: int = 0
    """When the state began."""
