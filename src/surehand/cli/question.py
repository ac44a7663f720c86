"""A question to a person while a run waits: exactly what will run, and a yes, a no, or neither."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import TYPE_CHECKING

from ..errors import ApprovalError
from .approvals import print_question
from .printer import Printer, one_line

if TYPE_CHECKING:
    from ..engine import Engine
    from ..types import Caller

_LINE_BYTES = 4096


async def ask(engine: Engine, approval_id: str, who: Caller, aside: Printer) -> bool:
    """Shows what `approvals show` does and takes the answer to exactly that.

    Args:
        engine: Open.
        approval_id: The question.
        who: Whose answer it is; they may decide it.
        aside: The terminal.

    Returns:
        Whether it was answered. Silence is no answer: the question stays open.
    """
    name = one_line(who.id)
    try:
        seen = await engine.approvals.get(approval_id, by=who)
        print_question(aside, seen)
        answer = await _answer(aside, f"Approve exactly this as {name}? [y/N], or r to reject it: ")
        if answer in ("y", "yes"):
            await engine.approvals.approve(approval_id, by=who, digest=seen.digest)
            aside.line(f"{name} approved {approval_id}", "green")
            return True
        if answer in ("r", "reject"):
            reason = await _answer(aside, "Why? The model reads it: ", exactly=True)
            await engine.approvals.reject(approval_id, by=who, reason=reason)
            aside.line(f"{name} rejected {approval_id}", "red")
            return True
    except ApprovalError as error:  # somebody else was faster, or its time was over
        aside.line(f"not counted: {error}", "red")
        return error.code != "not_entitled"
    aside.line("not approved; the question stays open", "yellow")
    return False


async def _answer(aside: Printer, question: str, *, exactly: bool = False) -> str:
    """One line of the terminal, without holding the engine up. What was typed before the question is no answer."""
    aside.flush()
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    text = ""
    try:
        text = await _line(sys.stdin.fileno())
    finally:
        if not text.endswith("\n"):  # the cursor is still behind the question
            sys.stderr.write("\n")
            sys.stderr.flush()
    return text.strip() if exactly else text.strip().lower()


async def _line(terminal: int) -> str:
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(terminal)
    return os.read(terminal, _LINE_BYTES).decode(errors="replace")
