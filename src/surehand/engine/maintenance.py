"""What an engine does by itself: finds the work of the dead, ends what is over, seals the audit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ..audit import Anchor, Checkpoint, checkpoint, link
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.trace import late
from ..pipeline.unknown import recover_one, settle_by_check
from .ending import expire
from .heart import Heart
from .reminding import escalate, remind
from .run_parts import pay
from .stopping import stop

_BATCH = 100
_SEALED_AT_ONCE = 128
"""Calls wait for the same writer: a longer batch would hold them up for longer."""
_log = logging.getLogger("surehand.engine")


class Maintenance:
    """One task per engine, and its heartbeat. Everything here is conditional: any number of engines may do it at once.

    Each step, and each item of a step, fails for itself: one bad row never keeps the engine from the rest.
    """

    def __init__(self, services: Services, anchor: Anchor) -> None:
        self._s = services
        self._anchor = anchor
        self._heart = Heart(services.store, services.clock, every_s=services.limits.lease_s / 4)
        self._task: asyncio.Task[None] | None = None
        self._sealing = asyncio.Lock()

    async def start(self) -> None:
        """Says that this process is alive, does everything once, then goes on in the background.

        Raises:
            StoreError: The first heartbeat could not be written.
        """
        await self._s.store.beat(self._s.owner, self._s.clock.now_us())
        self._heart.start(self._s.owner)
        self._sealing = asyncio.Lock()
        await self._once()
        self._task = asyncio.create_task(self._forever(), name="surehand-maintenance")

    async def stop(self) -> None:
        """Ends the task and seals what there is. Never raises."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._guarded("pay", self._pay)
        await self._guarded("seal", self.seal)
        await self._heart.stop()

    async def seal(self) -> None:
        """Chains and signs all unsealed rows, and repeats the checkpoints outside the database."""
        async with self._sealing:
            for tenant in await self._s.store.tenants(unsealed=True):
                sign = partial(self._sign, tenant)
                while await self._s.store.seal(tenant, link, sign, limit=_SEALED_AT_ONCE):
                    pass
                await self._repeat_outside(tenant)

    async def _repeat_outside(self, tenant: str) -> None:
        """Whatever the anchor lacks: a process may have died between the database and the anchor."""
        last = await asyncio.to_thread(self._anchor.last, tenant)
        missing = await self._s.store.checkpoints(tenant, after_seq=0 if last is None else last.seq)
        await asyncio.to_thread(self._anchor.append, missing)

    def _sign(self, tenant: str, seq: int, chain: str) -> Checkpoint:
        return checkpoint(self._s.keyring, tenant, seq, chain, self._s.clock.now_us())

    async def _forever(self) -> None:
        while True:
            await asyncio.sleep(self._s.limits.lease_s / 3)
            await self._once()

    async def _once(self) -> None:
        await self._guarded("pay", self._pay)
        await self._guarded("recover", self._recover)
        await self._guarded("stop", self._stop)
        await self._guarded("free", self._free)
        await self._guarded("expire", self._expire)
        await self._guarded("remind", partial(remind, self._s))
        await self._guarded("escalate", partial(escalate, self._s))
        await self._guarded("seal", self.seal)

    async def _guarded(self, where: str, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Exception as error:
            text = self._s.redactor.text(f"{type(error).__name__}: {error}")
            _log.warning("maintenance: %s failed: %s", where, text)
            self._s.emit("engine.problem", where=f"maintenance: {where}", problem=text)

    async def _pay(self) -> None:
        """Makes the changes that the store did not take when they were due. One that fails waits for the next time."""
        failed: Exception | None = None
        for move in list(self._s.owed):
            try:
                if not await self._s.store.move(move) and move.audit:
                    # Somebody has settled the call meanwhile; what was known here is still evidence.
                    await self._s.store.record([late(self._s, row) for row in move.audit])
                self._s.owed.remove(move)
            except Exception as error:
                failed = error
        for tenant, run_id in list(self._s.owed_runs):
            if (tenant, run_id) in self._s.driving:
                continue  # whoever drives it has paid, or leaves it like this
            try:
                await pay(self._s, tenant, run_id)
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed

    async def _recover(self) -> None:
        now_us = self._s.clock.now_us()
        for record in await self._s.store.orphans(now_us=now_us, silent_us=self._s.lease_us, limit=_BATCH):
            if record.owner != self._s.owner:
                await self._guarded("recover", partial(self._recover_one, record, "its process is gone"))
        for record in await self._s.store.running_of(self._s.owner, limit=_BATCH):
            held = record.call_id in self._s.passing or any(move.call_id == record.call_id for move in self._s.owed)
            lost = not held and now_us - (record.started_us or 0) > self._s.lease_us
            if lost:
                await self._guarded("recover", partial(self._recover_one, record, "its task is gone"))

    async def _free(self) -> None:
        """Ends what reads hold that nobody makes any more: of dead processes, or whose end could not be written."""
        now_us = self._s.clock.now_us()
        found = await self._s.store.open_reads(
            self._s.owner, now_us=now_us, silent_us=self._s.lease_us, limit=_BATCH + len(self._s.reading)
        )
        for tenant, call_id in found:
            if call_id not in self._s.reading:
                await self._s.store.end_read(tenant, call_id, spent=True)

    async def _recover_one(self, record: CallRecord, why: str) -> None:
        found = await recover_one(self._s, record, why=why)
        if found.status == "unknown":
            await settle_by_check(self._s, found, self._s.world)

    async def _stop(self) -> None:
        """Runs that were asked to stop by whoever could not end them: their driver lived, or had just let go."""
        for run in await self._s.store.undriven_stops(
            now_us=self._s.clock.now_us(), silent_us=self._s.lease_us, limit=_BATCH
        ):
            await self._guarded("stop", partial(stop, self._s, run))

    async def _expire(self) -> None:
        for approval in await self._s.store.expired_approvals(self._s.clock.now_us(), limit=_BATCH):
            await self._guarded("expire", partial(expire, self._s, approval))
