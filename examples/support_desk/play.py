"""Plays the model's calls through the engine, turn by turn, and asks a person where policy says so."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import surehand as sh

from .screen import Screen
from .story import Planned, Story, Turn


@dataclass(slots=True)
class Played:
    """How it went."""

    results: dict[str, sh.ToolResult] = field(default_factory=dict[str, sh.ToolResult])
    """The model's id of the call -> what the model got at first."""
    resumed: dict[str, sh.ToolResult] = field(default_factory=dict[str, sh.ToolResult])
    """The same for calls that waited, after the answer."""
    approved: set[str] = field(default_factory=set[str])


async def play(engine: sh.Engine, story: Story, callers: Mapping[str, sh.Caller], screen: Screen) -> Played:
    """Plays the whole story."""
    caller, approver = callers[story.caller], callers[story.approver]
    played = Played()
    stop = engine.on_event(screen.event)
    try:
        for number, turn in enumerate(story.turns):
            screen.turn(number + 1, turn)
            step = sh.RunStep(run_id=story.run, turn=number)
            for result in await _turn(engine, turn, caller, step, screen):
                played.results[result.tool_call_id] = result
            if turn.then_ask_about is not None:
                asked = played.results[turn.then_ask_about]
                if await _answer(engine, asked, approver, screen):
                    played.approved.add(asked.tool_call_id)
                screen.title(f"{caller.id}'s agent resumes {asked.call_id}")
                resumed = await engine.resume(asked.call_id, by=caller)
                screen.result(resumed)
                played.resumed[asked.tool_call_id] = resumed
    finally:
        stop()
    return played


async def _turn(
    engine: sh.Engine, turn: Turn, caller: sh.Caller, step: sh.RunStep, screen: Screen
) -> list[sh.ToolResult]:
    """Calls run at once unless their order matters: then one after the other, each in its own position of the run."""
    if turn.at_once:
        for planned in turn.calls:
            screen.call(planned)
        results = await engine.call_many([planned.call for planned in turn.calls], caller, run=step)
        for result in results:
            screen.result(result)
        return results
    return [
        await _one(engine, planned, caller, sh.RunStep(run_id=step.run_id, turn=step.turn, position=position), screen)
        for position, planned in enumerate(turn.calls)
    ]


async def _one(
    engine: sh.Engine, planned: Planned, caller: sh.Caller, step: sh.RunStep, screen: Screen
) -> sh.ToolResult:
    screen.call(planned)
    result = await engine.call(planned.call, caller, run=step)
    screen.result(result)
    return result


async def _answer(engine: sh.Engine, asked: sh.ToolResult, approver: sh.Caller, screen: Screen) -> bool:
    """Shows the question, and lets the approver say yes or no to exactly what was shown."""
    assert asked.approval_id is not None, f"{asked.tool_call_id} should wait for a person, but is {asked.status}"
    pending = await engine.approvals.get(asked.approval_id, by=approver)
    screen.question(pending)
    who = f"{approver.id} (roles: {', '.join(approver.roles)})"
    if sys.stdin is not None and sys.stdin.isatty():
        screen.say(f"At this terminal you act as {who}, the finance manager.", "bold", indent=2)
        screen.prompt("Approve? [y/N]")
        yes = (await _line()).strip().lower() in ("y", "yes")
    else:
        screen.say(
            f"There is no terminal to ask, so a second configured caller approves: {who}, the finance manager.",
            "bold",
            indent=2,
        )
        yes = True
    if yes:
        await engine.approvals.approve(pending.approval_id, by=approver, digest=pending.digest)
    else:
        await engine.approvals.reject(pending.approval_id, by=approver, reason="not without a photo of the damage")
    return yes


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
