"""Stage 8: the handler, once; again only where the contract says that repeating is harmless."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from typing import Any

import msgspec

from ..call import CallContext
from ..errors import BusinessError, HandlerError, OutcomeUnknown, Unavailable
from ..normalize import failures, read_value
from ..redact import clean_text
from ..runners import Ended, Interrupted, Job, NotStarted, Raised, Returned, TimedOut
from ..spec import Tool, ToolSpec
from ..types import Caller
from .events import problem, tell
from .passage import Outcome, Passage
from .services import Services
from .trace import trace

_log = logging.getLogger("surehand.handler")


async def execute(p: Passage, s: Services) -> None:
    """Fills `outcome`. Never raises what the handler raised."""
    if p.started_us is None:
        p.started_us = s.clock.now_us()
    p.idempotency_key = p.idempotency_key or p.call_id
    deadline = s.clock.monotonic() + p.spec.timeout_s
    attempt = 0
    while True:
        attempt += 1
        ended = await _attempt(p, s, deadline)
        outcome = _judge(p, s, ended, attempt)
        wait_s = _wait_before_next(p.spec, ended, attempt)
        if wait_s is None or s.clock.monotonic() + wait_s >= deadline or (p.stop is not None and p.stop.done()):
            p.outcome = outcome
            return
        await asyncio.sleep(wait_s)


async def _attempt(p: Passage, s: Services, deadline: float) -> Ended:
    assert p.entry is not None
    tool = p.entry.tool
    left_s = deadline - s.clock.monotonic()
    leave = await s.gate.enter(p.spec.name if p.spec.sequential else None, timeout_s=left_s)
    if leave is None:
        return NotStarted("no place was free in time")
    try:
        call = _thunk(p, s, tool, deadline)
    except ValueError as error:  # the arguments that were validated do not fit the handler's types
        leave()
        return Raised(error)
    job = Job(
        call=call,
        timeout_s=max(deadline - s.clock.monotonic(), 0.001),
        stop=p.stop,
        late=lambda ended: _late(p, s, ended),
        released=leave,
    )
    return await s.runner(tool).run(job)


def _thunk(p: Passage, s: Services, tool: Tool, deadline: float) -> Callable[[], Any]:
    """The handler with the arguments that the digest covers, written out and read back: the very value."""
    context = CallContext(
        call_id=p.call_id,
        caller=p.caller,
        idempotency_key=p.idempotency_key,
        deadline=deadline,
        progress=_progress(p, s),
        logger=logging.LoggerAdapter(_log, {"call_id": p.call_id, "tool": p.spec.name}),
    )
    p.context = context
    text = msgspec.json.encode(p.arguments)
    if tool.raw:
        return lambda: tool.handler(context, text.decode())
    arguments = msgspec.json.decode(text) if tool.bind is None else tool.bind(text)
    given = {name: _injection(source, context, p.caller) for name, source in p.spec.injected.items()}
    return lambda: tool.handler(**arguments, **given)


def _injection(source: str, context: CallContext, caller: Caller) -> Any:
    match source:
        case "tenant":
            return caller.tenant
        case "caller.id":
            return caller.id
        case "agent" | "environment":
            return getattr(caller, source)
        case _:
            return getattr(context, source)


def _progress(p: Passage, s: Services) -> Callable[[str], None]:
    loop = asyncio.get_running_loop()

    def progress(text: str) -> None:
        said = s.redactor.text(clean_text(str(text)))
        # a closed loop: nobody listens any more
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: tell(p, s, "call.progress", text=said))

    return progress


def _judge(p: Passage, s: Services, ended: Ended, attempt: int) -> Outcome:
    """What an attempt's end means for the effect."""
    spec = p.spec
    match ended:
        case Returned(value):
            return _returned(p, s, value, attempt)
        case NotStarted(why):
            return Outcome(status="error", error=failures.unavailable(spec, why), attempt=attempt)
        case TimedOut():
            return _cut_short(spec, Outcome(status="error", error=failures.timed_out(spec), attempt=attempt), "timeout")
        case Interrupted():
            cancelled = Outcome(status="cancelled", error=failures.cancelled(spec), attempt=attempt)
            return _cut_short(spec, cancelled, "cancelled")
        case Raised(BusinessError() as error):
            return Outcome(status="error", error=failures.business(spec, error, s.redactor), attempt=attempt)
        case Raised(Unavailable()):
            return Outcome(status="error", error=failures.unavailable(spec, "upstream"), attempt=attempt)
        case Raised(error):
            _report(p, s, error)
            lost = isinstance(error, OutcomeUnknown)
            said = failures.unavailable(spec, "its answer was lost") if lost else failures.crashed(spec)
            return _cut_short(spec, Outcome(status="error", error=said, attempt=attempt), "lost" if lost else "error")


def _cut_short(spec: ToolSpec, harmless: Outcome, cause: str) -> Outcome:
    """The outcome where the effect may have happened: unknown, unless repeating it is harmless."""
    if spec.repeatable:
        return harmless
    return Outcome(status="unknown", error=failures.outcome_unknown(spec, cause), attempt=harmless.attempt)


def _returned(p: Passage, s: Services, value: Any, attempt: int) -> Outcome:
    assert p.entry is not None
    try:
        read = read_value(value, p.entry.tool)
    except (TypeError, ValueError) as error:
        _report(p, s, error)
        said = failures.output_invalid(p.spec, "it cannot be written as JSON")
        return Outcome(status="ok", error=said, attempt=attempt)
    return Outcome(status="ok", value=read, attempt=attempt)


def _wait_before_next(spec: ToolSpec, ended: Ended, attempt: int) -> float | None:
    """Seconds until another attempt; `None` if there must not be one.

    An attempt that timed out is never repeated: the handler may still run, and attempts must not overlap.
    """
    if spec.retry.kind == "none" or attempt >= spec.retry.attempts:
        return None
    if not isinstance(ended, Raised) or isinstance(ended.error, BusinessError):
        return None
    if not (isinstance(ended.error, Unavailable) or spec.repeatable):
        return None
    if not isinstance(ended.error, Exception):
        return None
    if spec.retry.kind == "simple":
        return spec.retry.wait_s
    return spec.retry.wait_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def _report(p: Passage, s: Services, error: BaseException) -> None:
    """The operator's log gets the whole text, redacted; the model gets none of it."""
    text = s.redactor.text(f"{type(error).__name__}: {error}")
    if not isinstance(error, HandlerError):
        _log.error("%s failed in call %s: %s", p.spec.id, p.call_id, text)
    problem(p, s, "handler", text)


def _late(p: Passage, s: Services, ended: Ended) -> None:
    """A handler that had been given up has ended. It is evidence for whoever settles the call, never a result."""
    what = "returned" if isinstance(ended, Returned) else "raised"
    row = trace(p, s, "call.late", status=what)
    future = asyncio.ensure_future(s.store.record([row]))
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
