"""Between 2 and 3: interceptors and `tool.pre`, in order, each on a copy of its own."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

from ..runners import Job, Raised, Returned
from ..schema import ParseFailure, parse_arguments
from ..spec.hashes import content_hash
from ..types import Requirement, group_names
from .events import problem
from .interceptor import AskPerson, Block, Modify, Proposed, as_verdicts
from .passage import Passage, Stop
from .services import Services
from .strays import secrets_in

_REASON_CHARS = 500


async def before(p: Passage, s: Services) -> Stop | None:
    """Lets interceptors block, change or ask. One that raises or hangs denies the call."""
    for interceptor in s.interceptors:
        name = interceptor.name or type(interceptor).__name__
        shown = p.arguments
        try:
            verdict = await run_hook(s, partial(interceptor.before, proposed(p)))
            verdicts = () if isinstance(verdict, Block) else as_verdicts(verdict)
        except Exception as error:
            return _failed(p, s, name, error)
        p.passed.append(interceptor)
        if isinstance(verdict, Block):
            return p.refuse("HOOK_BLOCKED", verdict.reason or f"`{name}` blocked this call.", status="denied")
        for one in verdicts:
            stop = _apply(p, s, name, one, shown)
            if stop is not None:
                return stop
    return None


class HookError(Exception):
    """An interceptor raised, took too long, or wanted to end more than its call."""


async def run_hook(s: Services, call: Callable[[], Any]) -> Any:
    """Runs one interceptor's method in a task of its own, so that nothing it does ends the call's task.

    Raises:
        HookError: It did not return in time.
    """
    ended = await s.inline.run(Job(call=call, timeout_s=s.limits.hook_timeout_s, late=lambda ended: None))
    if isinstance(ended, Returned):
        return ended.value
    if isinstance(ended, Raised):
        raise HookError(f"it raised {type(ended.error).__name__}") from ended.error
    raise HookError(f"it took longer than {s.limits.hook_timeout_s:g} s")


def proposed(p: Passage) -> Proposed:
    """A view of the call that an interceptor may do with as it likes."""
    return Proposed(
        call_id=p.call_id,
        tool_call_id=p.call.id,
        spec=p.spec,
        caller=p.caller,
        arguments=deepcopy(p.arguments),
    )


def _apply(p: Passage, s: Services, name: str, verdict: Modify | AskPerson, shown: dict[str, Any]) -> Stop | None:
    if isinstance(verdict, AskPerson):
        # A reason is read by people, notified and recorded: what it quotes of secret arguments goes.
        secrets = [secret for one in (shown, p.arguments) for secret in secrets_in(one, p.spec, s.redactor)]
        reason = s.redactor.with_known(secrets).polish(verdict.reason, _REASON_CHARS)
        for group in group_names(verdict.approvers):
            p.hook_asks.append(
                Requirement(
                    policy_id=f"hook:{name}",
                    group=group,
                    reason=reason,
                    policy_hash=content_hash([name, group, reason]),
                    quorum=verdict.quorum,
                    escalate_to=verdict.escalate_to,
                )
            )
        return None
    changed = parse_arguments(verdict.arguments, limits=s.limits.arguments)
    if isinstance(changed, ParseFailure):
        return _failed(p, s, name, ValueError(changed.message))
    p.arguments = changed
    return None


def _failed(p: Passage, s: Services, name: str, error: BaseException) -> Stop:
    problem(p, s, f"before of {name}", error.__cause__ or error)
    return p.refuse(
        "HOOK_BLOCKED",
        f"A check before `{p.spec.name}` failed, so the call was not made. Do not repeat it; report the failure.",
        status="denied",
    )
