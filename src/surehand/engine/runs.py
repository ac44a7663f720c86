"""`engine.runs`: the stored runs of a tenant. What drives them is `sh.run`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from ..errors import ConfigError, NotAllowedError, NotFoundError
from ..pipeline import Services
from ..policy import Allow
from ..ports import RunRecord, RunSave, RunStatus
from ..types import Caller
from .ending import withdraw


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands."""

    run_id: str
    caller: str
    """The person's id."""
    agent: str
    model: str
    status: RunStatus
    reason: str | None
    """Why it ended."""
    turns: int
    created_us: int
    updated_us: int


class Runs:
    """Reads and stops runs; of the caller's tenant, their own or, if policy lets them read the audit, all."""

    def __init__(self, services: Services) -> None:
        self._s = services
        self._resume: Callable[..., AsyncIterator[Any]] | None = None

    async def get(self, run_id: str, *, by: Caller) -> RunInfo:
        """One run.

        Raises:
            NotFoundError: There is none in the caller's tenant.
            NotAllowedError: It is somebody else's, and policy does not let the caller read the audit.
        """
        return _info(await self._find(run_id, by))

    async def list(self, *, by: Caller, statuses: Sequence[RunStatus] = (), limit: int = 100) -> list[RunInfo]:
        """Newest first; without the right to read the audit only the caller's own."""
        found = await self._s.store.list_runs(by.tenant, statuses=statuses, limit=limit)
        return [_info(one) for one in found if self._may_read(by, one)]

    async def events(self, run_id: str, *, by: Caller, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Stored events beyond a number, in order, as JSON objects: for a user interface that comes later.

        Raises:
            NotFoundError, NotAllowedError: As `get`.
        """
        record = await self._find(run_id, by)
        stored = await self._s.store.list_run_events(record.tenant, run_id, after_seq=after, limit=limit)
        return [
            msgspec.json.decode(self._s.keyring.unseal(one.body, context=f"event{one.seq}:{run_id}:{one.tenant}"))
            for one in stored
        ]

    async def cancel(self, run_id: str, *, by: Caller) -> RunInfo:
        """Stops a run, whoever drives it; one that nobody drives ends at once. Its open questions are withdrawn.

        Raises:
            NotFoundError, NotAllowedError: As `get`.
        """
        s = self._s
        record = await self._find(run_id, by)
        now_us = s.clock.now_us()
        if await s.store.cancel_run(record.tenant, run_id, now_us):
            taken = await s.store.take_run(record.tenant, run_id, s.owner, now_us=now_us, silent_us=s.lease_us)
            if taken is not None and record.owner != s.owner:
                await self.withdraw(record.tenant, run_id)
                ended = RunSave(
                    tenant=record.tenant,
                    run_id=run_id,
                    expect_owner=s.owner,
                    status="ended",
                    reason="cancelled",
                    now_us=now_us,
                )
                await s.store.save_run(ended)
        return await self.get(run_id, by=by)

    def resume(self, run_id: str, *, by: Caller, model: Any, **options: Any) -> AsyncIterator[Any]:
        """The same as `sh.run(engine, run_id=..., caller=..., model=...)`.

        Raises:
            ConfigError: Nothing that drives runs was imported.
        """
        if self._resume is None:
            raise ConfigError(
                "resume: nothing drives runs here yet; use sh.run(engine, run_id=..., model=..., caller=...)"
            )
        return self._resume(run_id=run_id, caller=by, model=model, **options)

    def attach(self, resume: Callable[..., AsyncIterator[Any]]) -> None:
        """Sets what `resume` uses; `sh.run` does this."""
        self._resume = resume

    async def withdraw(self, tenant: str, run_id: str) -> None:
        """Ends the calls of a run that wait for people or were not resumed: nobody will."""
        most = self._s.limits.open_approvals
        for call in await self._s.store.list_calls(tenant, statuses=("waiting", "ready"), limit=most):
            if call.run_id == run_id:
                await withdraw(self._s, call)

    async def _find(self, run_id: str, by: Caller) -> RunRecord:
        record = await self._s.store.get_run(by.tenant, run_id)
        if record is None:
            raise NotFoundError(f"there is no run {run_id!r}")
        if not self._may_read(by, record):
            raise NotAllowedError(f"run {run_id!r} is somebody else's")
        return record

    def _may_read(self, by: Caller, record: RunRecord) -> bool:
        if by.same_person(record.caller):
            return True
        decision = self._s.world.policies.may(by, "audit", None, now_ns=self._s.clock.now_us() * 1000)
        return isinstance(decision, Allow)


def _info(record: RunRecord) -> RunInfo:
    return RunInfo(
        run_id=record.run_id,
        caller=record.caller.id,
        agent=record.caller.agent,
        model=record.model,
        status=record.status,
        reason=record.reason,
        turns=record.turns,
        created_us=record.created_us,
        updated_us=record.updated_us,
    )
