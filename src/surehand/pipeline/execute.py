"""Stage 8: the handler, once; again only where the contract says that repeating is harmless."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from typing import Any

import msgspec

from ..audit import AuditRow
from ..call import CallContext
from ..errors import BusinessError, HandlerError, OutcomeUnknown, Unavailable
from ..normalize import Unwritable, failures, read_value
from ..ports import Move
from ..runners import Ended, Interrupted, Job, NotStarted, Raised, Returned, TimedOut
from ..spec import Tool, ToolSpec
from ..types import Caller
from .breaker import is_blocked, watch
from .events import problem, redactor_of, tell, worded
from .nested import Nested, Perform
from .output import display_text
from .passage import Outcome, Passage
from .services import Services
from .trace import trace

_log = logging.getLogger("surehand.handler")


class _CallLogger(logging.LoggerAdapter[logging.Logger]):
    """The handler's log, without the secrets of its call."""

    def __init__(self, p: Passage, s: Services) -> None:
        super().__init__(_log, {"call_id": p.call_id, "tool": p.spec.name})
        self._redactor = redactor_of(p, s)

    def process(self, msg: Any, kwargs: Any) -> tuple[Any, Any]:
        """See `logging.LoggerAdapter`."""
        return self._redactor.polish(msg, 4000), {**kwargs, "extra": self.extra}

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """See `logging.LoggerAdapter`. The arguments are put in before the text is redacted."""
        if self.isEnabledFor(level):
            super().log(level, str(msg) % args if args else msg, **kwargs)


async def execute(p: Passage, s: Services, perform: Perform) -> None:
    """Fills `outcome`. Never raises what the handler raised.

    Args:
        p: The call, ours to run.
        s: The services.
        perform: Makes the calls that the handler makes.
    """
    if s.sinks:
        tell(p, s, "call.started", display=display_text(p, s))
    if p.started_us is None:
        p.started_us = s.clock.now_us()
    p.confirmed_us = p.started_us
    p.idempotency_key = p.idempotency_key or p.call_id
    deadline = s.clock.monotonic() + p.spec.timeout_s
    deadline = deadline if p.not_after is None else min(deadline, p.not_after)
    tools = Nested(p, s, perform)
    attempt = 0
    while True:
        attempt += 1
        ended = await _attempt(p, s, deadline, tools)
        p.spent = p.spent or _may_have_worked(ended)
        watch(p, s, ended)
        outcome = _judge(p, s, ended, attempt)
        wait_s = _wait_before_next(p.spec, ended, attempt)
        if wait_s is None or is_blocked(p, s) or s.clock.monotonic() + wait_s >= deadline or _given_up(p):
            p.outcome = msgspec.structs.replace(outcome, tainted=p.tainted)
            return
        await asyncio.sleep(wait_s)


def _may_have_worked(ended: Ended) -> bool:
    if isinstance(ended, Raised):
        return not isinstance(ended.error, BusinessError | Unavailable)
    return not isinstance(ended, NotStarted)


def _given_up(p: Passage) -> bool:
    return p.stop is not None and p.stop.done()


async def _still_ours(p: Passage, s: Services) -> bool:
    """Whether nobody has taken the call from this process while it was held up: suspended, or waiting for a place."""
    if p.record is None or s.clock.now_us() - p.confirmed_us < s.lease_us // 2:
        return True
    p.confirmed_us = s.clock.now_us()
    return await s.store.move(
        Move(
            tenant=p.record.tenant,
            call_id=p.record.call_id,
            expect=("running",),
            expect_owner=s.owner,
            expect_started_us=p.started_us,
            to="running",
        )
    )


async def _attempt(p: Passage, s: Services, deadline: float, tools: Nested) -> Ended:
    assert p.entry is not None
    tool = p.entry.tool
    left_s = deadline - s.clock.monotonic()
    one = p.spec.name if p.spec.sequential else None
    lent = None if p.parent is None else p.parent.lent
    leave = await s.gate.enter(one, timeout_s=left_s, stop=p.stop, lent=lent)
    if leave is None:
        return NotStarted("no place was free in time", cancelled=_given_up(p))
    try:
        call = _thunk(p, s, tool, deadline, tools)
    except Exception as error:
        leave()
        problem(p, s, "binding arguments", error)
        return NotStarted("its arguments could not be bound")
    about = (p.caller.tenant, p.call_id)
    s.handlers[about] += 1

    def released() -> None:
        if not s.handlers[about]:
            return
        s.handlers[about] -= 1
        if not s.handlers[about]:
            del s.handlers[about]
        leave()

    job = Job(
        call=call,
        timeout_s=max(deadline - s.clock.monotonic(), 0.001),
        stop=p.stop,
        late=lambda ended: _late(p, s, ended),
        confirm=None if p.record is None else lambda: _still_ours(p, s),
        released=released,
    )
    tools.begin(deadline)
    try:
        return await s.runner(tool).run(job)
    finally:
        await tools.end()


