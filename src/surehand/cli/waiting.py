"""What a person sees on a terminal while a command takes longer than a second."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from .printer import one_line

if TYPE_CHECKING:
    from ..engine import Engine
    from ..event import Event

_AFTER_S = 1.0


@contextlib.asynccontextmanager
async def waiting(engine: Engine) -> AsyncGenerator[None]:
    """Shows on stderr that work goes on, and what a handler tells of its progress."""
    if not sys.stderr.isatty():
        yield
        return
    said = ["working"]

    def note(event: Event) -> None:
        if event.kind == "call.progress":
            said[0] = one_line(str(event.data.get("text", "working")))

    forget = engine.on_event(note)
    task = asyncio.create_task(_show(said))
    try:
        yield
    finally:
        forget()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _show(said: list[str]) -> None:
    await asyncio.sleep(_AFTER_S)
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status(Text(said[0])) as status:
        while True:
            await asyncio.sleep(0.2)
            status.update(Text(said[0]))
