"""What people are told: which question, whose, of whom, why, until when, and how to answer it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from ..approval import Approval
from ..event import Event
from ..redact import clean_text, visible

_TEXT_CHARS = 500


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notification. Holds neither arguments nor results nor secrets."""

    id: str
    """The same in every try: a receiver that has seen it can leave it."""
    event: str
    """Such as `call.waiting` or `approval.decided`."""
    at: str
    tenant: str
    approval_id: str
    call_id: str
    tool: str
    version: str
    status: str
    """Of the question, when this was written."""
    asked: tuple[str, ...]
    """The groups whose yes is needed; `self` is the requester."""
    requester: str
    reasons: tuple[str, ...]
    expires_at: str
    decide: str
    """The command that shows the question."""
    decided_by: tuple[str, ...] = ()
    verdict: str = ""


def message(message_id: str, event: Event, approval: Approval) -> Message:
    """What is told of an event about a question."""
    return Message(
        id=message_id,
        event=event.kind,
        at=_time(event.at_us),
        tenant=approval.tenant,
        approval_id=approval.approval_id,
        call_id=approval.call_id,
        tool=approval.name,
        version=approval.version,
        status=approval.status,
        asked=tuple(sorted({need.group for need in approval.needs})),
        requester=approval.requester,
        reasons=tuple(dict.fromkeys(clean_text(need.reason)[:_TEXT_CHARS] for need in approval.needs)),
        expires_at=_time(approval.expires_us),
        decide=f"surehand approvals show {approval.approval_id}",
        decided_by=tuple(vote.approver for vote in approval.votes),
        verdict=_word(event.data.get("verdict")),
    )


def as_json(message: Message) -> bytes:
    """The body that is signed, posted and piped."""
    return msgspec.json.encode(message)


def as_text(message: Message) -> tuple[str, str]:
    """Subject and body of a mail."""
    waits = message.status == "open"
    what = "asks for approval" if waits else f"is {message.status}"
    lines = [
        f"{message.tool}@{message.version} of {_line(message.requester)} (tenant {_line(message.tenant)}) {what}.",
        "",
        *(f"why: {_line(reason)}" for reason in message.reasons),
        f"asked: {_line(', '.join(message.asked))}",
        *([f"answered by: {_line(', '.join(message.decided_by))}"] if message.decided_by else []),
        f"call: {message.call_id}",
        *([f"until: {message.expires_at}", f"see exactly what will run: {message.decide}"] if waits else []),
    ]
    return f"{message.tool} {what} ({message.approval_id})", "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """On one line, nothing unseen: what others wrote must not pass for a line of ours."""
    return " ".join(visible(text).split())


def _time(at_us: int) -> str:
    moment = datetime.fromtimestamp(at_us // 1_000_000, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
