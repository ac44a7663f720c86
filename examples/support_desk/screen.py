"""What the demo prints: each decision as it happens, the question to the approver, and the books at the end."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

import surehand as sh

from .story import Planned, RefundRow, Turn

REFUSED_AT = {
    "TOOL_NOT_FOUND": "1 resolve",
    "ARGUMENTS_NOT_JSON": "2 parse",
    "ARGUMENTS_TRUNCATED": "2 parse",
    "HOOK_BLOCKED": "before",
    "TOOL_ARGUMENT_INVALID": "3 validate",
    "POLICY_DENIED": "5 authorize",
    "IDEMPOTENCY_CONFLICT": "6 claim",
    "TOOL_DUPLICATE_REQUEST": "6 claim",
    "APPROVAL_STALE": "7 start",
}
"""The stage that gives up with a code; the others are told by what went before."""
COLOURS = {
    "Allow": "green", "Deny": "red", "Ask": "yellow", "ok": "green", "error": "red", "denied": "red",
    "unknown": "magenta", "cancelled": "magenta",
}  # fmt: skip
WIDTH_MAX = 118
SHOWN_CHARS = 240


class Screen:
    """Colours on a terminal that wants them, plain text everywhere else."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._decided: set[str] = set()

    # -- parts ----------------------------------------------------------------------------------------

    def say(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Prints text, wrapped, never read as markup."""
        width = min(self.console.width, WIDTH_MAX) if self.console.is_terminal else WIDTH_MAX
        lines = [
            line
            for part in text.splitlines() or [""]
            for line in textwrap.wrap(part, max(width - indent, 30), break_long_words=False, break_on_hyphens=False)
            or [""]
        ]
        for line in lines:
            self.console.print(Text((" " * indent + line).rstrip(), style=style))

    def title(self, text: str) -> None:
        """The head of a part."""
        self.say()
        self.say(text, "bold")

    def turn(self, number: int, turn: Turn) -> None:
        """The head of a turn."""
        many = len(turn.calls) > 1
        how = "" if not many else ", at once" if turn.at_once else ", one after the other"
        self.title(f"Turn {number}: the model asks for {len(turn.calls)} call{'s' if many else ''}{how}")

    def call(self, planned: Planned) -> None:
        """What the model wrote."""
        call = planned.call
        line = Text(f"  {call.id}  ", style="bold cyan").append(call.name, style="bold")
        self.console.print(line.append(f"  {planned.why}", style="italic dim"))
        self.say(str(call.arguments), indent=8)

    def result(self, result: sh.ToolResult) -> None:
        """What the model gets back."""
        text = (
            result.content
            if result.is_error or len(result.content) <= SHOWN_CHARS
            else result.content[:SHOWN_CHARS] + " ..."
        )
        self.say(f"{result.tool_call_id}  the model reads:", "dim", indent=2)
        self.say(text, "dim", indent=10)

    def command(self, text: str) -> None:
        """A command to copy: never wrapped."""
        self.console.print(Text(f"  {text}", style="cyan"))

    def prompt(self, text: str) -> None:
        """A question on a line that the answer ends."""
        self.console.print(Text(f"  {text} ", style="bold"), end="")

    # -- events ---------------------------------------------------------------------------------------

    def event(self, event: sh.Event) -> None:
        """One thing that happened, as the engine tells it."""
        data = event.data
        match event.kind:
            case "call.proposed":
                self._stage(event, "1 resolve", "found", f"{event.name}@{data['version']}")
            case "call.decided":
                self._decided.add(event.tool_call_id)
                said = data["decision"]
                self._stage(event, "5 authorize", said, _because(said, data), COLOURS[said])
            case "call.waiting":
                self._stage(event, "6 claim", "waiting", f"for a person to answer {data['approval_id']}", "yellow")
            case "call.started":
                self._stage(event, "7 start", "recorded", "the intent is on disk, now it runs")
            case "call.progress":
                self._stage(event, "8 execute", "progress", data["text"])
            case "call.finished":
                self._finished(event)
            case "approval.decided":
                self._stage(event, "approval", data["verdict"], data["approval_id"], "bold")
            case "engine.problem":
                self._stage(event, data.get("where", ""), "problem", str(data.get("problem")), "red")

    def _finished(self, event: sh.Event) -> None:
        status, code = event.data["status"], event.data["code"]
        if event.data["replayed"]:
            self._stage(event, "6 claim", "replay", f"of {event.call_id}: the stored result, nothing runs", "blue")
        elif code is None:
            self._stage(event, "10 shape", status, event.data["display"], COLOURS.get(status, ""))
        else:
            ran = "8 execute" if event.tool_call_id in self._decided else "4 enrich"
            self._stage(event, REFUSED_AT.get(code, ran), status, code, COLOURS.get(status, ""))

    def _stage(self, event: sh.Event, stage: str, what: str, detail: str, style: str = "") -> None:
        line = Text(f"  {event.tool_call_id or '':<4}  ", style="cyan").append(f"{stage:<12}", style="dim")
        self.console.print(line.append(f"{what.lower():<9}", style=style).append(f" {detail}"))

    # -- the question ---------------------------------------------------------------------------------

    def question(self, pending: sh.Pending) -> None:
        """Exactly what will run, and why somebody is asked."""
        self.title(f"Approval {pending.approval_id}")
        self.say(f"{pending.tool}@{pending.version} is to run with exactly these arguments:", indent=2)
        for name, value in pending.arguments.items():
            self.say(f"{name:<14} {json.dumps(value, ensure_ascii=False)}", "bold", indent=4)
        for name, value in pending.injected.items():
            self.say(f"{name:<14} {json.dumps(value)}   (injected by Surehand, not written by the model)", indent=4)
        who = pending.requester
        self.say(f"requested by {who['id']} through {who['agent'] or 'no agent'} in {who['environment']}", indent=2)
        for need in pending.needs:
            self.say(f'policy "{need.policy_id}" asks {need.group}: {need.reason}', "yellow", indent=2)
        self.say(f"digest {pending.digest}", "dim", indent=2)

    # -- the books ------------------------------------------------------------------------------------

    def refunds(self, rows: Sequence[RefundRow]) -> None:
        """The refunds that were paid, as a table."""
        self.say(f"{'tenant':<8} {'order':<9} {'no':>3} {'amount':>9}", "bold", indent=2)
        for row in rows:
            amount = f"{row.amount_cents // 100}.{row.amount_cents % 100:02}"
            self.say(f"{row.tenant:<8} {row.order_id:<9} {row.refund_no:>3} {amount:>9}", indent=2)

    def story(self, story: Any) -> None:
        """What the audit says of one call: `surehand call show`."""
        facts = {
            "call": story.call_id,
            "tool": f"{story.name}@{story.version}",
            "caller": f"{story.caller.get('id')} through {story.caller.get('agent')}",
            "decision": f"{story.decision}: {'; '.join(story.reasons) or ', '.join(story.policies)}",
            "status": story.status,
            "effect": story.effect,
            "next": story.next,
        }
        for name, value in facts.items():
            self.say(f"{name:<9} {value}", indent=2)
        for step in story.steps:
            self.say(f"- {step.kind:<18} {step.text}", "dim", indent=4)


def _because(decision: str, data: dict[str, Any]) -> str:
    policies = ", ".join(data["policies"])
    reasons = "; ".join(data["reasons"])
    return f"by {policies}" if decision == "Allow" or not reasons else f"by {policies}: {reasons}"