def _thunk(p: Passage, s: Services, tool: Tool, deadline: float, tools: Nested) -> Callable[[], Any]:
    """The handler with the arguments that the digest covers, written out and read back: the very value."""
    context = CallContext(
        call_id=p.call_id,
        caller=p.caller,
        idempotency_key=p.idempotency_key,
        deadline=deadline,
        progress=_progress(p, s),
        logger=_CallLogger(p, s),
        tools=tools,
    )
    p.context = context
    if tool.raw:
        whole = msgspec.json.encode(p.final).decode()
        return lambda: tool.handler(context, whole)
    text = msgspec.json.encode(p.arguments)
    arguments = msgspec.json.decode(text) if tool.bind is None else tool.bind(text)
    given = {name: _injection(source, context, p.caller) for name, source in p.spec.injected.items()}
    return lambda: tool.handler(**{**arguments, **given})


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
        said = redactor_of(p, s).polish(text, 500)
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
        case NotStarted(_, cancelled=True):
            return Outcome(status="cancelled", error=failures.cancelled(spec), attempt=attempt)
        case NotStarted(why):
            return Outcome(status="error", error=failures.unavailable(spec, why), attempt=attempt)
        case TimedOut():
            return cut_short(spec, Outcome(status="error", error=failures.timed_out(spec), attempt=attempt), "timeout")
        case Interrupted():
            cancelled = Outcome(status="cancelled", error=failures.cancelled(spec), attempt=attempt)
            return cut_short(spec, cancelled, "cancelled")
        case Raised(error):
            return _raised(p, s, error, attempt)


def _raised(p: Passage, s: Services, error: BaseException, attempt: int) -> Outcome:
    spec = p.spec
    if isinstance(error, BusinessError):
        said = failures.business(spec, error, redactor_of(p, s))
        return Outcome(status="error", error=said, attempt=attempt)
    if isinstance(error, Unavailable):
        return Outcome(status="error", error=failures.unavailable(spec, "upstream"), attempt=attempt)
    _report(p, s, error)
    lost = isinstance(error, OutcomeUnknown)
    said = failures.unavailable(spec, "its answer was lost") if lost else failures.crashed(spec)
    return cut_short(spec, Outcome(status="error", error=said, attempt=attempt), "lost" if lost else "error")


def cut_short(spec: ToolSpec, harmless: Outcome, cause: str) -> Outcome:
    """The outcome where the effect may have happened: unknown, unless repeating it is harmless."""
    if spec.repeatable:
        return harmless
    return Outcome(status="unknown", error=failures.outcome_unknown(spec, cause), attempt=harmless.attempt)


def fault(p: Passage, s: Services, error: BaseException) -> Outcome:
    """The outcome where this package itself failed after the claim, or was stopped."""
    _report(p, s, error)
    stopped = isinstance(error, asyncio.CancelledError)
    said = failures.cancelled(p.spec) if stopped else failures.crashed(p.spec)
    harmless = Outcome(status="cancelled" if stopped else "error", error=said)
    return cut_short(p.spec, harmless, "cancelled" if stopped else "error")


def _returned(p: Passage, s: Services, value: Any, attempt: int) -> Outcome:
    assert p.entry is not None
    try:
        read = read_value(value, p.entry.tool, limit_bytes=s.limits.artifact_bytes)
    except Unwritable as error:
        problem(p, s, "result", error.__cause__ or error)
        said = failures.output_invalid(p.spec, str(error))
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
    text = worded(p, s, error)
    if not isinstance(error, HandlerError):
        _log.error("%s failed in call %s: %s", p.spec.id, p.call_id, text)
    problem(p, s, "handler", text)


def _late(p: Passage, s: Services, ended: Ended) -> None:
    """A handler that had been given up has ended. It is evidence for whoever settles the call, never a result.

    From here on "not done" can be believed: nobody is left who could still do it.
    """
    row = trace(p, s, "call.late", status="returned" if isinstance(ended, Returned) else "raised")
    work = s.store.record([row]) if p.record is None else _let_go(p, s, row)
    future = asyncio.ensure_future(work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _let_go(p: Passage, s: Services, row: AuditRow) -> None:
    assert p.record is not None
    move = Move(
        tenant=p.record.tenant,
        call_id=p.record.call_id,
        expect=("unknown",),
        expect_owner=s.owner,
        to="unknown",
        release_owner=True,
        audit=(row,),
    )
    if not await s.store.move(move):
        await s.store.record([row])
