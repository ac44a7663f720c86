"""How one attempt to run a handler ended, as a value."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised; `CancelledError` of its own making included."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The deadline passed. The handler may still run, or may have been stopped half-way."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The caller gave up. The handler may still run, or may have been stopped half-way."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """There was no place to run it, or the caller gave up before: nothing happened."""

    why: str
    cancelled: bool = False


Ended: TypeAlias = Returned | Raised | TimedOut | Interrupted | NotStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One attempt."""

    call: Callable[[], Any]
    """Runs the handler; returns an awaitable for the inline runner."""
    timeout_s: float
    stop: asyncio.Future[None] | None = None
    """Done when the caller has given up."""
    late: Callable[[Ended], None]
    """Told, in the event loop, how a handler ended that had been given up."""
    confirm: Callable[[], Awaitable[bool]] | None = None
    """Asked when a place for the job is there, as the last thing before it starts: whether it may still start."""
    released: Callable[[], None] = lambda: None
    """Told, in the event loop, when the handler really ended, given up or not."""

    async def refused(self) -> NotStarted | None:
        """Why the job must not start now, if it must not."""
        if self.given_up:
            return NotStarted("the caller gave up", cancelled=True)
        if self.confirm is not None and not await self.confirm():
            return NotStarted("another process has taken the call over")
        return NotStarted("the caller gave up", cancelled=True) if self.given_up else None

    @property
    def given_up(self) -> bool:
        """Whether the caller has given up."""
        return self.stop is not None and self.stop.done()


class Runner(Protocol):
    """Runs one job and says how it ended. Never raises what a handler raised.

    Cancelling `run` gives the job up as `stop` does, then raises `CancelledError`.
    """

    async def run(self, job: Job) -> Ended:
        """Runs the job; returns no later than shortly after its timeout."""
        ...
