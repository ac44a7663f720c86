"""Deadlines, cancellation, retries, bounds and what a handler is told."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Annotated, Any

import pytest

import surehand as sh
from tests.desk import Desk, until

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def call(name: str, **arguments: Any) -> sh.ToolCall:
    return sh.ToolCall(id="c1", name=name, arguments=arguments)


async def test_a_handler_is_told_about_its_call(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"])
    async def told(
        no: int,
        *,
        caller: Annotated[sh.Caller, sh.Injected("caller")],
        call_id: Annotated[str, sh.Injected("call_id")],
        key: Annotated[str, sh.Injected("idempotency_key")],
        deadline: Annotated[float, sh.Injected("deadline")],
        progress: Annotated[Any, sh.Injected("progress")],
        logger: Annotated[Any, sh.Injected("logger")],
    ) -> str:
        """Says what it knows."""
        progress("half-way")
        logger.info("hello")
        desk.done.append((caller.id, call_id, key, 0 < deadline - time.monotonic() <= 30))
        return "told"

    engine: sh.Engine = await open_desk(told)
    heard: list[sh.Event] = []
    engine.on_event(heard.append)
    result = await engine.call(call("told", no=1), desk.alice)
    await asyncio.sleep(0)
    ((caller, call_id, key, in_time),) = desk.done
    assert (caller, call_id, in_time) == ("alice", result.call_id, True)
    assert key not in ("", call_id)
    assert [event.data["text"] for event in heard if event.kind == "call.progress"] == ["half-way"]


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_context_variables_reach_the_handler(desk: Desk, open_desk: Any, kind: str) -> None:
    @sh.tool(read_only=True)
    async def in_loop() -> str:
        """Reads a context variable."""
        return WHO.get()

    @sh.tool(read_only=True)
    def in_thread() -> str:
        """Reads a context variable."""
        return WHO.get() if threading.current_thread().name == "surehand-handler" else "in the loop"

    engine: sh.Engine = await open_desk(in_loop, in_thread)
    token = WHO.set("somebody")
    result = await engine.call(call("in_loop" if kind == "async" else "in_thread"), desk.alice)
    WHO.reset(token)
    assert result.content == "somebody"


@pytest.mark.parametrize(
    ("read_only", "recorded", "code"),
    [(True, "cancelled", "CANCELLED"), (False, "unknown", "TOOL_OUTCOME_UNKNOWN")],
)
async def test_the_callers_cancellation_stops_the_handler_and_is_recorded(
    desk: Desk, open_desk: Any, read_only: bool, recorded: str, code: str
) -> None:
    begun = asyncio.Event()

    @sh.tool(read_only=read_only, key=[] if read_only else ["no"])
    async def slow(no: int) -> str:
        """Takes its time."""
        begun.set()
        await asyncio.sleep(10)
        desk.done.append(no)
        return "done"

    engine: sh.Engine = await open_desk(slow)
    task = asyncio.create_task(engine.call(call("slow", no=1), desk.alice))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.done == []
    rows = await _rows(engine, desk, 1 if read_only else 2)
    assert f'"status":"{recorded}"'.encode() in rows[-1].body
    assert code.encode() in rows[-1].body


async def test_a_handlers_own_cancellation_is_not_the_callers(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def cancels() -> str:
        """Cancels itself."""
        raise asyncio.CancelledError

    engine: sh.Engine = await open_desk(cancels)
    result = await engine.call(call("cancels"), desk.alice)
    assert (result.status, result.error and result.error.code) == ("error", "TOOL_ERROR")


async def test_a_handler_that_swallows_its_cancellation_is_given_up(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, timeout_s=0.05)
    async def stubborn() -> str:
        """Does not stop."""
        for _ in range(20):
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return "at last"

    engine: sh.Engine = await open_desk(stubborn)
    began = time.monotonic()
    result = await engine.call(call("stubborn"), desk.alice)
    assert (result.status, result.error and result.error.code) == ("error", "TOOL_TIMEOUT")
    assert time.monotonic() - began < 0.8


@pytest.mark.parametrize(
    ("fields", "raises", "attempts", "status", "code"),
    [
        pytest.param({"read_only": True}, [TimeoutError()], 1, "error", "TOOL_ERROR", id="no-retry-declared"),
        pytest.param({"read_only": True, "retry": "simple"}, [TimeoutError()], 2, "ok", None, id="read-retried"),
        pytest.param({"read_only": True, "retry": "exponential"}, [OSError()] * 2, 3, "ok", None, id="exponential"),
        pytest.param({"read_only": True, "retry": "simple"}, [OSError()] * 9, 3, "error", "TOOL_ERROR", id="bounded"),
        pytest.param(
            {"read_only": True, "retry": "simple"}, [sh.BusinessError("no")], 1, "error", "TOOL_BUSINESS_ERROR", id="no"
        ),
        pytest.param(
            {"key": ["no"], "retry": "simple"}, [OSError()], 1, "unknown", "TOOL_OUTCOME_UNKNOWN", id="effect-never"
        ),
        pytest.param({"key": ["no"], "retry": "simple"}, [sh.Unavailable()], 2, "ok", None, id="surely-not-sent"),
        pytest.param(
            {"key": ["no"], "retry": "simple"}, [sh.OutcomeUnknown()], 1, "unknown", "TOOL_OUTCOME_UNKNOWN", id="lost"
        ),
        pytest.param(
            {"idempotency": "idempotency_key", "key": ["no"], "retry": "simple"}, [OSError()], 2, "ok", None, id="keyed"
        ),
    ],
)
async def test_retries_only_where_they_are_harmless(
    desk: Desk, open_desk: Any, fields: Any, raises: list[Exception], attempts: int, status: str, code: str | None
) -> None:
    if fields.get("retry"):
        fields = {**fields, "retry": sh.Retry(kind=fields["retry"], wait_s=0.001)}

    @sh.tool(**fields)
    async def flaky(no: int) -> str:
        """Fails sometimes."""
        desk.done.append(no)
        if len(desk.done) <= len(raises):
            raise raises[len(desk.done) - 1]
        return "worked"

    engine: sh.Engine = await open_desk(flaky)
    result = await engine.call(call("flaky", no=1), desk.alice)
    assert (result.status, result.error and result.error.code) == (status, code)
    assert len(desk.done) == attempts


async def test_no_effect_means_the_effect_may_be_asked_for_again(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"])
    async def pay(no: int, fail: bool) -> str:
        """Pays."""
        if fail:
            raise sh.BusinessError("not enough money")
        desk.done.append(no)
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    refused = await engine.call(call("pay", no=1, fail=True), desk.alice)
    paid = await engine.call(call("pay", no=1, fail=False), desk.alice)
    assert [refused.content, paid.content, desk.done] == ["not enough money", "paid", [1]]


async def test_an_effect_without_a_key_is_refused_outside_a_run(desk: Desk, open_desk: Any) -> None:
    @sh.tool()
    async def mail(to: str) -> str:
        """Sends."""
        desk.done.append(to)
        return "sent"

    engine: sh.Engine = await open_desk(mail)
    refused = await engine.call(call("mail", to="a"), desk.alice)
    assert (refused.status, refused.error and refused.error.code, desk.done) == ("denied", "POLICY_DENIED", [])
    assert "idempotency_key=" in refused.content
    step = sh.RunStep(run_id="r1", turn=0)
    results = [
        await engine.call(call("mail", to="a"), desk.alice, run=step),
        await engine.call(call("mail", to="a"), desk.alice, run=step),
        await engine.call(call("mail", to="a"), desk.alice, run=sh.RunStep(run_id="r1", turn=1)),
        await engine.call(call("mail", to="a"), desk.alice, idempotency_key="k1"),
        await engine.call(call("mail", to="a"), desk.alice, idempotency_key="k1"),
    ]
    assert [result.replayed for result in results] == [False, True, False, False, True]
    assert len(desk.done) == 3


async def test_a_replay_shows_content_to_the_same_caller_only(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"])
    async def pay(no: int) -> str:
        """Pays."""
        return "the secret of alice"

    engine: sh.Engine = await open_desk(pay)
    await engine.call(call("pay", no=1), desk.alice)
    bob = sh.Caller(id="bob", tenant="acme")
    again = await engine.call(call("pay", no=1), bob)
    assert (again.status, again.replayed) == ("ok", True)
    assert "alice" not in str(again)
    foreign = await engine.call(call("pay", no=1), desk.mallory)
    assert (foreign.status, foreign.replayed) == ("ok", False)


async def test_pending_and_failed_siblings_hold_nobody_up(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def read(no: int) -> str:
        """Reads."""
        if no == 1:
            raise RuntimeError("boom")
        return f"read {no}"

    @sh.tool(requires_approval=True, key=["no"])
    async def write(no: int) -> str:
        """Writes."""
        return "written"

    engine: sh.Engine = await open_desk(read, write)
    calls = [
        sh.ToolCall(id="a", name="read", arguments={"no": 0}),
        sh.ToolCall(id="b", name="write", arguments={"no": 0}),
        sh.ToolCall(id="c", name="read", arguments={"no": 1}),
        sh.ToolCall(id="d", name="nothing"),
        sh.ToolCall(id="e", name="read", arguments={"no": 2}),
    ]
    results = await engine.call_many(calls, desk.alice)
    assert [(one.tool_call_id, one.status) for one in results] == [
        ("a", "ok"), ("b", "pending"), ("c", "error"), ("d", "error"), ("e", "ok"),
    ]  # fmt: skip
    assert all(one.content for one in results)


async def _rows(engine: sh.Engine, desk: Desk, count: int) -> list[Any]:
    """The records of the only call, once there are so many."""
    rows: list[Any] = []

    async def enough() -> bool:
        rows[:] = sorted(await engine.services.store.list_audit(desk.alice.tenant), key=lambda row: row.row_id)
        return len(rows) >= count

    await until(enough)
    return rows
