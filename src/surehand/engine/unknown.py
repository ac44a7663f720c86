"""`engine.unknown`: calls whose effect may or may not have happened, and the evidence that settles them."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..errors import ConfigError, NotAllowedError, NotFoundError
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.stored import own_caller
from ..pipeline.trace import stored_arguments
from ..pipeline.unknown import HELD, may_still_run, settle_by_check, settle_done, settle_not_done
from ..policy import Allow
from ..redact import MARK, Redactor
from ..spec import Done, NotDone
from ..types import Caller
from .arguments import checked


class UnknownCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose effect may or may not have happened, as the person who settles it sees it."""

    record: CallRecord
    arguments: dict[str, Any]
    """What it ran with, injected ones included, without secrets."""
    age_s: float
    """Since the handler was started."""
    checkable: bool
    """Whether the tool has a `status_check`, which `check` asks."""
    may_still_run: bool
    """Whether a handler of it may still be at work: until that has ended, nobody can say that it did not happen."""

    @property
    def call_id(self) -> str:
        """Of the call."""
        return self.record.call_id


@checked
class Unknowns:
    """Nothing but evidence settles an unknown call: the tool's own `status_check`, or a person who looked."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def list(self, *, by: Caller, limit: int = 100) -> list[UnknownCall]:
        """Open unknown calls of the caller's tenant, newest first.

        Raises:
            NotAllowedError: Policy does not let the caller resolve calls.
        """
        self._may(by, None)
        records = await self._s.store.list_calls(by.tenant, statuses=("unknown",), limit=limit)
        return [await self._told(record) for record in records]

    async def check(self, call_id: str, *, by: Caller) -> CallRecord:
        """Asks the tool's `status_check` now; without one, or without an answer, the call stays unknown.

        Raises:
            NotFoundError: There is no such call in the caller's tenant.
            NotAllowedError: It is somebody else's, and policy does not let the caller resolve calls of this tool.
        """
        record = await self._find(call_id, by)
        if not by.same_person(own_caller(self._s, record)):
            self._may(by, record)
        return await settle_by_check(self._s, record, self._s.world) if record.status == "unknown" else record

    async def resolve(self, call_id: str, outcome: Done | NotDone, *, by: Caller, evidence: str) -> CallRecord:
        """A person says what happened, and how they know.

        Raises:
            ConfigError: `evidence` is empty, or `outcome` is neither `Done` nor `NotDone`.
            NotFoundError: There is no such unknown call in the caller's tenant.
            NotAllowedError: Policy does not let the caller resolve calls of this tool.
        """
        if not isinstance(outcome, Done | NotDone):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"resolve: {outcome!r} is not an outcome; pass Done(result) or NotDone()")
        if not evidence.strip():
            raise ConfigError("resolve: evidence is empty; say how you know what happened")
        record = await self._find(call_id, by)
        self._may(by, record)
        if record.status != "unknown":
            raise NotFoundError(f"call {call_id!r} is {record.status}, not unknown")
        words = self._redactor(record).polish(evidence, 1000)
        if isinstance(outcome, NotDone) and record.owner != HELD and await may_still_run(self._s, record):
            raise ConfigError(
                f"resolve: a handler of {call_id} may still run; wait until it has ended, or its process has"
            )
        if isinstance(outcome, Done):
            entry = self._s.world.catalog.resolve(record.name, record.version)
            tool = None if entry is None else entry.tool
            return await settle_done(self._s, record, outcome, tool=tool, by=by, words=words)
        return await settle_not_done(self._s, record, by=by, words=words)

    async def _told(self, record: CallRecord) -> UnknownCall:
        entry = self._s.world.catalog.resolve(record.name, record.version)
        schema = None if entry is None else entry.tool.spec.parameters
        final = stored_arguments(self._s, record).final
        shown: Any = self._redactor(record).value(final, schema, names=True)
        since_us = record.started_us or record.created_us
        return UnknownCall(
            record=record,
            arguments=cast("dict[str, Any]", shown) if isinstance(shown, dict) else dict.fromkeys(final, MARK),
            age_s=max(0, self._s.clock.now_us() - since_us) / 1_000_000,
            checkable=entry is not None and entry.tool.status_check is not None,
            may_still_run=await may_still_run(self._s, record),
        )

    def _redactor(self, record: CallRecord) -> Redactor:
        """Knows the secret arguments of the call: a person may quote them."""
        entry = self._s.world.catalog.resolve(record.name, record.version)
        schema = None if entry is None else entry.tool.spec.parameters
        stored = stored_arguments(self._s, record)
        return self._s.redactor.with_known(self._s.redactor.secrets_in(stored.final, schema, names=True))

    async def _find(self, call_id: str, by: Caller) -> CallRecord:
        record = await self._s.store.get_call(by.tenant, call_id)
        if record is None:
            raise NotFoundError(f"there is no call {call_id!r}")
        return record

    def _may(self, by: Caller, record: CallRecord | None) -> None:
        entry = None if record is None else self._s.world.catalog.resolve(record.name, record.version)
        spec = None if entry is None else entry.tool.spec
        decision = self._s.world.policies.may(by, "resolve", spec, now_ns=self._s.clock.now_us() * 1000)
        if not isinstance(decision, Allow):
            raise NotAllowedError(f"{by.id} may not resolve calls: {'; '.join(decision.reasons)}")
