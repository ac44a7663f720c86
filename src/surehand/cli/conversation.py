"""A run as people read it: what the model says as it comes, and what becomes of each of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from ..redact import visible
from .printer import STYLES, Printer, Style

if TYPE_CHECKING:
    from ..agent import RunEvent

_DECISIONS: dict[str, Style] = {"allow": "green", "ask": "yellow", "deny": "red"}


class Conversation:
    """Prints the events of a run. The model's text is indented, so that no line of it passes for one of ours.

    Args:
        out: For lines of ours.
        stream: Where `out` writes, for text that has no line of its own yet.
    """

    def __init__(self, out: Printer, stream: TextIO) -> None:
        self._out = out
        self._stream = stream
        self._within = False
        """Whether a line of the model's text is not ended yet."""
        self._waits: set[str] = set()
        """Calls that were told to wait: looking again whether they do is no news."""
        self._asks: dict[str, RunEvent] = {}
        """Decisions to ask that are not shown yet: an approved call is decided so again, and nobody is asked."""
        self._started: set[str] = set()
        """Calls whose display text was shown. One that only reads is not told to start."""

    def show(self, event: RunEvent) -> None:
        """One thing that happened. What nobody needs to read is left out."""
        if event.kind == "text":
            self._text(event.data["text"])
            return
        if event.kind.startswith("call.") and event.kind != "call.named":
            self._call(event)
            return
        line = _line(event)
        if line:
            self.end_text()
            self._out.line(line, "dim" if event.kind in ("run.started", "run.resumed", "turn.started") else "yellow")

    def say(self, text: str) -> None:
        """A line of ours between the events."""
        self.end_text()
        self._out.line(text, "yellow")

    def end_text(self) -> None:
        """Ends a line that the model did not."""
        if self._within:
            self._stream.write("\n")
            self._within = False
        self._stream.flush()

    def _text(self, piece: str) -> None:
        for number, part in enumerate(visible(piece).split("\n")):
            if number:
                self._stream.write("\n")
                self._within = False
            if part:
                self._stream.write(part if self._within else f"  {part}")
                self._within = True
        self._stream.flush()

    def _call(self, event: RunEvent) -> None:
        data, call_id = event.data, str(event.data["call_id"])
        again = call_id in self._waits
        if event.kind == "call.decided" and str(data["decision"]) == "ask" and not again:
            self._asks[call_id] = event
            return
        asked = self._asks.pop(call_id, None)
        if asked is not None and event.kind == "call.waiting":
            self._tell(asked, *_of_call(asked.kind, asked.data))
        if event.kind == "call.waiting":
            self._waits.add(call_id)
        elif event.kind in ("call.started", "call.finished"):
            self._waits.discard(call_id)
        if again and event.kind in ("call.proposed", "call.decided", "call.waiting"):
            return
        what, style = _of_call(event.kind, data)
        if event.kind == "call.started":
            self._started.add(call_id)
        elif event.kind == "call.finished" and call_id not in self._started and data["display"] != data["name"]:
            what = f"{data['display']}: {what}"
        if what:
            self._tell(event, what, style)

    def _tell(self, event: RunEvent, what: str, style: Style) -> None:
        self.end_text()
        self._out.line(f"call {event.turn + 1}.{event.data['position'] + 1} {event.data['name']}: {what}", style)


def _line(event: RunEvent) -> str:
    data = event.data
    match event.kind:
        case "run.started" | "run.resumed":
            return f"run {event.run_id}: {event.kind.removeprefix('run.')} with {data.get('model', '')}"
        case "turn.started":
            return f"turn {event.turn + 1}"
        case "turn.retry":
            return f"turn {event.turn + 1}: asked again, since {data['why']}; what it said so far is void"
        case "tool.narrowed":
            return f"tool {data['name']}: left the view of this run: {data['why']}"
        case "run.waiting":
            count = len(data["calls"])
            return f"run {event.run_id}: waits for people to decide {count} call{'s'[: count != 1]}"
        case _:
            return ""


def _of_call(kind: str, data: dict[str, Any]) -> tuple[str, Style]:
    match kind:
        case "call.decided":
            return _decision(data), _DECISIONS.get(str(data["decision"]), "")
        case "call.waiting":
            approval = data["approval_id"]
            return f"waits for approval {approval}" if approval else "still runs elsewhere", "yellow"
        case "call.started":
            return str(data["display"]), ""
        case "call.progress":
            return str(data["text"]), "dim"
        case "call.finished":
            code = f", {data['code']}" if data["code"] else ""
            replayed = ", the stored result of an earlier identical call" if data["replayed"] else ""
            return f"{data['status']}{code}{replayed}", STYLES.get(data["status"], "")
        case _:
            return "", ""


def _decision(data: dict[str, Any]) -> str:
    groups = f" {' and '.join(dict.fromkeys(data['groups']))}" if data["groups"] else ""
    policies = f" by {', '.join(data['policies'])}" if data["policies"] else ""
    reasons = f": {'; '.join(data['reasons'])}" if data["reasons"] else ""
    return f"{data['decision']!s}{groups}{policies}{reasons}"
