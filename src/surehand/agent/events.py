"""`RunEvent`: what happens in a run, as it happens, for user interfaces; and again later, from the store."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

RunEventKind = Literal[
    "run.started",
    "run.resumed",
    "turn.started",
    "text",
    "call.named",
    "turn.retry",
    "turn.finished",
    "call.proposed",
    "call.decided",
    "call.waiting",
    "call.started",
    "call.progress",
    "call.finished",
    "tool.narrowed",
    "run.waiting",
    "run.ended",
]
"""`text`: a piece of the model's text. `call.named`: the model began a call; nothing is decided. `turn.retry`: the
model is asked again, text of this turn so far is void. `turn.finished`: the answer is stored. `tool.narrowed`: a tool
left the view of the run. `call.*`: as the events of the engine."""


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event. `data` holds JSON values without secrets."""

    run_id: str
    seq: int
    """Rises through the run, over resumptions too; pieces of text that were stored together keep the last one's."""
    turn: int
    kind: RunEventKind
    at_us: int
    data: dict[str, Any] = {}
