"""How a person's other arguments for a waiting call become its question: in the name of the call's own caller."""

from __future__ import annotations

from typing import Any

import msgspec

from ..approval import Approval, seats_of
from ..errors import ApprovalError, ToolError
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.edited import Editor
from ..pipeline.events import redactor_of
from ..pipeline.order import revise
from ..pipeline.passage import Edit, Passage
from ..pipeline.stored import caller_now, own_caller, stored_passage
from ..pipeline.trace import StoredArguments, stored_arguments
from ..ports import Existing
from ..redact import MARK
from ..spec.hashes import canonical_json
from ..types import Caller
from .deputies import principals_of
from .pending import is_escalated

_MESSAGE_CHARS = 2000
_DENIED = frozenset({"POLICY_DENIED", "HOOK_BLOCKED", "TOOL_NOT_FOUND"})
_NOT_NOW = frozenset({"TOOL_UNAVAILABLE", "TOOL_ERROR"})

Given = tuple[dict[str, Any], dict[str, Any] | None]
"""All arguments; or, second, those that change."""


async def edit(s: Services, found: Approval, by: Caller, given: Given, reason: str) -> Approval:
    """See `Approvals.edit`; policy lets `by` approve calls of the tool."""
    principals = await principals_of(s, by)
    editor = Editor(caller=by, principals=principals, escalated=is_escalated(s, found), approval=found)
    _check_entitled(s, editor)
    record = await s.store.get_call(found.tenant, found.call_id)
    if record is None or record.status != "waiting" or record.approval_id != found.approval_id:
        raise _decided(found)
    p = await _passage(s, record, by, given, reason)
    made = await revise(p, s, editor)
    if made is None:
        raise _decided(found)
    if isinstance(made, ToolError):
        raise _refused(p, s, made)
    if isinstance(made, Existing):
        other = made.record
        raise ApprovalError(
            "conflict", f"call {other.call_id} has this effect of `{other.name}` already; it is {other.status}"
        )
    return made


def _check_entitled(s: Services, editor: Editor) -> None:
    asked, by = editor.approval, editor.caller
    if asked.status != "open":
        raise _decided(asked)
    if s.clock.now_us() >= asked.expires_us:
        raise ApprovalError("expired", f"approval {asked.approval_id} expired before it was edited")
    if not seats_of(asked, by, principals=editor.principals, escalated=editor.escalated):
        raise ApprovalError("not_entitled", f"{by.id} may not decide {asked.approval_id}, so they may not edit it")


async def _passage(s: Services, record: CallRecord, by: Caller, given: Given, reason: str) -> Passage:
    stored = stored_arguments(s, record)
    caller = await caller_now(s, record, by)
    if caller is None:
        raise ApprovalError("denied", f"{own_caller(s, record).id}, who asked, may act no longer")
    p = stored_passage(s, record, caller, s.world)
    before = stored.edit
    p.edit = Edit(
        by=by.id,
        reason=reason,
        revision=2 if before is None else before.revision + 1,
        arguments=_arguments(stored, given),
        before=stored.arguments if before is None else before.before,
        asked_hash=record.args_hash if before is None else before.asked_hash,
    )
    p.call = msgspec.structs.replace(p.call, arguments=p.edit.arguments)
    return p


def _arguments(stored: StoredArguments, given: Given) -> dict[str, Any]:
    whole, changes = given
    named = whole if changes is None else changes
    injected = sorted(set(named) & (set(stored.final) - set(stored.arguments)))
    if injected:
        raise ApprovalError(
            "invalid", f"{', '.join(injected)}: comes from the caller, so nobody edits it; leave it out"
        )
    try:
        text = canonical_json(named).decode()
    except (TypeError, ValueError, RecursionError):
        raise ApprovalError("invalid", "edit: arguments must be plain JSON") from None
    if MARK in text:
        raise ApprovalError("invalid", f"an argument holds {MARK}, which stands for a secret; pass only what changes")
    return whole if changes is None else {**stored.arguments, **changes}


def _refused(p: Passage, s: Services, error: ToolError) -> ApprovalError:
    code = "denied" if error.code in _DENIED else "unavailable" if error.code in _NOT_NOW else "invalid"
    reasons = getattr(p.decision, "reasons", ()) if error.code == "POLICY_DENIED" else ()
    why = "; ".join(reasons) or error.message
    return ApprovalError(code, redactor_of(p, s).polish(f"not edited: {why}", _MESSAGE_CHARS))


def _decided(approval: Approval) -> ApprovalError:
    how = "" if approval.status == "open" else f" already {approval.status}, and"
    return ApprovalError("already_decided", f"approval {approval.approval_id} is{how} not open any more")
