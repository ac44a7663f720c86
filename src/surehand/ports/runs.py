"""`RunStore`: what is kept of runs. Part of `Store`, with the same guarantees."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Literal, Protocol

import msgspec

from ..types import Caller

RunStatus = Literal["running", "waiting", "ended"]
"""`running`: somebody drives it, or should. `waiting`: it goes on when people have decided. `ended`: for good."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    tenant: str
    caller: Caller
    """As authenticated when the run was started."""
    model: str
    """Of which the run was started, such as `openai:gpt-5`."""
    status: RunStatus
    reason: str | None = None
    """Why it ended: a stop reason of the run."""
    owner: str | None = None
    """The process that drives it."""
    cancel: bool = False
    """Whether somebody asked it to stop."""
    turns: int = 0
    """How many turns are stored."""
    start: bytes
    """Sealed: the first messages, the bounds, and the time that was taken before the first turn."""
    created_us: int
    updated_us: int


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One turn: what the model answered, stored before its first call runs, and the results so far."""

    run_id: str
    tenant: str
    turn: int
    """From 0."""
    view_digest: str
    """Of the view that the model was shown."""
    answer: bytes
    """Sealed: the model's turn."""
    results: bytes | None = None
    """Sealed: the results of its calls, by position."""
    created_us: int


class StoredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a run, for a user interface that comes later."""

    run_id: str
    tenant: str
    seq: int
    """From 1, without gaps in what is stored by one driver."""
    at_us: int
    body: bytes
    """Sealed."""


class RunSave(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a run by whoever drives it: applies as a whole, or not at all."""

    tenant: str
    run_id: str
    expect_owner: str
    """Part of the condition, as is that the run has not ended."""
    status: RunStatus
    reason: str | None = None
    release: bool = False
    """Whether the driver lets go of it. An ended run has no owner."""
    start: bytes | None = None
    """What `start` of the run becomes; `None` leaves it."""
    turn: TurnRecord | None = None
    """A new turn, or one that is there with other results; `turns` of the run becomes at least its number + 1."""
    events: tuple[StoredEvent, ...] = ()
    """One whose number is stored already stays as it was stored: it came with a save that seemed to fail."""
    now_us: int


class RunStore(Protocol):
    """See the module."""

    def create_run(self, record: RunRecord) -> Awaitable[bool]:
        """`False`: there is a run of that id in the tenant already, and nothing was written."""
        ...

    def take_run(
        self, tenant: str, run_id: str, owner: str, *, now_us: int, silent_us: int
    ) -> Awaitable[RunRecord | None]:
        """Makes `owner` its driver, if it has not ended and nobody else drives it.

        Somebody else does if the run has another owner, silent (`Store.silence`) for less than `silent_us`.
        Taking a run, or creating one with an owner, is a beat too.

        Returns:
            The run as it is now, with its new owner; `None` if it was not taken or is not there.
        """
        ...

    def save_run(self, save: RunSave) -> Awaitable[bool]:
        """Whether the condition held and the change was made."""
        ...

    def cancel_run(self, tenant: str, run_id: str, now_us: int) -> Awaitable[bool]:
        """Asks a run that has not ended to stop; `False` if there is none."""
        ...

    async def undriven_stops(self, *, now_us: int, silent_us: int, limit: int = 100) -> list[RunRecord]:
        """Of all tenants: runs that were asked to stop and have not ended, and that nobody drives.

        Nobody does if the run has no owner, or one that has been silent for at least `silent_us`, or never said
        anything. Those that were changed longest ago first, so that one that cannot be ended keeps no other waiting.
        """
        ...

    async def get_run(self, tenant: str, run_id: str) -> RunRecord | None:
        """One run."""
        ...

    async def list_runs(self, tenant: str, *, statuses: Sequence[RunStatus] = (), limit: int = 100) -> list[RunRecord]:
        """Newest first."""
        ...

    async def list_turns(self, tenant: str, run_id: str) -> list[TurnRecord]:
        """All of one run, in order."""
        ...

    async def list_run_events(
        self, tenant: str, run_id: str, *, after_seq: int = 0, limit: int = 1000
    ) -> list[StoredEvent]:
        """Events of one run beyond a number, in order."""
        ...
