"""What an engine does by itself: beats, finds the work of the dead, ends expired questions, seals the audit."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

from ..approval import Approval
from ..audit import Anchor, Checkpoint, checkpoint, link
from ..errors import SurehandError
from ..pipeline import Services
from ..pipeline.trace import record_row
from ..pipeline.unknown import recover_one, settle_by_check
from ..ports import Move

_BATCH = 100
_SEALED_AT_ONCE = 128
"""Calls wait for the same writer: a longer batch would hold them up for longer."""


class Maintenance:
    """One task per engine. Everything it does is conditional, so any number of engines may do it at once."""

    def __init__(self, services: Services, anchor: Anchor) -> None:
        self._s = services
        self._anchor = anchor
        self._task: asyncio.Task[None] | None = None
        self._sealing = asyncio.Lock()

    async def start(self) -> None:
        """Does everything once, then goes on in the background."""
        await self._once()
        self._task = asyncio.create_task(self._forever(), name="surehand-maintenance")

    async def stop(self) -> None:
        """Ends the task and seals what there is."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._pay()
        await self.seal()

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
        pause_s = self._s.limits.lease_s / 3
        while True:
            await asyncio.sleep(pause_s)
            try:
                await self._once()
            except SurehandError as error:
                self._s.emit("engine.problem", where="maintenance", problem=self._s.redactor.text(str(error)))

    async def _once(self) -> None:
        await self._s.store.beat(self._s.owner, self._s.clock.now_us())
        await self._pay()
        await self._recover()
        await self._expire()
        await self.seal()

    async def _pay(self) -> None:
        """Makes the changes that the store did not take when they were due."""
        while self._s.owed:
            await self._s.store.move(self._s.owed[0])
            self._s.owed.pop(0)

    async def _recover(self) -> None:
        before_us = self._s.clock.now_us() - int(self._s.limits.lease_s * 1_000_000)
        for record in await self._s.store.orphans(before_us, limit=_BATCH):
            found = await recover_one(self._s, record)
            if found.status == "unknown":
                await settle_by_check(self._s, found, self._s.world)

    async def _expire(self) -> None:
        for approval in await self._s.store.expired_approvals(self._s.clock.now_us(), limit=_BATCH):
            await expire(self._s, approval)


async def expire(s: Services, approval: Approval) -> None:
    """Ends a question whose time is over. Nothing is ever approved by waiting."""
    await s.store.move(
        Move(
            tenant=approval.tenant,
            call_id=approval.call_id,
            expect=("waiting", "ready"),
            to="denied",
            error_code="APPROVAL_EXPIRED",
            finished_us=s.clock.now_us(),
            release_key=True,
            approval=(approval.approval_id, ("open", "approved"), "expired"),
            audit=(
                record_row(
                    s,
                    "approval.ended",
                    tenant=approval.tenant,
                    call_id=approval.call_id,
                    run_id=None,
                    approval_id=approval.approval_id,
                    name=approval.name,
                    version=approval.version,
                    status="expired",
                    error_code="APPROVAL_EXPIRED",
                ),
            ),
        )
    )
