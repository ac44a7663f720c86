"""`ThreadRunner`: sync handlers in threads that never hold the event loop, nor the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from .outcome import Ended, Interrupted, Job, NotStarted, Raised, Returned, TimedOut

_Work = tuple[Callable[[], Any], contextvars.Context, Callable[[Ended], None]]


class ThreadRunner:
    """A bounded set of daemon threads, made when needed and kept.

    A thread cannot be killed: when its deadline passes it is given up and goes on. It counts against the
    bound until it ends, and how it ends is told to `Job.late`. Daemon threads, because the standard
    library's executors join theirs at exit, so that one hung handler would hang the process for ever.
    """

    def __init__(self, *, threads: int) -> None:
        self._limit = threads
        self._count = 0
        self._idle: list[queue.SimpleQueue[_Work | None]] = []
        self._lock = threading.Lock()

    async def run(self, job: Job) -> Ended:
        """See `Runner`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ended] = loop.create_future()

        def settle(ended: Ended) -> None:
            job.released()
            if not future.done():
                future.set_result(ended)
            else:
                job.late(ended)

        def done(ended: Ended) -> None:
            # a closed loop: nobody is left to be told
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, ended)

        inbox = self._take()
        if inbox is None:
            job.released()
            return NotStarted(f"all {self._limit} threads are busy")
        inbox.put((job.call, contextvars.copy_context(), done))
        waiting: set[asyncio.Future[Any]] = {future} if job.stop is None else {future, job.stop}
        try:
            await asyncio.wait(waiting, timeout=job.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._give_up(future)
            raise
        if future.done():
            return future.result()
        self._give_up(future)
        return Interrupted() if job.stop is not None and job.stop.done() else TimedOut()

    def close(self) -> None:
        """Lets idle threads end. Returns at once, whatever still runs."""
        with self._lock:
            self._limit = 0
            while self._idle:
                self._idle.pop().put(None)

    @staticmethod
    def _give_up(future: asyncio.Future[Ended]) -> None:
        if not future.done():
            future.cancel()

    def _take(self) -> queue.SimpleQueue[_Work | None] | None:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._count >= self._limit:
                return None
            self._count += 1
        inbox: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(inbox,), name="surehand-handler", daemon=True).start()
        return inbox

    def _serve(self, inbox: queue.SimpleQueue[_Work | None]) -> None:
        while (work := inbox.get()) is not None:
            call, context, done = work
            ended: Ended
            try:
                ended = Returned(context.run(call))
            except BaseException as error:
                ended = Raised(error)
            with self._lock:
                closing = self._limit == 0
                if not closing:
                    self._idle.append(inbox)
            done(ended)
            del work, call, context, done, ended
            if closing:
                return
