"""Lanes: threads that own a database session each, and the queue in front of them.

A body starts its way when it is submitted, not when its future is awaited. Of what waits in the queue, a lane takes
as much as it may at once; the futures of such a batch are resolved together, by one wake-up of each event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..errors import StoreError
from .tx import Session, Tx

T = TypeVar("T")
S = TypeVar("S", bound=Session)

MAX_WAITING = 10_000
"""Bodies in one queue. An awaited caller holds one place at most, so this bounds what is left unawaited."""


class Work:
    """One body on its way, and what came of it."""

    __slots__ = ("attempts", "body", "error", "future", "loop", "result")

    def __init__(self, body: Callable[[Tx], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.body = body
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.attempts = 0
        self.result: Any = None
        self.error: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Remembers why there is no result. Each caller gets an exception of its own, whose traceback it may grow."""
        self.error = error
        if isinstance(error, StoreError):
            self.error = StoreError(*error.args)
            self.error.__cause__ = error.__cause__

    def deliver(self) -> None:
        """Resolves the future, in its loop, unless whoever waited gave up."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Lane(Generic[S]):
    """One queue, served by one thread or several.

    Args:
        name: Of the threads.
        serve: Does all of a batch, leaving a result or an error in each. Never raises.
        most: How much of what waits is served at once.
    """

    def __init__(self, name: str, serve: Callable[[S, Sequence[Work]], None], *, most: int) -> None:
        self._name = name
        self._serve = serve
        self._most = most
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._state = "not open"
        self._gate = threading.Lock()
        """Nothing is queued behind the end, whichever thread submits it."""

    @property
    def is_open(self) -> bool:
        """Whether it takes work."""
        return self._state == "open"

    def submit(self, body: Callable[[Tx], T]) -> asyncio.Future[T]:
        """Queues a body. The future fails at once when the lane is not open, or far behind."""
        work = Work(body, asyncio.get_running_loop())
        with self._gate:
            if self._state != "open":
                work.fail(StoreError(f"the store is {self._state}"))
            elif self._queue.qsize() >= MAX_WAITING:
                work.fail(StoreError(f"the store is too far behind: {MAX_WAITING} operations wait for it"))
            else:
                self._queue.put(work)
        if work.error is not None:
            work.deliver()
        return work.future

    async def start(self, connect: Callable[[], S]) -> None:
        """Adds a thread with its own session. Raises what `connect` raises."""
        loop = asyncio.get_running_loop()
        connected: asyncio.Future[None] = loop.create_future()
        thread = threading.Thread(target=self._main, args=(connect, loop, connected), name=self._name, daemon=True)
        thread.start()
        self._threads.append(thread)
        await connected
        self._state = "open"

    async def stop(self) -> None:
        """Serves what was submitted, then ends the threads."""
        with self._gate:
            self._state = "closed"
            threads, self._threads = self._threads, []
            for _ in threads:
                self._queue.put(None)
        for thread in threads:
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _main(self, connect: Callable[[], S], loop: asyncio.AbstractEventLoop, connected: asyncio.Future[None]) -> None:
        try:
            session = connect()
        except Exception as error:
            _tell(loop, _resolve, connected, error)
            return
        _tell(loop, _resolve, connected, None)
        try:
            while batch := self._take():
                self._serve(session, batch)
                _deliver(batch)
        finally:
            session.close()

    def _take(self) -> list[Work]:
        """Waits for work; nothing means that the lane was stopped."""
        batch: list[Work] = []
        waiting = self._queue
        item = waiting.get()
        while item is not None:
            batch.append(item)
            if len(batch) == self._most:
                return batch
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            waiting.put(None)  # for the next time: first this batch
        return batch


def _resolve(connected: asyncio.Future[None], error: Exception | None) -> None:
    if connected.done():
        return
    if error is None:
        connected.set_result(None)
    else:
        connected.set_exception(error)


def _deliver(batch: Sequence[Work]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[Work]] = {}
    for work in batch:
        loops.setdefault(work.loop, []).append(work)
    for loop, works in loops.items():
        _tell(loop, _deliver_here, works)


def _deliver_here(works: Sequence[Work]) -> None:
    for work in works:
        work.deliver()


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *args: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, and all who waited in it are gone
        loop.call_soon_threadsafe(callback, *args)
