"""`Journal`: the stored side of one run. What it took is sealed; what it saves commits as a whole."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from ..call import ToolResult
from ..engine.run_parts import GAP, Results, last_seq, owe_release, pay, seal, take, unseal
from ..errors import ConfigError, NotAllowedError, NotFoundError, StoreError
from ..pipeline import Services
from ..ports import RunRecord, RunSave, RunStatus, StoredEvent, TurnRecord
from ..providers import Message
from ..types import Caller
from .bounds import Bounds
from .events import RunEvent, RunEventKind
from .history import Answer, History, Turn


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was started."""

    messages: list[Message]
    bounds: Bounds
    caller: Caller
    """Where nobody can change it."""
    spent_s: float = 0.0
    """What the run had taken of its time when it was last let go without a turn."""


class Journal:
    """One driver's hold on one run.

    Args:
        services: Of the engine.
        record: The run, taken by this process.
        start: How it was started.
        history: What it has come to.
        seq: What the next event's number is above.
    """

    def __init__(self, services: Services, record: RunRecord, start: Start, history: History, seq: int) -> None:
        self.record = record
        self.start = start
        self.history = history
        self.held = True
        """Whether this driver still has the run: it has neither ended, nor been let go, nor been taken over.

        Of an end and of a release that the store did not take, too, it has let go: they are owed.
        """
        self._s = services
        self._seq = seq
        self._unsaved: list[RunEvent] = []
        self._sent = 0
        """Number of the last event that was handed to the store, whether or not that is known to have worked."""

    @classmethod
    async def begin(cls, s: Services, caller: Caller, model: str, start: Start, run_id: str) -> Journal:
        """Stores a new run and takes it.

        Raises:
            ConfigError: There is a run of that id already.
        """
        now_us = s.clock.now_us()
        record = RunRecord(
            run_id=run_id,
            tenant=caller.tenant,
            caller=caller,
            model=model,
            status="running",
            owner=s.owner,
            start=seal(s, start, tenant=caller.tenant, run_id=run_id, what="start"),
            created_us=now_us,
            updated_us=now_us,
        )
        try:
            created = await s.store.create_run(record)
        except StoreError:
            owe_release(s, record)
            raise
        if not created:
            raise ConfigError(f"run {run_id!r} exists; leave messages out to resume it, or choose another id")
        return cls(s, record, start, History(start.messages), 0)

    @classmethod
    async def take(cls, s: Services, caller: Caller, run_id: str) -> Journal | RunRecord:
        """Takes a stored run to go on with it; gives the record of one that has ended.

        Raises:
            NotFoundError: There is no such run in the caller's tenant.
            NotAllowedError: It is somebody else's.
            ConfigError: Another process drives it.
        """
        tenant = caller.tenant
        found = await s.store.get_run(tenant, run_id)
        if found is None:
            raise NotFoundError(f"there is no run {run_id!r}")
        start = unseal(s, found.start, Start, tenant=tenant, run_id=run_id, what="start")
        if not caller.same_person(start.caller):
            raise NotAllowedError(f"run {run_id!r} is somebody else's")
        record = await take(s, found)
        if record is None:
            fresh = await s.store.get_run(tenant, run_id) or found
            if fresh.status == "ended":
                return fresh
            raise ConfigError(f"run {run_id!r} is driven by another process")
        journal = cls(s, record, start, History(start.messages, before_s=start.spent_s), 0)
        try:
            for one in await s.store.list_turns(tenant, run_id):
                journal.history.turns.append(_turn(s, one))
            journal._seq = await last_seq(s, tenant, run_id) + GAP
        except BaseException:
            with contextlib.suppress(StoreError):
                await journal.save(record.status, release=True)
            raise
        return journal

    def event(self, kind: RunEventKind, turn: int, **data: Any) -> RunEvent:
        """Numbers an event; it is stored with the next `save`."""
        self._seq += 1
        event = RunEvent(
            run_id=self.record.run_id, seq=self._seq, turn=turn, kind=kind, at_us=self._s.clock.now_us(), data=data
        )
        last = self._unsaved[-1] if self._unsaved else None
        if kind == "text" and last is not None and last.kind == "text" and last.seq > self._sent:
            both = {"text": last.data["text"] + data["text"]}
            self._unsaved[-1] = msgspec.structs.replace(event, data=both)
        else:
            self._unsaved.append(event)
        return event

    async def save(
        self, status: RunStatus, *, reason: str | None = None, turn: int | None = None, release: bool = False
    ) -> None:
        """Stores the state of the run, one turn of it, and the events so far; if it fails, they go with the next one.

        An end, and a release, that fail are made when the store is there again: see `Services.owed_runs`.

        Raises:
            StoreError: The store is gone, or another process has taken the run over: this one must stop.
        """
        record = self.record
        events, self._unsaved = self._unsaved, []
        self._sent = self._seq
        order = RunSave(
            tenant=record.tenant,
            run_id=record.run_id,
            expect_owner=self._s.owner,
            status=status,
            reason=reason,
            release=release,
            start=self._start_again(),
            turn=None if turn is None else self._turn_record(turn),
            events=tuple(self._stored(event) for event in events),
            now_us=self._s.clock.now_us(),
        )
        try:
            saved = await self._s.store.save_run(order)
        except BaseException:
            if release or status == "ended":
                self.held = False
                self._s.owed_runs[(record.tenant, record.run_id)] = order
            else:
                self._unsaved[:0] = events
            raise
        self.held = saved and not release and status != "ended"
        if not saved:
            raise StoreError(f"run {record.run_id} was taken over by another process")

    async def pay(self) -> None:
        """Tries once more to end the run, or to let go of it, if that is owed.

        Raises:
            StoreError: The store does not take it now; it stays owed.
        """
        await pay(self._s, self.record.tenant, self.record.run_id)

    async def cancelled(self) -> bool:
        """Whether somebody asked the run to stop. A store that is away for a moment says nothing: ask again."""
        try:
            record = await self._s.store.get_run(self.record.tenant, self.record.run_id)
        except StoreError:
            return False
        return record is not None and record.cancel

    def _start_again(self) -> bytes | None:
        """What was stored of the start, if it has changed: time that was taken has no turn to be kept with yet."""
        spent_s = self.history.before_s
        if self.history.turns or spent_s == self.start.spent_s:
            return None
        return self._seal(msgspec.structs.replace(self.start, spent_s=spent_s), "start")

    def _turn_record(self, turn: int) -> TurnRecord:
        record, one = self.record, self.history.turns[turn]
        results = Results(results=one.results, spent_s=one.spent_s)
        return TurnRecord(
            run_id=record.run_id,
            tenant=record.tenant,
            turn=turn,
            view_digest=one.view_digest,
            answer=self._seal(one.answer, f"answer{turn}"),
            results=self._seal(results, f"results{turn}"),
            created_us=self._s.clock.now_us(),
        )

    def _stored(self, event: RunEvent) -> StoredEvent:
        record = self.record
        return StoredEvent(
            run_id=record.run_id,
            tenant=record.tenant,
            seq=event.seq,
            at_us=event.at_us,
            body=self._seal(event, f"event{event.seq}"),
        )

    def _seal(self, value: Any, what: str) -> bytes:
        return seal(self._s, value, tenant=self.record.tenant, run_id=self.record.run_id, what=what)


def _turn(s: Services, one: TurnRecord) -> Turn:
    of = {"tenant": one.tenant, "run_id": one.run_id}
    answer = unseal(s, one.answer, Answer, **of, what=f"answer{one.turn}")
    results: list[ToolResult | None] = [None] * len(answer.model.calls)
    spent_s = 0.0
    if one.results is not None:
        kept = unseal(s, one.results, Results, **of, what=f"results{one.turn}")
        results, spent_s = kept.results, kept.spent_s
    return Turn(answer=answer, view_digest=one.view_digest, results=results, spent_s=spent_s)


def open_event(s: Services, stored: StoredEvent) -> RunEvent:
    """An event as it was stored."""
    return unseal(s, stored.body, RunEvent, tenant=stored.tenant, run_id=stored.run_id, what=f"event{stored.seq}")
