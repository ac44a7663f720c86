"""What becomes of a call when this package itself fails."""

from __future__ import annotations

import contextlib
import logging
from types import TracebackType
from typing import cast

from ..call import OPEN, ResultStatus, ToolResult
from ..errors import Code, tool_error
from .events import problem, worded
from .passage import Passage
from .services import Services
from .trace import trace

_log = logging.getLogger("surehand.engine")


async def fault(p: Passage, s: Services, error: Exception) -> ToolResult:
    """A fault of this package's own: told as the ledger has it, recorded, and never a detail to the model."""
    _log.error("call %s failed inside the engine: %s", p.call_id, worded(p, s, error), exc_info=_frames(error))
    problem(p, s, "engine", error)
    status: ResultStatus = "error"
    with contextlib.suppress(Exception):
        record = None if p.record is None else await s.store.get_call(p.caller.tenant, p.record.call_id)
        if record is not None:
            status = "unknown" if record.status in OPEN else cast("ResultStatus", record.status)
    with contextlib.suppress(Exception):
        await s.recorder.soon(trace(p, s, "call.refused", status=status, error_code="TOOL_ERROR"))
    code: Code = "TOOL_OUTCOME_UNKNOWN" if status == "unknown" else "TOOL_ERROR"
    what = "Its effect has happened. " if status == "ok" else ""
    error_value = tool_error(
        code,
        f"`{p.call.name}` failed inside the engine; the details are in the operator's log. {what}"
        "Do not repeat the call; report the failure.",
        tool=p.call.name,
    )
    return ToolResult(
        call_id=p.call_id,
        tool_call_id=p.call.id,
        name=p.call.name,
        version=p.call.version,
        status=status,
        content=error_value.message,
        error=error_value,
        is_error=True,
    )


def _frames(error: Exception) -> tuple[type[Exception], Exception, TracebackType | None]:
    """Where it happened, without what it said: that may hold arguments."""
    return type(error), Exception("see the line above"), error.__traceback__
