"""The sealed parts of a run that the engine must read, whoever drives it: who started it, what its calls came to."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from ..call import ToolCall, ToolResult
from ..pipeline import Services
from ..ports import TurnRecord
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


class _Said(msgspec.Struct, frozen=True):
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class _Answered(msgspec.Struct, frozen=True):
    model: _Said


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


async def last_seq(s: Services, tenant: str, run_id: str) -> int:
    """Number of the last stored event, or 0."""
    last = 0
    while page := await s.store.list_run_events(tenant, run_id, after_seq=last):
        last = page[-1].seq
    return last


async def last_turn(s: Services, tenant: str, run_id: str) -> tuple[TurnRecord | None, str]:
    """The last turn of a run that nobody drives, every open call of it told as cancelled; and the model's text."""
    turns = await s.store.list_turns(tenant, run_id)
    if not turns:
        return None, ""
    last = turns[-1]
    said = unseal(s, last.answer, _Answered, tenant=tenant, run_id=run_id, what=f"answer{last.turn}").model
    if last.results is None:
        return last, said.text
    what = f"results{last.turn}"
    kept = unseal(s, last.results, Results, tenant=tenant, run_id=run_id, what=what)
    closed = [
        cancelled(call, one) if one is None or one.status == "pending" else one
        for call, one in zip(said.calls, kept.results, strict=False)
    ]
    results = seal(s, msgspec.structs.replace(kept, results=closed), tenant=tenant, run_id=run_id, what=what)
    return msgspec.structs.replace(last, results=results), said.text


def cancelled(call: ToolCall, before: ToolResult | None) -> ToolResult:
    """The result of a call that ended with its run."""
    return ToolResult(
        call_id="" if before is None else before.call_id,
        tool_call_id=call.id,
        name=call.name,
        version=None,
        status="cancelled",
        content=f"`{call.name}` was cancelled with the run.",
        is_error=True,
        approval_id=None if before is None else before.approval_id,
    )
