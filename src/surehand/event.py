"""What happens, as it happens: one stream of events that user interfaces and telemetry listen to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

EventKind = Literal[
    "call.proposed",
    "call.decided",
    "call.waiting",
    "call.started",
    "call.progress",
    "call.finished",
    "call.undone",
    "approval.decided",
    "approval.edited",
    "approval.reminder",
    "approval.escalated",
    "grant.given",
    "grant.used",
    "grant.revoked",
    "limit.reserved",
    "limit.refused",
    "tool.health",
    "control.asked",
    "control.changed",
    "engine.problem",
]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. Serialisable; holds redacted text only."""

    kind: EventKind
    at_us: int
    tenant: str = ""
    call_id: str = ""
    tool_call_id: str = ""
    name: str = ""
    run_id: str = ""
    position: int = 0
    """Of the call in its turn, if it belongs to a run."""
    parent_call_id: str = ""
    """The call whose handler made this one, if one did."""
    data: dict[str, Any] = {}


Sink: TypeAlias = Callable[[Event], None]
"""Called in the event loop's thread, in order. Must not block; what it raises is dropped."""
