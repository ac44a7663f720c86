"""`engine.runs`: the stored runs of a tenant. What drives them is `sh.run`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from ..errors import ConfigError, NotAllowedError, NotFoundError, StoreError
from ..pipeline import Services
from ..policy import Allow
from ..ports import RunRecord, RunStatus
from ..types import Caller
from .arguments import checked
from .run_parts import starter, unseal
from .stopping import stop


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


@checked
class Runs:
    """Reads and stops runs; of the caller's tenant, their own or, if policy lets them read the audit, all.

    Args:
        services: Of the engine.
        engine: What drives a run that is resumed here.
    """

    _drive: ClassVar[Callable[..., AsyncIterator[Any]] | None] = None

    def __init__(self, services: Services, engine: Any = None) -> None:
        self._s = services
        self._engine = engine

    async def get(self, run_id: str, *, by: Caller) -> RunInfo:
        """One run.

        Raises:
            NotFoundError: There is none in the caller's tenant.
            NotAllowedError: It is somebody else's, and policy does not let the caller read the audit.
            StoreError: It was tampered with.
        """
        return _info(*await self._find(run_id, by))

    async def list(self, *, by: Caller, statuses: Sequence[RunStatus] = (), limit: int = 100) -> list[RunInfo]:
        """Newest first; without the right to read the audit only the caller's own."""
        every = self._may(by, "audit")
        most = limit
        while True:
            found = await self._s.store.list_runs(by.tenant, statuses=statuses, limit=most)
            readable = [(one, caller) for one in found if (caller := self._starter(one)) is not None]
            kept = [_info(one, caller) for one, caller in readable if every or by.same_person(caller)]
            if len(kept) >= limit or len(found) < most:
                return kept[:limit]
            most *= 4

    async def events(self, run_id: str, *, by: Caller, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Stored events beyond a number, in order, as JSON objects: for a user interface that comes later.

        Raises:
            NotFoundError, NotAllowedError, StoreError: As `get`.
        """
        record, _ = await self._find(run_id, by)
        stored = await self._s.store.list_run_events(record.tenant, run_id, after_seq=after, limit=limit)
        kind: Any = dict[str, Any]
        return [
            unseal(self._s, one.body, kind, tenant=one.tenant, run_id=run_id, what=f"event{one.seq}") for one in stored
        ]

    async def cancel(self, run_id: str, *, by: Caller) -> RunInfo:
        """Stops a run, whoever drives it; one that nobody drives ends at once. Its open questions are withdrawn.

        One whose driver has died ends when its lease is over, by any engine's own doing.

        Raises:
            NotFoundError: There is none in the caller's tenant.
            NotAllowedError: It is somebody else's, and policy does not let the caller resolve calls.
            StoreError: It was tampered with.
        """
        s = self._s
        record, caller = await self._find(run_id, by, others="resolve")
        if await s.store.cancel_run(record.tenant, run_id, s.clock.now_us()):
            await stop(s, record)
        return _info(await s.store.get_run(by.tenant, run_id) or record, caller)

    def resume(self, run_id: str, *, by: Caller, model: Any, **options: Any) -> AsyncIterator[Any]:
        """The same as `sh.run(engine, run_id=..., caller=..., model=...)`.

        Raises:
            ConfigError: Nothing that drives runs was imported.
        """
        if Runs._drive is None:
            raise ConfigError("resume: nothing drives runs here yet; import surehand.agent first")
        return Runs._drive(self._engine, run_id=run_id, caller=by, model=model, **options)

    @classmethod
    def attach(cls, drive: Callable[..., AsyncIterator[Any]]) -> None:
        """Sets what `resume` uses, for every engine; `surehand.agent` does this when it is imported."""
        Runs._drive = staticmethod(drive)

    async def _find(
        self, run_id: str, by: Caller, *, others: Literal["audit", "resolve"] = "audit"
    ) -> tuple[RunRecord, Caller]:
        """A run and who started it, as sealed: the column beside it may have been changed."""
        record = await self._s.store.get_run(by.tenant, run_id)
        if record is None:
            raise NotFoundError(f"there is no run {run_id!r}")
        caller = starter(self._s, record.start, tenant=record.tenant, run_id=run_id)
        if not by.same_person(caller) and not self._may(by, others):
            raise NotAllowedError(f"run {run_id!r} is somebody else's")
        return record, caller

    def _starter(self, record: RunRecord) -> Caller | None:
        try:
            return starter(self._s, record.start, tenant=record.tenant, run_id=record.run_id)
        except (StoreError, msgspec.MsgspecError):
            return None

    def _may(self, by: Caller, action: Literal["audit", "resolve"]) -> bool:
        decision = self._s.world.policies.may(by, action, None, now_ns=self._s.clock.now_us() * 1000)
        return isinstance(decision, Allow)


def _info(record: RunRecord, caller: Caller) -> RunInfo:
    return RunInfo(
        run_id=record.run_id,
        caller=caller.id,
        agent=caller.agent,
        model=record.model,
        status=record.status,
        reason=record.reason,
        turns=record.turns,
        created_us=record.created_us,
        updated_us=record.updated_us,
    )
