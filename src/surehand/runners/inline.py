"""`InlineRunner`: async handlers in the event loop, and sync ones that are declared not to block."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from .outcome import Ended, Interrupted, Job, Raised, Returned, TimedOut


class InlineRunner:
    """Each handler in a task of its own, so that a deadline or a cancellation is never confused with its own.

    A handler that swallows its cancellation is given up after the grace time; how it ends is told later.
    """

    def __init__(self, *, cancel_grace_s: float) -> None:
        self._grace_s = cancel_grace_s
        self._given_up: set[asyncio.Task[Any]] = set()

    async def run(self, job: Job) -> Ended:
        """See `Runner`."""
        try:
            refused = await job.refused()
        except BaseException:
            job.released()
            raise
        if refused is not None:
            job.released()
            return refused
        task = asyncio.ensure_future(_await(job))
        task.add_done_callback(lambda _: job.released())
        waiting: set[asyncio.Future[Any]] = {task} if job.stop is None else {task, job.stop}
        try:
            await asyncio.wait(waiting, timeout=job.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._end(task, job)
            raise
        if task.done():
            return _read(task)
        await self._end(task, job)
        return Interrupted() if job.given_up else TimedOut()

    async def _end(self, task: asyncio.Task[Any], job: Job) -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=self._grace_s)
        if task.done():
            ended = _read(task)
            if not (isinstance(ended, Raised) and isinstance(ended.error, asyncio.CancelledError)):
                job.late(ended)
            return
        self._given_up.add(task)

        def tell(done: asyncio.Task[Any]) -> None:
            self._given_up.discard(done)
            job.late(_read(done))

        task.add_done_callback(tell)


async def _await(job: Job) -> Any:
    try:
        value = job.call()
        return await value if inspect.isawaitable(value) else value
    except SystemExit as error:
        # Out of a task it would end the event loop, and with it everybody else's calls.
        raise RuntimeError(f"the handler wanted to exit the process with {error.code!r}") from error


def _read(task: asyncio.Task[Any]) -> Ended:
    if task.cancelled():
        return Raised(asyncio.CancelledError())
    error = task.exception()
    return Returned(task.result()) if error is None else Raised(error)
