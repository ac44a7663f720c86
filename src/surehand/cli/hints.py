"""What to do next: commands that this caller may run, and that work as they are printed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import ApprovalError
from .entitled import check_entitled, may

if TYPE_CHECKING:
    from ..call import ToolResult
    from ..engine import Engine
    from ..errors import ToolError
    from .session import Session

_NO_KEY = "nothing says which effect"
"""How the refusal of a call without a key goes."""


async def after_call(engine: Engine, result: ToolResult, session: Session, *, commands: Iterable[str]) -> str:
    """After a call or a resumption.

    Args:
        engine: Open.
        result: What it gave.
        session: Whose command it was.
        commands: Of the group `call`, for whoever mistyped one.
    """
    if result.status == "pending":
        return await _after_pending(engine, result, session)
    if result.status == "unknown":
        return await _after_unknown(engine, result, session)
    return "" if result.error is None else _after_error(result, result.error, session, commands)


async def _after_pending(engine: Engine, result: ToolResult, session: Session) -> str:
    resume = f"surehand call resume {result.call_id}{session.as_option()}"
    if result.approval_id is None:
        return resume
    approval = await engine.services.store.get_approval(session.caller.tenant, result.approval_id)
    if approval is None or approval.status != "open":
        return resume
    try:
        await check_entitled(engine, result.approval_id, session.caller)
    except ApprovalError:
        groups = " and ".join(sorted({need.group for need in approval.needs}))
        if groups == "self":
            groups = approval.requester
        return f"wait until {groups} has answered {result.approval_id}, then {resume}"
    return f"surehand approvals approve {result.approval_id}{session.as_option()}, then {resume}"


async def _after_unknown(engine: Engine, result: ToolResult, session: Session) -> str:
    caller = session.caller
    record = await engine.services.store.get_call(caller.tenant, result.call_id)
    entry = engine.services.world.catalog.resolve(result.name, result.version)
    own = record is not None and caller.same_person(record.caller)
    if own or may(engine, caller, "resolve", None if entry is None else entry.tool.spec):
        return f"surehand call unknown check {result.call_id}{session.as_option()}"
    return f"wait until an operator has settled {result.call_id}"


def _after_error(result: ToolResult, error: ToolError, session: Session, commands: Iterable[str]) -> str:
    known = error.details.get("call_id")
    if error.code == "TOOL_DUPLICATE_REQUEST" and isinstance(known, str):
        return f"surehand call resume {known}{session.as_option()}"
    if error.code == "POLICY_DENIED" and _NO_KEY in error.message:
        return "pass --key KEY, your own name of this effect, or --run RUN_ID; better: declare key= in the tool"
    if error.code == "TOOL_NOT_FOUND":
        if result.name == "list":
            return "there is no command `call list`; `surehand audit list` and `surehand call unknown list` list calls"
        near = difflib.get_close_matches(result.name, list(commands), n=1)
        meant = f"; or did you mean the command `surehand call {near[0]}`?" if near else ""
        return f"surehand tools list{session.as_option()}{meant}"
    return ""
