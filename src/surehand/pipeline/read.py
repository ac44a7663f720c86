"""A read-only call that nobody must be asked about: stages 6, 7 and 9 are in memory, and it may be degraded."""

from __future__ import annotations

import asyncio

import msgspec

from ..call import ToolCall, ToolResult
from ..errors import Code
from ..spec import FROM_CACHE
from .breaker import admit, leave
from .execute import execute
from .nested import Perform
from .passage import Passage
from .quota import charge_read, end_read
from .reuse import reuse
from .services import Services, new_id
from .shape import note_cancelled, shape

_ILL: frozenset[Code] = frozenset({"TOOL_UNAVAILABLE", "TOOL_TIMEOUT", "TOOL_ERROR"})
"""Errors that speak of the tool's health, not of the call."""


async def read(p: Passage, s: Services, perform: Perform) -> ToolResult:
    """From stage 6 on. `perform` makes the call of a declared fallback, which is governed as itself."""
    if reuse(p, s):
        return await shape(p, s, None)
    try:
        stop = admit(p, s) or await charge_read(p, s)
        if stop is None:
            await execute(p, s, perform)
        error = stop.error if stop is not None else p.outcome.error if p.outcome is not None else None
        ill = error is not None and error.code in _ILL
        if ill and p.spec.fallback == FROM_CACHE and reuse(p, s, stale=True):
            return await shape(p, s, None)
        result = await shape(p, s, stop)
        return await _instead(p, s, perform) or result if ill else result
    except asyncio.CancelledError:
        note_cancelled(p, s)
        raise
    finally:
        leave(p, s)
        end_read(p, s)


async def _instead(p: Passage, s: Services, perform: Perform) -> ToolResult | None:
    """The result of the tool that stands in, with its own policy, record and id; nothing if it has none to give."""
    name = p.spec.fallback
    if not name or name == FROM_CACHE or p.fallback_for is not None:
        return None
    entry = p.world.catalog.resolve(name, None)
    if entry is None or not entry.tool.spec.read_only:
        return None
    other = Passage(
        call=ToolCall(id=p.call.id, name=name, arguments=p.arguments),
        caller=p.caller,
        call_id=new_id("call"),
        world=p.world,
        began_us=s.clock.now_us(),
        run=p.run,
        parent=p.parent,
        origin=p.origin,
        not_after=p.not_after,
        fallback_for=p.spec.id,
        fallback_of=p.call_id,
    )
    result = await perform(other, s)
    if result.status not in ("ok", "pending") or result.is_error:
        return None
    content = f"[`{p.spec.name}` is unavailable; `{result.name}` answered instead]\n{result.content}"
    return msgspec.structs.replace(result, content=content, fallback_for=p.spec.id)
