"""Stage 4: what the model may not know, from the caller; then the tool's own business rules."""

from __future__ import annotations

from copy import deepcopy

from ..errors import BusinessError, Unavailable
from ..normalize import failures
from ..runners import Job, Raised, Returned
from ..spec import DATA_SOURCES
from ..spec.tool_spec import is_async
from ..types import Caller
from .events import problem, redactor_of
from .passage import Passage, Stop
from .services import Services
from .undo import unbound


async def enrich(p: Passage, s: Services) -> Stop | None:
    """Completes `final`, then lets `check=` refuse it. Nothing changes a value after this."""
    inject(p)
    assert p.entry is not None
    if p.undoes is not None:
        stop = await unbound(p, s)
        if stop is not None:
            return stop
    check = p.entry.tool.check
    if check is None:
        return None
    runner = s.inline if is_async(check) else s.thread
    arguments = deepcopy(p.final)
    ended = await runner.run(Job(call=lambda: check(arguments), timeout_s=p.spec.timeout_s, late=lambda ended: None))
    if isinstance(ended, Returned):
        return None
    if isinstance(ended, Raised) and isinstance(ended.error, BusinessError):
        return Stop(status="error", error=failures.business(p.spec, ended.error, redactor_of(p, s)))
    if not isinstance(ended, Raised) or isinstance(ended.error, Unavailable):
        return Stop(status="error", error=failures.unavailable(p.spec, "its check could not be made in time"))
    problem(p, s, "check", ended.error)
    return Stop(status="error", error=failures.crashed(p.spec, started=False))


def inject(p: Passage) -> None:
    """Fills `injected` and `final` from the caller as it is now."""
    p.injected = {
        name: caller_value(p.caller, source) for name, source in p.spec.injected.items() if source in DATA_SOURCES
    }
    p.final = {**p.arguments, **p.injected}


def caller_value(caller: Caller, source: str) -> str:
    """A data source of `Injected`."""
    return {
        "tenant": caller.tenant,
        "caller.id": caller.id,
        "agent": caller.agent,
        "environment": caller.environment,
    }[source]
