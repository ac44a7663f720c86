"""`Gate`: how many handlers run at once, and which may not overlap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Gate:
    """A bounded number of places with a bounded queue, and one place for each sequential tool.

    A place is given back when the handler has really ended, so one that was given up after a timeout still
    holds its tool's place.
    """

    def __init__(self, *, places: int, queue: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._queue = queue
        self._waiting = 0
        self._tools: dict[str, asyncio.Lock] = {}

    async def enter(
        self, tool: str | None, *, timeout_s: float, stop: asyncio.Future[None] | None = None
    ) -> Callable[[], None] | None:
        """Waits for a place.

        Args:
            tool: Name of a sequential tool, else `None`.
            timeout_s: How long to wait at most.
            stop: Done when whoever waits gives up.

        Returns:
            What gives the place back, to be called once; `None` if there was none in time.
        """
        if not self._places.locked() and tool is None:
            await self._places.acquire()
            return self._places.release
        if self._waiting >= self._queue:
            return None
        self._waiting += 1
        waiting = asyncio.ensure_future(self._wait(tool))
        try:
            watched: set[asyncio.Future[Any]] = {waiting} if stop is None else {waiting, stop}
            await asyncio.wait(watched, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _give_up(waiting)
            raise
        finally:
            self._waiting -= 1
        if waiting.done():
            return waiting.result()
        await _give_up(waiting)
        return None

    async def _wait(self, tool: str | None) -> Callable[[], None]:
        if tool is None:
            await self._places.acquire()
            return self._places.release
        lock = self._tools.setdefault(tool, asyncio.Lock())
        await lock.acquire()
        try:
            await self._places.acquire()
        except BaseException:
            lock.release()
            raise

        def leave() -> None:
            lock.release()
            self._places.release()

        return leave


async def _give_up(waiting: asyncio.Future[Callable[[], None]]) -> None:
    """Ends a wait; a place that was given meanwhile goes back."""
    waiting.cancel()
    await asyncio.wait({waiting})
    if not waiting.cancelled():
        waiting.result()()
