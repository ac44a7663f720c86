"""Arguments that a person changed: asked about anew in one transaction, and told to the model with the result."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..approval import Approval, Counted, count, seats_of
from ..audit import AuditRow
from ..call import ToolResult
from ..errors import ToolError, tool_error
from ..ledger import effect_key
from ..limits import Full
from ..policy import Ask
from ..ports import Existing, Revision
from ..spec.hashes import canonical_json, content_hash
from ..types import Caller, Requirement
from .ask import ask, keyed_digest, preview, vote_seal
from .events import redactor_of
from .passage import Passage, Stop
from .quota import charges, no_room
from .services import Services
from .trace import seal_json, stored_arguments, trace

_NAMES = 10
_VALUE_CHARS = 80
NOTE_CHARS = 2000


class Editor(msgspec.Struct, frozen=True, kw_only=True):
    """Who edits, and the question that they were entitled to decide."""

    caller: Caller
    principals: tuple[Caller, ...]
    """Whose deputy they are."""
    escalated: bool
    approval: Approval
    """Open, as the editor saw it."""


async def replace(p: Passage, s: Services, by: Editor) -> Approval | ToolError | Existing | None:
    """Puts the question about `p.final` in the place of the one that the editor saw; the editor's yes counts in it.

    Args:
        p: A passage whose stages 1 to 5 ran on `p.edit`; `p.record` is the waiting call.
        s: The services.
        by: Who edits.

    Returns:
        The new question; why it cannot be; the other call that has the effect already; or `None` if the question was
        decided meanwhile. Unless it is the first, nothing changed.
    """
    record = p.record
    assert record is not None
    assert p.edit is not None
    stored = stored_arguments(s, record)
    if content_hash(p.final) == content_hash(stored.final):
        return tool_error("TOOL_ARGUMENT_INVALID", "these arguments are what would run already", tool=p.spec.name)
    key = record.key
    if p.spec.key:  # any other key names a place or comes from the application: arguments do not change it
        key = s.keyring.keyed_hash(effect_key(p.spec, p.final, p.caller, idempotency_key=None, run=None))
        p.idempotency_key = key
    p.args_hash = s.keyring.keyed_hash(p.final)
    takes = charges(p, s, starts=False)
    if isinstance(takes, Stop):
        return takes.error
    await preview(p, s)
    now_us = s.clock.now_us()
    approval = _question(p, s, by, now_us)
    arguments = msgspec.structs.replace(
        stored, arguments=p.arguments, final=p.final, idempotency_key=p.idempotency_key, edit=p.edit
    )
    p.record = msgspec.structs.replace(
        record,
        status="ready" if approval.status == "approved" else "waiting",
        contract_hash=p.spec.contract_hash,
        binding_hash=p.spec.binding_hash,
        key=key,
        idempotency_key=p.idempotency_key,
        args_hash=p.args_hash,
        arguments=seal_json(s, arguments, tenant=record.tenant, call_id=record.call_id, what="arguments"),
        approval_id=approval.approval_id,
        digest=approval.digest,
    )
    done = await s.store.revise(
        Revision(
            approval_id=by.approval.approval_id,
            digest=by.approval.digest,
            record=p.record,
            approval=approval,
            audit=(_row(p, s, by, stored.arguments, approval),),
            charges=takes,
            now_us=now_us,
        )
    )
    if isinstance(done, Full):
        return no_room(p, s, done).error
    return done if isinstance(done, Existing) else approval if done else None


def _row(p: Passage, s: Services, by: Editor, before: dict[str, Any], approval: Approval) -> AuditRow:
    assert p.edit is not None
    assert p.record is not None
    return trace(
        p,
        s,
        "approval.edited",
        status=p.record.status,
        approver=by.caller.id,
        reason=p.edit.reason,
        revision=p.edit.revision,
        replaces=by.approval.approval_id,
        replaces_digest=by.approval.digest,
        before=redactor_of(p, s).summary(before, p.spec.parameters),
        changed=_changed(before, p.arguments),
        voided=[vote.approver for vote in by.approval.votes],
        shown_hash=approval.shown_hash,
    )


def _question(p: Passage, s: Services, by: Editor, now_us: int) -> Approval:
    """The new question with the editor's yes, if they may decide it. Where policy asks nobody now, theirs is enough."""
    assert p.edit is not None
    asked = p.decision.requirements if isinstance(p.decision, Ask) else ()
    approval = ask(p, s, asked or (_own(by),), now_us=now_us)
    if not asked:
        approval = msgspec.structs.replace(approval, digest=keyed_digest(p, s, ()))
    counted = count(
        approval,
        by.caller,
        "approve",
        reason=p.edit.reason,
        now_us=now_us,
        principals=by.principals,
        escalated=by.escalated,
    )
    if not isinstance(counted, Counted):
        return approval
    vote = msgspec.structs.replace(counted.vote, seal=vote_seal(s, approval, counted.vote))
    decided_us = None if counted.status == "open" else now_us
    return msgspec.structs.replace(approval, votes=(vote,), status=counted.status, decided_us=decided_us)


def _own(by: Editor) -> Requirement:
    """The one requirement of a call that policy asks nobody about: that whoever may decide it wrote it."""
    seats = seats_of(by.approval, by.caller, principals=by.principals, escalated=by.escalated)
    need = next(need for need in by.approval.needs if need.group in seats)
    return msgspec.structs.replace(
        need, quorum=1, reason="a person wrote these arguments; policy asks nobody about them"
    )


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = sorted({*before, *after})
    return [
        n
        for n in names
        if (n in before) != (n in after) or canonical_json(before.get(n)) != canonical_json(after.get(n))
    ]


def noted(p: Passage, s: Services, result: ToolResult) -> ToolResult:
    """The result of a call that a person edited says so, and what they changed."""
    if p.edit is None:
        return result
    names = _changed(p.edit.before, p.arguments)
    told = [_change(p, s, name) for name in names[:_NAMES]]
    more = f", and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    what = f"A person changed the arguments of this call: {', '.join(told) or 'and back'}{more}."
    note = redactor_of(p, s).polish(what, NOTE_CHARS)
    return msgspec.structs.replace(result, content=f"{note}\n{result.content}", edited_by=p.edit.by)


def _change(p: Passage, s: Services, name: str) -> str:
    assert p.edit is not None
    return f"{name} from {_value(p, s, p.edit.before, name)} to {_value(p, s, p.arguments, name)}"


def _value(p: Passage, s: Services, arguments: dict[str, Any], name: str) -> str:
    if name not in arguments:
        return "nothing"
    shown: Any = redactor_of(p, s).value({name: arguments[name]}, p.spec.parameters, names=True)
    value = cast("dict[str, Any]", shown).get(name) if isinstance(shown, dict) else shown
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}..."
