"""`ThreadRunner`: sync handlers in threads that never hold the event loop, nor the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .inline import InlineRunner
from .outcome import Ended, Interrupted, Job, NotStarted, Raised, Returned, TimedOut

_Work = tuple[Callable[[], Any], contextvars.Context, Callable[[Ended], None]]
_Inbox = queue.SimpleQueue["_Work | None"]


class ThreadRunner:
    """A bounded set of daemon threads, made when needed and kept.

    A thread cannot be killed: when its deadline passes it is given up and goes on. It counts against the
    bound until it ends, and how it ends is told to `Job.late`. Daemon threads, because the standard
    library's executors join theirs at exit, so that one hung handler would hang the process for ever.

    Args:
        threads: How many at most. A job for which there is none waits, up to its timeout.
        inline: Awaits what a sync function returned to be awaited.
    """

    def __init__(self, *, threads: int, inline: InlineRunner) -> None:
        self._threads = threads
        self._inline = inline
        self._count = 0
        self._closed = False
        self._idle: list[_Inbox] = []
        self._waiters: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def run(self, job: Job) -> Ended:
        """See `Runner`."""
        began = time.monotonic()
        try:
            inbox = await self._place(job)
        except BaseException:
            job.released()
            raise
        if isinstance(inbox, NotStarted):
            job.released()
            return inbox
        ended = await self._serve_one(job, inbox, began)
        if isinstance(ended, Returned) and inspect.isawaitable(ended.value):
            # A sync wrapper around an async function: what it gave is the work, not the result.
            left_s = max(0.001, job.timeout_s - (time.monotonic() - began))
            work: Any = ended.value
            return await self._inline.run(replace(job, call=lambda: work, timeout_s=left_s, confirm=None))
        return ended

    async def _serve_one(self, job: Job, inbox: _Inbox, began: float) -> Ended:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ended] = loop.create_future()

        def settle(ended: Ended) -> None:
            if not future.done():
                if not (isinstance(ended, Returned) and inspect.isawaitable(ended.value)):
                    job.released()
                future.set_result(ended)
                return
            if isinstance(ended, Returned) and inspect.iscoroutine(ended.value):
                ended.value.close()
            job.released()
            job.late(ended)

        def done(ended: Ended) -> None:
            try:
                loop.call_soon_threadsafe(settle, ended)
            except RuntimeError:  # the loop is closed: nobody is left to be told, but the place is free again
                job.released()

        inbox.put((job.call, contextvars.copy_context(), done))
        waiting: set[asyncio.Future[Any]] = {future} if job.stop is None else {future, job.stop}
        left_s = max(0.001, job.timeout_s - (time.monotonic() - began))
        try:
            await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            future.cancel()
            raise
        if future.done():
            return future.result()
        future.cancel()
        return Interrupted() if job.given_up else TimedOut()

    def open(self) -> None:
        """Takes jobs again after `close`."""
        with self._lock:
            self._closed = False

    def close(self) -> None:
        """Lets idle threads end. Returns at once, whatever still runs."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().put(None)
                self._count -= 1

    async def _place(self, job: Job) -> _Inbox | NotStarted:
        """A thread's inbox, as soon as one is free and the job may still start."""
        deadline = time.monotonic() + job.timeout_s
        while True:
            if job.given_up:
                return NotStarted("the caller gave up", cancelled=True)
            taken = self._take()
            if isinstance(taken, NotStarted):
                return taken
            if not isinstance(taken, asyncio.Future):
                return await self._confirmed(job, taken)
            try:
                left_s = deadline - time.monotonic()
                waiting: set[asyncio.Future[Any]] = {taken} if job.stop is None else {taken, job.stop}
                await asyncio.wait(waiting, timeout=max(0.0, left_s), return_when=asyncio.FIRST_COMPLETED)
                if not taken.done() and not job.given_up:
                    return NotStarted(f"all {self._threads} threads were busy")
            except asyncio.CancelledError:
                self._pass_on(taken)
                raise
            finally:
                taken.cancel()
            if job.given_up:
                self._pass_on(taken)

    async def _confirmed(self, job: Job, inbox: _Inbox) -> _Inbox | NotStarted:
        try:
            refused = await job.refused()
        except BaseException:
            self._give_back(inbox)
            raise
        if refused is not None:
            self._give_back(inbox)
            return refused
        return inbox

    def _give_back(self, inbox: _Inbox) -> None:
        with self._lock:
            if self._closed:
                self._count -= 1
                inbox.put(None)
            else:
                self._idle.append(inbox)
                self._wake_one()

    def _pass_on(self, taken: asyncio.Future[None]) -> None:
        """Who was told that a thread is free and does not take it tells the next."""
        if taken.done() and not taken.cancelled():
            with self._lock:
                self._wake_one()

    def _take(self) -> _Inbox | NotStarted | asyncio.Future[None]:
        """An idle or a new thread's inbox; else what is done when a thread may be free."""
        with self._lock:
            if self._closed:
                return NotStarted("the engine is closed")
            if self._idle:
                return self._idle.pop()
            if self._count >= self._threads:
                loop = asyncio.get_running_loop()
                future: asyncio.Future[None] = loop.create_future()
                self._waiters.append((loop, future))
                return future
            self._count += 1
        inbox: _Inbox = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(inbox,), name="surehand-handler", daemon=True).start()
        return inbox

    def _serve(self, inbox: _Inbox) -> None:
        while (work := inbox.get()) is not None:
            call, context, done = work
            ended: Ended
            try:
                ended = Returned(context.run(call))
            except BaseException as error:
                ended = Raised(error)
            with self._lock:
                closing = self._closed
                if closing:
                    self._count -= 1
                else:
                    self._idle.append(inbox)
                    self._wake_one()
            done(ended)
            del work, call, context, done, ended
            if closing:
                return

    def _wake_one(self) -> None:
        while self._waiters:
            loop, future = self._waiters.popleft()
            if future.done():
                continue
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, future)
                return


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
