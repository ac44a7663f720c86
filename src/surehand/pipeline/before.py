"""Between 2 and 3: interceptors and `tool.pre`, in order, each on a copy of its own."""

from __future__ import annotations

import asyncio
from copy import deepcopy

from ..schema import ParseFailure, parse_arguments
from ..spec.hashes import content_hash
from ..types import Requirement
from .events import problem
from .interceptor import AskPerson, Block, Interceptor, Modify, Proposed, as_verdicts, settled
from .passage import Passage, Stop
from .services import Services


async def before(p: Passage, s: Services) -> Stop | None:
    """Lets interceptors block, change or ask. One that raises or hangs denies the call."""
    for interceptor in s.interceptors:
        name = interceptor.name or type(interceptor).__name__
        try:
            async with asyncio.timeout(s.limits.hook_timeout_s):
                verdict = await settled(interceptor.before(proposed(p)))
            verdicts = () if isinstance(verdict, Block) else as_verdicts(verdict)
        except Exception as error:
            return _failed(p, s, name, error)
        p.passed.append(interceptor)
        if isinstance(verdict, Block):
            return p.refuse("HOOK_BLOCKED", verdict.reason or f"`{name}` blocked this call.", status="denied")
        for one in verdicts:
            stop = _apply(p, s, interceptor, one)
            if stop is not None:
                return stop
    return None


def proposed(p: Passage) -> Proposed:
    """A view of the call that an interceptor may do with as it likes."""
    return Proposed(
        call_id=p.call_id,
        tool_call_id=p.call.id,
        spec=p.spec,
        caller=p.caller,
        arguments=deepcopy(p.arguments),
    )


def _apply(p: Passage, s: Services, interceptor: Interceptor, verdict: Modify | AskPerson) -> Stop | None:
    name = interceptor.name or type(interceptor).__name__
    if isinstance(verdict, AskPerson):
        if not verdict.approvers.strip():
            return _failed(p, s, name, ValueError("AskPerson names no approvers"))
        p.hook_asks.append(
            Requirement(
                policy_id=f"hook:{name}",
                group=verdict.approvers,
                reason=verdict.reason,
                policy_hash=content_hash([name, verdict.approvers, verdict.reason]),
            )
        )
        return None
    changed = parse_arguments(verdict.arguments, limits=s.limits.arguments)
    if isinstance(changed, ParseFailure):
        return _failed(p, s, name, ValueError(changed.message))
    p.arguments = changed
    return None


def _failed(p: Passage, s: Services, name: str, error: Exception) -> Stop:
    problem(p, s, f"before of {name}", error)
    return p.refuse(
        "HOOK_BLOCKED",
        f"A check before `{p.spec.name}` failed, so the call was not made. Do not repeat it; report the failure.",
        status="denied",
    )
