"""What a call means when its effect is already known: decided purely, acted on elsewhere."""

from __future__ import annotations

from typing import Literal

from ..call import Status
from .record import CallRecord

Meaning = Literal["replay", "duplicate", "pending", "unknown", "conflict"]
"""Of an existing call for a new one.

`replay`: it is finished, its result answers. `duplicate`: it is running. `pending`: a person is being asked,
or has said yes and nobody resumed it yet. `unknown`: nobody knows yet whether the effect happened.
`conflict`: same key, other arguments.
"""

HOLDS_KEY: frozenset[Status] = frozenset({"waiting", "ready", "running", "ok", "unknown"})
"""States in which a call keeps its key. In the others no effect happened, so the key is free again."""


def meaning(existing: CallRecord, *, args_hash: str, owner_alive: bool) -> Meaning:
    """What `existing`, found under the same key or as an open unknown, means for a call with `args_hash`."""
    if existing.args_hash != args_hash:
        return "conflict"
    if existing.status in ("waiting", "ready"):
        return "pending"
    if existing.status == "running":
        return "duplicate" if owner_alive else "unknown"
    if existing.status == "unknown":
        return "unknown"
    return "replay"
