"""`Gate`: how many handlers run at once, and which may not overlap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Gate:
    """A bounded number of places with a bounded queue, and one place for each sequential tool.

    A place is given back when the handler has really ended, so one that was given up after a timeout still
    holds its tool's place. A handler that calls tools lends its place to one of them at a time: it waits for it, and
    if all places were held by such handlers, none would ever be free.
    """

    def __init__(self, *, places: int, queue: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._queue = queue
        self._waiting = 0
        self._tools: dict[str, asyncio.Lock] = {}

    async def enter(
        self,
        tool: str | None,
        *,
        timeout_s: float,
        stop: asyncio.Future[None] | None = None,
        lent: asyncio.Semaphore | None = None,
    ) -> Callable[[], None] | None:
        """Waits for a place.

        Args:
            tool: Name of a sequential tool, else `None`.
            timeout_s: How long to wait at most.
            stop: Done when whoever waits gives up.
            lent: The place of the handler that makes the call; as good as any other.

        Returns:
            What gives the place back, to be called once; `None` if there was none in time.
        """
        if not self._places.locked() and tool is None:
            await self._places.acquire()
            return self._places.release
        if self._waiting >= self._queue:
            return None
        self._waiting += 1
        waiting = asyncio.ensure_future(self._wait(tool, lent))
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

    async def _wait(self, tool: str | None, lent: asyncio.Semaphore | None) -> Callable[[], None]:
        if tool is None:
            return await self._place(lent)
        lock = self._tools.setdefault(tool, asyncio.Lock())
        await lock.acquire()
        try:
            give_back = await self._place(lent)
        except BaseException:
            lock.release()
            raise

        def leave() -> None:
            lock.release()
            give_back()

        return leave

    async def _place(self, lent: asyncio.Semaphore | None) -> Callable[[], None]:
        """A place of the engine's, or the lent one: whichever is free first."""
        if lent is None or not self._places.locked():
            await self._places.acquire()
            return self._places.release
        asked = {asyncio.ensure_future(place.acquire()): place for place in (lent, self._places)}
        chosen: asyncio.Semaphore | None = None
        try:
            done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            chosen = asked[next(iter(done))]
            return chosen.release
        finally:
            for task, place in asked.items():
                task.cancel()
                if place is not chosen:
                    task.add_done_callback(_returns(place))


def _returns(place: asyncio.Semaphore) -> Callable[[asyncio.Future[Any]], None]:
    """Gives back a place that was taken and is not used."""
    return lambda taken: None if taken.cancelled() else place.release()


async def _give_up(waiting: asyncio.Future[Callable[[], None]]) -> None:
    """Ends a wait; a place that was given meanwhile goes back."""
    waiting.cancel()
    await asyncio.wait({waiting})
    if not waiting.cancelled():
        waiting.result()()
