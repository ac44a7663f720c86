"""`Plane`: reads the control plane, follows it, and writes to it. Every change is made from the latest state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..errors import StoreError, SurehandError
from ..pipeline import Services
from ..pipeline.trace import caller_facts, record_row, seal_json, unseal_json
from ..ports import ControlChange, ControlRow
from ..types import Caller
from ..view import World
from .control_state import Action, Body, ControlState, Kind, Read
from .worlds import Worlds

_log = logging.getLogger("surehand.engine")
_ROUNDS = 20
"""Of a change that others overtake again and again."""
_KEPT_HERE = frozenset({"publish", "use"})
"""What code does by being deployed and called: its record is the control plane's own history."""
BY_ITSELF = "surehand"
"""Who changes what engines change by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One row of a change, and what the audit and listeners are told of it."""

    kind: Kind
    name: str
    value: Any
    action: Action
    tenant: str = ""
    reason: str = ""
    was: str = ""
    now: str = ""
    confirmed_by: tuple[str, ...] = ()
    asked_by: str = ""
    """Who wanted it, as `tenant/id`, where others made it by their yes."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    audit: str = "control.changed"


class Plane:
    """Of one engine. `state` is what holds as far as it knows."""

    def __init__(self, services: Services, worlds: Worlds) -> None:
        self._s = services
        self._worlds = worlds
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self.state = ControlState()
        services.reload = self.refresh

    async def open(self) -> None:
        """Reads everything.

        Raises:
            StoreError: Somebody changed it who has no keys, or rows are missing.
        """
        self._lock = asyncio.Lock()
        self.state = ControlState()
        async with self._lock:
            await self._read()

    async def start(self) -> None:
        """Follows it from now on."""
        self._task = asyncio.create_task(self._follow(), name="surehand-control")

    async def stop(self) -> None:
        """Ends that."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def refresh(self) -> World:
        """What holds now.

        Raises:
            StoreError: It cannot be read.
        """
        async with self._lock:
            if await self._read():
                self._worlds.take(self.state)
        return self._s.world

    async def write(self, plan: Callable[[ControlState], list[Planned]], *, by: Caller | None) -> int | None:
        """Makes a change, or nothing if there is none to make.

        Args:
            plan: What to write, given the latest state. May run again, if somebody else was first.
            by: Who wants it; `None` for the engine itself.

        Returns:
            The revision from which it holds.

        Raises:
            StoreError: It could not be stored.
        """
        for _ in range(_ROUNDS):
            await self.refresh()
            rows = plan(self.state)
            if not rows:
                return None
            if await self._s.store.change_control(self._change(rows, by)):
                await self.refresh()
                for row in rows:
                    self._tell(row, by)
                return self.state.revision
        raise StoreError("the control plane keeps changing; nothing was done, try again")

    def _change(self, rows: list[Planned], by: Caller | None) -> ControlChange:
        revision, now_us = self.state.revision + 1, self._s.clock.now_us()
        who = BY_ITSELF if by is None else f"{by.tenant}/{by.id}"
        return ControlChange(
            rows=tuple(self._row(one, revision, now_us, one.asked_by or who) for one in rows),
            audit=tuple(self._audit(one, revision, by) for one in rows if one.action not in _KEPT_HERE),
        )

    def _row(self, one: Planned, revision: int, at_us: int, by: str) -> ControlRow:
        body = Body(
            action="ask" if one.kind == "proposal" else one.action,
            reason=one.reason,
            was=one.was,
            now=one.now,
            confirmed_by=one.confirmed_by,
            value=msgspec.Raw(msgspec.json.encode(one.value)),
        )
        place = _place(one.kind, one.name, revision, at_us, by)
        sealed = seal_json(self._s, body, tenant=one.tenant, call_id=place, what="control")
        return ControlRow(
            tenant=one.tenant, kind=one.kind, name=one.name, revision=revision, body=sealed, at_us=at_us, by=by
        )

    def _audit(self, one: Planned, revision: int, by: Caller | None) -> Any:
        kind: Any = one.audit
        return record_row(
            self._s,
            kind,
            tenant="" if by is None else by.tenant,
            call_id=None,
            run_id=None,
            action=one.action,
            target=one.name,
            of_tenant=one.tenant,
            was=one.was,
            now=one.now,
            reason=one.reason,
            revision=revision,
            confirmed_by=list(one.confirmed_by),
            caller=None if by is None else caller_facts(by),
            policy_set=self._s.world.policies.digest,
            **one.facts,
        )

    def _tell(self, one: Planned, by: Caller | None) -> None:
        kind: Any = one.audit
        if kind != "control.decided":
            facts = {name: one.facts[name] for name in ("change_id", "of") if name in one.facts}
            told: dict[str, Any] = {"action": one.action, "was": one.was, "now": one.now, "reason": one.reason, **facts}
            self._s.emit(kind, caller=by, name=one.name, **told)

    async def _read(self) -> bool:
        """Whether anything is new. What was read stays if something is wrong: then nothing takes effect any more."""
        latest = await self._s.store.control_revision()
        if latest == self.state.revision:
            return False
        rows = await self._s.store.list_control(after=self.state.revision)
        state = self.state.taking([self.opened(row) for row in rows])
        if latest < self.state.revision or state.revision < latest:
            raise StoreError(
                f"the control plane is at revision {latest} and its rows are not: somebody changed the database"
            )
        self.state = state
        return True

    def opened(self, row: ControlRow) -> Read:
        """A row, unsealed.

        Raises:
            StoreError: It was made or moved by somebody without the keys.
        """
        place = _place(row.kind, row.name, row.revision, row.at_us, row.by)
        body = unseal_json(self._s, row.body, Body, tenant=row.tenant, call_id=place, what="control")
        return Read(
            tenant=row.tenant,
            kind=row.kind,
            name=row.name,
            revision=row.revision,
            at_us=row.at_us,
            by=row.by,
            body=body,
        )

    async def _follow(self) -> None:
        well = True
        while True:
            await asyncio.sleep(self._s.limits.control_poll_s)
            try:
                await self.refresh()
                well = True
            except (SurehandError, msgspec.MsgspecError) as error:
                if well:
                    _log.error("the control plane cannot be followed: %s", error)
                    self._s.emit("engine.problem", where="control", problem=str(error))
                well = False


def _place(kind: str, name: str, revision: int, at_us: int, by: str) -> str:
    return f"{revision}/{at_us}/{by}/{kind}/{name}"
