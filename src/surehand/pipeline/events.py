"""What a stage tells of its call, to whoever listens."""

from __future__ import annotations

from typing import Any

from ..event import Event, EventKind
from ..redact import Redactor
from .passage import Passage, storable
from .services import Services
from .strays import secrets_in

_TEXT_CHARS = 2000


def tell(p: Passage, s: Services, kind: EventKind, **data: Any) -> None:
    """One event of this call. `data` holds JSON values without secrets."""
    if not s.sinks:
        return
    event = Event(
        kind=kind,
        at_us=s.clock.now_us(),
        tenant=p.caller.tenant,
        call_id=p.call_id if p.record is None else p.record.call_id,
        tool_call_id=storable(p.call.id),
        name=p.call.name if p.entry is None else p.spec.name,
        run_id=p.run_id or "",
        position=0 if p.run is None else p.run.position,
        parent_call_id="" if p.parent is None else p.parent.call_id,
        data=data,
    )
    s.publish(event)


def problem(p: Passage, s: Services, where: str, error: BaseException | str) -> None:
    """Something went wrong that the operator should know; the text is redacted."""
    tell(p, s, "engine.problem", where=where, problem=worded(p, s, error))


def worded(p: Passage, s: Services, error: BaseException | str) -> str:
    """An error in words for the operator, without the secrets of this call."""
    if isinstance(error, str):
        return redactor_of(p, s).polish(error, _TEXT_CHARS)
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # an exception of the user's may do anything when it is asked for its text
        text = type(error).__name__
    return redactor_of(p, s).polish(text, _TEXT_CHARS)


def redactor_of(p: Passage, s: Services) -> Redactor:
    """A redactor that also knows the secret arguments of this call."""
    if p.redactor is None:
        secrets = (
            []
            if p.entry is None
            else [
                *secrets_in(p.arguments, p.spec, s.redactor),
                *(secrets_in(p.written or {}, p.spec, s.redactor) if p.written is not p.arguments else ()),
            ]
        )
        p.redactor = s.redactor.with_known(secrets) if secrets else s.redactor
    return p.redactor
