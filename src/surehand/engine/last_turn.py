"""The last turn of a run that ends: what became of its calls, as the ledger has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ..call import RunStep, ToolCall, ToolResult, told
from ..ledger import CallRecord
from ..normalize import failures
from ..pipeline import Services
from ..pipeline.stored import answer, for_reader
from ..ports import RunRecord, TurnRecord
from ..types import Caller
from .run_parts import Results, seal, starter, unseal

_MADE_AGAIN = 4
"""How often a call may be in the ledger: again whenever it failed without an effect and its run was resumed."""


class _Said(msgspec.Struct, frozen=True):
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class _Answered(msgspec.Struct, frozen=True):
    model: _Said


class LastTurn(NamedTuple):
    """The last turn of a run that nobody drives, as it ends with the run."""

    record: TurnRecord | None
    """With a result for every call; `None` if the run has no turn."""
    text: str
    """Of the model."""
    ended: dict[int, ToolResult]
    """Results of the calls that had none before, by position."""


async def last_turn(s: Services, record: RunRecord) -> LastTurn:
    """See `LastTurn`."""
    tenant, run_id = record.tenant, record.run_id
    turns = await s.store.list_turns(tenant, run_id)
    if not turns:
        return LastTurn(None, "", {})
    last = turns[-1]
    said = unseal(s, last.answer, _Answered, tenant=tenant, run_id=run_id, what=f"answer{last.turn}").model
    if last.results is None:
        return LastTurn(last, said.text, {})
    what = f"results{last.turn}"
    kept = unseal(s, last.results, Results, tenant=tenant, run_id=run_id, what=what)
    by = starter(s, record.start, tenant=tenant, run_id=run_id)
    ended = await end_calls(s, by, RunStep(run_id=run_id, turn=last.turn), said.calls, kept.results)
    closed = [ended.get(i, one) for i, one in enumerate(kept.results)]
    results = seal(s, msgspec.structs.replace(kept, results=closed), tenant=tenant, run_id=run_id, what=what)
    return LastTurn(msgspec.structs.replace(last, results=results), said.text, ended)


async def end_calls(
    s: Services, by: Caller, step: RunStep, calls: Sequence[ToolCall], results: Sequence[ToolResult | None]
) -> dict[int, ToolResult]:
    """Results for the calls of a turn that have none when their run ends, by position: as the ledger has them.

    Args:
        s: Of the engine.
        by: The run's caller.
        step: The turn.
        calls: What the model asked for.
        results: What there is.
    """
    left = [i for i, one in enumerate(results) if one is None or one.status == "pending"]
    if not left:
        return {}
    # Those of the last turn, and what their handlers called, are the newest, and few are made more than once.
    most = len(results) * _MADE_AGAIN * (1 + s.limits.nested_calls)
    records = await s.store.list_calls(by.tenant, run_id=step.run_id, limit=most)
    made = {one.position: one for one in reversed(records) if one.step_index == step.turn}
    return {i: await _end_call(s, by, calls[i], results[i], made.get(i)) for i in left}


async def _end_call(
    s: Services, by: Caller, call: ToolCall, before: ToolResult | None, made: CallRecord | None
) -> ToolResult:
    if made is None and before is not None:  # it waits for the same effect, which another run asked for
        made = await s.store.get_call(by.tenant, before.call_id)
    if made is not None and made.status in ("ok", "error", "denied"):
        result = for_reader(s, by, made, await answer(s, made, s.world), s.world)
        return msgspec.structs.replace(result, tool_call_id=call.id)
    if made is None or made.status not in ("running", "unknown"):
        return _cancelled(call, before)
    error = failures.unknown_of(made.name, made.version, "cancelled")
    return ToolResult(
        call_id=made.call_id,
        tool_call_id=call.id,
        name=made.name,
        version=made.version,
        status="unknown",
        content=error.message,
        error=error,
        is_error=True,
        approval_id=made.approval_id,
    )


def _cancelled(call: ToolCall, before: ToolResult | None) -> ToolResult:
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


def ended_elsewhere(result: ToolResult, position: int) -> dict[str, Any]:
    """The data of `call.finished` for a call whose end no event of its run told."""
    return {
        "call_id": result.call_id,
        "tool_call_id": result.tool_call_id,
        "name": result.name,
        "position": position,
        **told(result),
    }
