"""How a question to people is made: bound by its digest to exactly what will run, and showing exactly that."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

import msgspec

from ..approval import Approval, Shown, Vote, digest
from ..normalize import json_value
from ..redact import MARK
from ..runners import Job, Raised, Returned
from ..spec.tool_spec import is_async
from ..types import Requirement
from .events import problem, redactor_of
from .passage import Passage
from .services import Services, new_id
from .strays import recordable
from .trace import caller_facts, seal_json

_PREVIEW_CHARS = 4000
_PREVIEW_BYTES = 64 * 1024


def ask(p: Passage, s: Services, needs: tuple[Requirement, ...], *, now_us: int) -> Approval:
    """A question about this call, for those whose yes it needs."""
    call_id = p.call_id
    shown = Shown(
        description=p.spec.description,
        arguments=_readable(p, s, p.arguments),
        injected=p.injected,
        written=None if p.written == p.arguments else _readable(p, s, p.written or {}),
        caller=caller_facts(p.caller),
        preview=p.preview,
        revision=1 if p.edit is None else p.edit.revision,
        edited_by="" if p.edit is None else p.edit.by,
        edit_reason="" if p.edit is None else p.edit.reason,
        asked_us=now_us,
    )
    return Approval(
        approval_id=new_id("apr"),
        call_id=call_id,
        tenant=p.caller.tenant,
        requester=p.caller.id,
        name=p.spec.name,
        version=p.spec.version,
        digest=keyed_digest(p, s, needs),
        needs=needs,
        shown=seal_json(s, shown, tenant=p.caller.tenant, call_id=call_id, what="shown"),
        shown_hash=s.keyring.keyed_hash([p.spec.id, msgspec.to_builtins(shown)]),
        created_us=now_us,
        expires_us=now_us + int(s.limits.approval_ttl_s * 1_000_000),
    )


async def preview(p: Passage, s: Services) -> None:
    """Asks the tool what its effect would be. Bounded, redacted, and never a reason not to ask."""
    assert p.entry is not None
    make = p.entry.tool.preview
    if make is None:
        return
    arguments = deepcopy(p.final)
    runner = s.inline if is_async(make) else s.thread
    ended = await runner.run(
        Job(call=lambda: make(arguments), timeout_s=s.limits.preview_timeout_s, late=lambda ended: None)
    )
    if isinstance(ended, Returned):
        p.preview = _preview_text(p, s, ended.value)
        return
    if isinstance(ended, Raised):
        problem(p, s, "preview", ended.error)
        p.preview = "no preview: it failed; the details are in the operator's log"
    else:
        p.preview = f"no preview: it took longer than {s.limits.preview_timeout_s:g} s"


def _preview_text(p: Passage, s: Services, value: Any) -> str:
    if isinstance(value, str):
        return redactor_of(p, s).polish(value, _PREVIEW_CHARS) or "no preview: it is empty"
    try:
        plain = json_value(value, limit_nodes=2000, limit_bytes=_PREVIEW_BYTES)
    except ValueError:
        return f"no preview: it cannot be written as JSON of at most {_PREVIEW_BYTES} bytes"
    text = msgspec.json.encode(redactor_of(p, s).value(plain, names=True)).decode()
    return redactor_of(p, s).polish(text, _PREVIEW_CHARS)


def keyed_digest(p: Passage, s: Services, needs: tuple[Requirement, ...]) -> str:
    """The digest, keyed: whoever can write the database cannot make one up."""
    plain = digest(p.spec, p.final, p.caller, needs, idempotency_key=p.idempotency_key)
    return s.keyring.keyed_hash(["approval", plain])


def vote_seal(s: Services, approval: Approval, vote: Vote) -> str:
    """Binds one person's answer to the very question; made when it is counted, checked when the call starts."""
    return s.keyring.keyed_hash(
        [
            "vote",
            approval.tenant,
            approval.approval_id,
            approval.call_id,
            approval.digest,
            approval.requester,
            approval.expires_us,
            vote.approver,
            vote.verdict,
            list(vote.groups),
            vote.acts_for,
            vote.at_us,
        ]
    )


def _readable(p: Passage, s: Services, arguments: dict[str, Any]) -> dict[str, Any]:
    known = recordable(arguments, p.spec, s.redactor)
    shown: Any = redactor_of(p, s).value(known, p.spec.parameters, names=True)
    return cast("dict[str, Any]", shown) if isinstance(shown, dict) else dict.fromkeys(arguments, MARK)
