"""Before stage 6: what fails again and again is not called. Its health is watched at each attempt of stage 8."""

from __future__ import annotations

import asyncio
import contextlib
import math
from urllib.parse import urlsplit

from ..errors import BusinessError
from ..ports import HealthRecord
from ..runners import Ended, Raised, Returned, TimedOut
from ..spec import ToolSpec
from ..view import Hidden, ToolView
from .events import tell
from .passage import Passage, Stop
from .services import Services
from .trace import trace

UNAVAILABLE = Hidden(reason="unavailable", why="it is unavailable for a while: its last calls failed")
"""Why a tool is left out of a view while its breaker is open."""


def subjects(spec: ToolSpec) -> tuple[str, ...]:
    """Whose health a call speaks of: this version of the tool, and the upstream that it is known to use."""
    upstream = spec.upstream or _host(spec.target)
    return (f"tool {spec.id}", f"upstream {upstream}") if upstream else (f"tool {spec.id}",)


def _host(target: str) -> str:
    if "://" not in target:
        return ""
    with contextlib.suppress(ValueError):
        return urlsplit(target).hostname or ""
    return ""


def admit(p: Passage, s: Services) -> Stop | None:
    """Refuses a call of what is known to be down, before anything is in the ledger. `leave` must follow, always."""
    if (why := absence(s, p.spec)) is not None:
        return p.refuse("TOOL_UNAVAILABLE", f"`{p.spec.name}` is unavailable: {why}. Nothing was done.", cause="source")
    wait_s = s.breakers.enter(p.caller.tenant, subjects(p.spec), p.call_id, now=s.clock.monotonic())
    if wait_s is None:
        return None
    retry_after_s = math.ceil(wait_s)
    return p.refuse(
        "TOOL_UNAVAILABLE",
        f"`{p.spec.name}` is unavailable at the moment; nothing was done. "
        f"The same call may be tried again in {retry_after_s} s.",
        retry_after_s=retry_after_s,
        cause="breaker",
    )


def absence(s: Services, spec: ToolSpec) -> str | None:
    """Why the source of a tool cannot be asked for it now, if it cannot: what nobody has approved never is."""
    if spec.stage == "draft" and spec.source != "python":
        return "nobody has approved this definition"
    return next((gone[spec.id] for gone in s.absent.values() if spec.id in gone), None) if s.absent else None


def leave(p: Passage, s: Services) -> None:
    """The call is over, whatever came of it."""
    if p.entry is not None:
        s.breakers.leave(p.caller.tenant, subjects(p.spec), p.call_id)


def is_blocked(p: Passage, s: Services) -> bool:
    """Whether another attempt would be made of what is down by now."""
    return s.breakers.blocked_s(p.caller.tenant, subjects(p.spec), now=s.clock.monotonic()) is not None


def watch(p: Passage, s: Services, ended: Ended) -> None:
    """What an attempt says of the health of the tool. A business error says that it answers."""
    match ended:
        case Returned() | Raised(BusinessError()):
            changed = [one for one in subjects(p.spec) if s.breakers.succeeded(p.caller.tenant, one)]
        case TimedOut() | Raised(Exception()):
            now = s.clock.monotonic()
            changed = [one for one in subjects(p.spec) if s.breakers.failed(p.caller.tenant, one, now=now)]
        case _:
            return
    for subject in changed:
        _tell(p, s, subject)


def _tell(p: Passage, s: Services, subject: str) -> None:
    now, now_us = s.clock.monotonic(), s.clock.now_us()
    breaker = s.breakers.get(p.caller.tenant, subject)
    state = breaker.state(now)
    retry_us = None if breaker.open_until is None else now_us + int((breaker.open_until - now) * 1_000_000)
    record = HealthRecord(
        tenant=p.caller.tenant,
        subject=subject,
        owner=s.owner,
        state=state,
        failures=breaker.failures,
        changed_us=now_us,
        retry_us=retry_us,
    )
    tell(p, s, "tool.health", subject=subject, state=state, failures=breaker.failures)
    row = trace(p, s, "tool.health", subject=subject, state=state, failures=breaker.failures)
    for work in (s.store.note_health(record), s.store.record([row])):
        # Nobody waits for it: what is down stays known in memory.
        asyncio.ensure_future(work).add_done_callback(lambda done: done.cancelled() or done.exception())


def without_unavailable(s: Services, tenant: str, view: ToolView) -> ToolView:
    """The view less what is down and has nothing that stands in for it."""
    if s.absent:  # drafts are in no view anyway
        gone = {entry.name: absence(s, entry.spec) for entry in view.tools}
        view = view.without({name: Hidden(reason="unavailable", why=why) for name, why in gone.items() if why})
    if s.breakers.all_closed:
        return view
    now = s.clock.monotonic()
    return view.without(
        {
            entry.name: UNAVAILABLE
            for entry in view.tools
            if not entry.spec.fallback and s.breakers.blocked_s(tenant, subjects(entry.spec), now=now) is not None
        }
    )
