"""What the demo prints with: lines, streamed text, a question to the approver, and the books at the end."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

import surehand as sh

from .story import RefundRow, Written

WIDTH_MAX = 118
INDENT = 2


class Screen:
    """Colours on a terminal that wants them, plain text everywhere else."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._column = 0
        self._word = ""

    @property
    def _width(self) -> int:
        return min(self.console.width, WIDTH_MAX) if self.console.is_terminal else WIDTH_MAX

    def say(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Prints text, wrapped, never read as markup."""
        width = max(self._width - indent, 30)
        for part in text.splitlines() or [""]:
            for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""]:
                self.console.print(Text((" " * indent + line).rstrip(), style=style))

    def title(self, text: str) -> None:
        """The head of a part."""
        self.say()
        self.say(text, "bold")

    def stream(self, piece: str) -> None:
        """A piece of text as it comes: whole words are printed, wrapped."""
        *words, self._word = (self._word + piece).split(" ")
        for word in words:
            self._print_word(word)

    def end_stream(self) -> None:
        """The end of streamed text."""
        if self._word:
            self._print_word(self._word)
        if self._column:
            self.console.print()
        self._column, self._word = 0, ""

    def _print_word(self, word: str) -> None:
        full = self._column + 1 + len(word) > self._width
        lead = " " if self._column and not full else ("\n" if self._column else "") + " " * INDENT
        self._column = len(word) + (self._column + 1 if lead == " " else INDENT)
        self.console.print(Text(lead + word), end="")

    def command(self, text: str) -> None:
        """A command to copy: never wrapped."""
        self.console.print(Text(f"  {text}", style="cyan"))

    def prompt(self, text: str) -> None:
        """A question on a line that the answer ends."""
        self.console.print(Text(f"  {text} ", style="bold"), end="")

    # -- calls ----------------------------------------------------------------------------------------

    def call(self, call_id: str, call: Written) -> None:
        """A call as the model wrote it."""
        line = Text(f"  {call_id:<9} ", style="bold cyan").append(call.name, style="bold")
        self.console.print(line.append(f"  {call.arguments}", style="italic"))

    def stage(self, call_id: str, stage: str, what: str, detail: str, style: str) -> None:
        """What one stage of the engine made of a call."""
        line = Text(f"  {call_id:<9} ", style="cyan").append(f"{stage:<12}", style="dim")
        self.console.print(line.append(f"{what.lower():<9}", style=style).append(f" {detail}"))

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
