"""What a stage tells of its call, to whoever listens."""

from __future__ import annotations

from typing import Any

from ..event import EventKind
from .passage import Passage
from .services import Services


def tell(p: Passage, s: Services, kind: EventKind, **data: Any) -> None:
    """One event of this call. `data` holds JSON values without secrets."""
    if not s.sinks:
        return
    s.emit(
        kind,
        caller=p.caller,
        call_id=p.call_id if p.record is None else p.record.call_id,
        tool_call_id=p.call.id,
        name=p.call.name if p.entry is None else p.spec.name,
        run_id="" if p.run is None else p.run.run_id,
        position=0 if p.run is None else p.run.position,
        **data,
    )


def problem(p: Passage, s: Services, where: str, error: BaseException | str) -> None:
    """Something went wrong that the operator should know; the text is redacted."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    tell(p, s, "engine.problem", where=where, problem=s.redactor.text(text))
