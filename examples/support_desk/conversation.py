"""The conversation on the screen: what is said as it streams, and each call inline as it is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import surehand as sh
from surehand.testing import ScriptedModel

from .screen import Screen
from .story import Written

REFUSED_AT = {
    "TOOL_NOT_FOUND": "1 resolve",
    "ARGUMENTS_NOT_JSON": "2 parse",
    "ARGUMENTS_TRUNCATED": "2 parse",
    "HOOK_BLOCKED": "before",
    "TOOL_ARGUMENT_INVALID": "3 validate",
    "POLICY_DENIED": "5 authorize",
    "IDEMPOTENCY_CONFLICT": "6 claim",
    "TOOL_DUPLICATE_REQUEST": "6 claim",
    "APPROVAL_REJECTED": "7 start",
    "APPROVAL_STALE": "7 start",
}
"""The stage that gives up with a code; the others are told by what went before."""
COLOURS = {
    "allow": "green", "deny": "red", "ask": "yellow", "ok": "green", "error": "red", "denied": "red",
    "unknown": "magenta", "cancelled": "magenta",
}  # fmt: skip
SHOWN_CHARS = 300


class Conversation:
    """Shows the events of a run.

    Args:
        screen: Where.
        model: Whose requests hold what it read. Events do not: they may be seen by more people than results.
        written: For each turn, the calls as the model wrote them.
        agent: The model's name on the screen.
    """

    def __init__(self, screen: Screen, model: ScriptedModel, written: Sequence[Sequence[Written]], agent: str) -> None:
        self.screen = screen
        self._model = model
        self._written = written
        self._agent = agent
        self._turn = -1
        self._decided: set[str] = set()
        self._waits: set[str] = set()

    def show(self, event: sh.RunEvent) -> None:
        """One thing that happened."""
        data = event.data
        match event.kind:
            case "text":
                self._text(event.turn, data["text"])
            case "turn.finished":
                self._asked(event.turn)
            case "call.proposed":
                self._stage(data, "1 resolve", "found", f"{data['name']}@{data['version']}")
            case "call.decided":
                self._decision(data)
            case "call.waiting":
                self._waiting(data)
            case "call.started":
                self._stage(data, "7 start", "recorded", data["display"])
            case "call.finished":
                self._finished(data)
            case "run.waiting":
                count = len(data["approvals"])
                self.screen.title(f"The run waits for people to decide {count} call{'' if count == 1 else 's'}")
            case "run.ended":
                self.screen.title(f"The run ended: {data['reason']} {data['why']}".rstrip())
            case _:
                pass

    def _text(self, turn: int, piece: str) -> None:
        if turn != self._turn:
            self._turn = turn
            for call_id, content in results_in(self._model.requests[turn]):
                self.screen.say(f"{call_id}  {self._agent} reads:", "dim", indent=2)
                shown = content if len(content) <= SHOWN_CHARS else content[:SHOWN_CHARS] + " ..."
                self.screen.say(shown, "dim", indent=12)
            self.screen.title(self._agent)
        self.screen.stream(piece)

    def _asked(self, turn: int) -> None:
        self.screen.end_stream()
        for position, call in enumerate(self._written[turn], 1):
            self.screen.call(f"call_{turn + 1}_{position}", call)

    def _decision(self, data: Mapping[str, Any]) -> None:
        self._decided.add(data["tool_call_id"])
        said, reasons = data["decision"], "; ".join(data["reasons"])
        because = "" if said == "allow" or not reasons else f": {reasons}"
        self._stage(data, "5 authorize", said, f"by {', '.join(data['policies'])}{because}", COLOURS[said])

    def _waiting(self, data: Mapping[str, Any]) -> None:
        """Told again each time that somebody looks whether it still waits; shown once."""
        if data["approval_id"] not in self._waits:
            self._waits.add(data["approval_id"])
            self._stage(data, "6 claim", "waiting", f"{data['display']} ({data['approval_id']})", "yellow")

    def _finished(self, data: Mapping[str, Any]) -> None:
        status, code = data["status"], data["code"]
        if data["replayed"]:
            self._stage(data, "6 claim", "replay", "the stored result, nothing runs", "blue")
        elif code is None:
            self._stage(data, "10 shape", status, data["display"], COLOURS.get(status, ""))
        else:
            ran = "8 execute" if data["tool_call_id"] in self._decided else "4 enrich"
            self._stage(data, REFUSED_AT.get(code, ran), status, code, COLOURS.get(status, ""))

    def _stage(self, data: Mapping[str, Any], stage: str, what: str, detail: str, style: str = "") -> None:
        self.screen.stage(data["tool_call_id"], stage, what, detail, style)


def results_in(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The results that a request to the model ends with: the call's id, and what the model reads."""
    last = list(takewhile(lambda message: message["role"] == "tool", reversed(request["messages"])))
    return [(message["tool_call_id"], str(message["content"])) for message in reversed(last)]
