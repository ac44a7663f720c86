"""The run: a model and its calls, and a person who is asked where policy says so. This is the part to read."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import surehand as sh
from surehand.testing import ScriptedModel

from .conversation import Conversation
from .screen import Screen
from .story import APPROVER, CALLER, MESSAGES, RUN


@dataclass(slots=True)
class Played:
    """How it went."""

    reason: str = ""
    """Why the run ended."""
    asked: dict[str, sh.Pending] = field(default_factory=dict[str, sh.Pending])
    """Tool -> what a person was asked about it."""
    approved: set[str] = field(default_factory=set[str])
    """The tools that got a yes."""


async def play(
    engine: sh.Engine, model: ScriptedModel, callers: Mapping[str, sh.Caller], conversation: Conversation
) -> Played:
    """Drives the run to its end. It waits while people decide, and goes on by itself when they have.

    Raises:
        ScriptError: The model was answered other than its script expects.
    """
    played = Played()
    run = sh.run(engine, model=model, caller=callers[CALLER], messages=MESSAGES, run_id=RUN, bounds=sh.Bounds(turns=12))
    async with aclosing(run) as events:
        async for event in events:
            conversation.show(event)
            if event.kind == "run.waiting":
                for approval_id in event.data["approvals"]:
                    await _decide(engine, approval_id, callers[APPROVER], conversation.screen, played)
            if event.kind == "run.ended":
                played.reason = event.data["reason"]
    model.assert_done()
    return played


async def _decide(engine: sh.Engine, approval_id: str, approver: sh.Caller, screen: Screen, played: Played) -> None:
    """Shows the question, and lets the approver say yes or no to exactly what was shown."""
    pending = await engine.approvals.get(approval_id, by=approver)
    played.asked[pending.tool] = pending
    screen.question(pending)
    if await _says_yes(approver, screen):
        played.approved.add(pending.tool)
        await engine.approvals.approve(approval_id, by=approver, digest=pending.digest)
        screen.say(f"{approver.id} said yes.", "green", indent=2)
    else:
        await engine.approvals.reject(approval_id, by=approver, reason="not without a photo or a letter")
        screen.say(f"{approver.id} said no.", "red", indent=2)


async def _says_yes(approver: sh.Caller, screen: Screen) -> bool:
    who = f"{approver.id} (roles: {', '.join(approver.roles)})"
    if sys.stdin is None or not sys.stdin.isatty():
        screen.say(f"There is no terminal to ask, so a second configured caller approves: {who}.", "bold", indent=2)
        return True
    screen.say(f"At this terminal you act as {who}.", "bold", indent=2)
    screen.prompt("Approve? [y/N]")
    return (await _line()).strip().lower() in ("y", "yes")


async def _line() -> str:
    """One line from the terminal, without blocking the engine or swallowing Ctrl-C. The end of input is no answer."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    terminal = sys.stdin.fileno()
    loop.add_reader(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal)
    return os.read(terminal, 1024).decode(errors="replace")
