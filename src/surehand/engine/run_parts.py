"""What the engine does with a run, whoever drives it: reads and seals its parts, takes it, makes up for its release."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from ..call import ToolResult
from ..errors import StoreError
from ..pipeline import Services
from ..ports import RunRecord, RunSave
from ..types import Caller

T = TypeVar("T")

BY_HAND = "somebody stopped it"
"""Why a run ended that was cancelled by its id."""
GAP = 1_000_000
"""Between the last stored event and the first of whoever takes the run: the dead may have told some that are lost."""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one turn's calls, by position."""

    results: list[ToolResult | None]
    spent_s: float = 0.0
    """What the run has taken of its time, up to here."""


class _Started(msgspec.Struct, frozen=True):
    caller: Caller


def seal(s: Services, value: Any, *, tenant: str, run_id: str, what: str) -> bytes:
    """A part of a run, sealed for its place."""
    return s.keyring.seal(msgspec.json.encode(value), context=_context(tenant, run_id, what))


def unseal(s: Services, sealed: bytes, kind: type[T], *, tenant: str, run_id: str, what: str) -> T:
    """What was sealed.

    Raises:
        UnsealError: It was changed, or belongs elsewhere.
    """
    return msgspec.json.decode(s.keyring.unseal(sealed, context=_context(tenant, run_id, what)), type=kind)


def _context(tenant: str, run_id: str, what: str) -> str:
    """Unambiguous whatever a tenant or a run is called."""
    return json.dumps(["run", what, tenant, run_id])


def starter(s: Services, start: bytes, *, tenant: str, run_id: str) -> Caller:
    """Who started a run, from where nobody can change it."""
    return unseal(s, start, _Started, tenant=tenant, run_id=run_id, what="start").caller


async def take(s: Services, record: RunRecord) -> RunRecord | None:
    """Makes this engine the run's driver, as `RunStore.take_run`; what it still owes the run goes first.

    Raises:
        StoreError: It is not known whether it is; `Maintenance` lets go of it then.
    """
    await pay(s, record.tenant, record.run_id)
    try:
        now_us = s.clock.now_us()
        return await s.store.take_run(record.tenant, record.run_id, s.owner, now_us=now_us, silent_us=s.lease_us)
    except StoreError:
        owe_release(s, record)
        raise


async def pay(s: Services, tenant: str, run_id: str) -> None:
    """Ends a run, or lets go of it, as was due when the store did not take that.

    Raises:
        StoreError: It still does not.
    """
    key = (tenant, run_id)
    order = s.owed_runs.get(key)
    if order is None:
        return
    await s.store.save_run(order)
    if s.owed_runs.get(key) is order:
        del s.owed_runs[key]


def owe_release(s: Services, record: RunRecord) -> None:
    """Has `Maintenance` let go of a run that this engine may have taken."""
    s.owed_runs[(record.tenant, record.run_id)] = RunSave(
        tenant=record.tenant,
        run_id=record.run_id,
        expect_owner=s.owner,
        status=record.status,
        release=True,
        now_us=s.clock.now_us(),
    )


async def last_seq(s: Services, tenant: str, run_id: str) -> int:
    """Number of the last stored event, or 0."""
    last = 0
    while page := await s.store.list_run_events(tenant, run_id, after_seq=last):
        last = page[-1].seq
    return last
