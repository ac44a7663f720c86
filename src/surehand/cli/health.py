"""`surehand tools health`: which tools and upstreams are down, as the engines of the tenant saw them last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .documents import Document
from .failures import OK
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..ports import HealthRecord


def health(ctx: typer.Context) -> int:
    """Show tools and upstreams whose breakers have opened; for those who may read the audit."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> list[HealthRecord]:
        return await engine.limits.health(by=caller)

    found = session.run(work, needs="audit")
    if session.json:
        session.out.document({"health": [_document(one) for one in found]})
    elif found:
        rows = [(one.subject, one.state, str(one.failures), local_time(one.changed_us), one.owner) for one in found]
        session.out.table(("SUBJECT", "BREAKER", "FAILURES", "SINCE", "ENGINE"), rows)
    else:
        session.out.nothing("no breaker has opened in this caller's tenant")
    return OK


def _document(one: HealthRecord) -> Document:
    return {
        "subject": one.subject,
        "state": one.state,
        "failures": one.failures,
        "changed_at": utc_time(one.changed_us),
        "retry_at": utc_time(one.retry_us),
        "engine": one.owner,
    }
