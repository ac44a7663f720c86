"""Faults that engines like this one really had. Each test has the id of its case in its name."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from typing import Annotated, Any

import pytest

import surehand as sh
from tests.desk import Desk, pay_tool, until

RAN = ("ok", False)


def ask_all(name: str) -> str:
    return f'@id("ask") @approvers("finance") forbid (principal, action == Action::"call/{name}", resource);'


# -- C12: several JSON values in one arguments text ------------------------------------------------


def echo_tool(desk: Desk) -> sh.Tool:
    def handler(context: sh.CallContext, text: str) -> str:
        desk.done.append(json.loads(text))
        return "ran"

    spec = sh.ToolSpec(
        name="echo",
        description="Gives back what it is given.",
        read_only=True,
        parameters={"type": "object", "properties": {}, "additionalProperties": True},
    )
    return sh.raw_tool(spec, handler)


@pytest.mark.parametrize(
    ("arguments", "code", "ran", "says"),
    [
        pytest.param(
            '{"e":"X","r":1}{"e":"X","r":2}', "ARGUMENTS_NOT_JSON", [], "several JSON values", id="two-objects"
        ),
        pytest.param('{"a":1}{"a":', "ARGUMENTS_NOT_JSON", [], "several JSON values", id="object-and-a-half"),
        pytest.param('{"s":"a}{b"}', None, [{"s": "a}{b"}], "ran", id="braces-in-a-string"),
        pytest.param('{"a":1}```', "ARGUMENTS_NOT_JSON", [], "", id="fence-after"),
    ],
)
async def test_C12_glued_arguments(
    desk: Desk, open_desk: Any, arguments: str, code: str | None, ran: list[Any], says: str
) -> None:
    engine = await open_desk(echo_tool(desk))
    result = await engine.call(sh.ToolCall(id="m1", name="echo", arguments=arguments), desk.alice)
    assert (result.error.code if result.error else None) == code
    assert says in result.content
    assert (result.tool_call_id, desk.done) == ("m1", ran)


# -- C22: a sync tool that goes on after its timeout -----------------------------------------------


def slow_tool(desk: Desk, **fields: Any) -> sh.Tool:
    @sh.tool(timeout_s=0.1, retry="simple", key=["no"], **fields)
    def slow(no: int) -> str:
        """Takes its time."""
        time.sleep(0.5)
        desk.done.append(no)
        return "late"

    return slow


async def test_C22_a_timed_out_sync_tool_is_unknown_and_not_retried(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(slow_tool(desk))
    began = time.monotonic()
    result = await engine.call(sh.ToolCall(id="c1", name="slow", arguments={"no": 1}), desk.alice)
    assert time.monotonic() - began < 0.3
    assert (result.status, result.error and result.error.code) == ("unknown", "TOOL_OUTCOME_UNKNOWN")
    assert "timeout" in result.content
    again = await engine.call(sh.ToolCall(id="c2", name="slow", arguments={"no": 1}), desk.alice)
    assert (again.status, again.call_id) == ("unknown", result.call_id)
    await until(lambda: desk.done == [1])
    await until(lambda: _recorded(engine, desk, result.call_id, "call.late"))
    assert desk.done == [1]
    final = await engine.resume(result.call_id, by=desk.alice)
    assert final.status == "unknown"
    assert "late" not in final.content


async def test_C22_close_does_not_wait_for_a_thread_that_hangs(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(slow_tool(desk))
    await engine.call(sh.ToolCall(id="c1", name="slow", arguments={"no": 1}), desk.alice)
    began = time.monotonic()
    await engine.close()
    assert time.monotonic() - began < 0.3
    assert desk.done == []


async def test_C22_the_async_twin_is_cancelled(desk: Desk, open_desk: Any) -> None:
    @sh.tool(timeout_s=0.1, key=["no"])
    async def slow(no: int) -> str:
        """Takes its time."""
        await asyncio.sleep(0.5)
        desk.done.append(no)
        return "late"

    engine: sh.Engine = await open_desk(slow)
    result = await engine.call(sh.ToolCall(id="c1", name="slow", arguments={"no": 1}), desk.alice)
    await asyncio.sleep(0.6)
    assert (result.status, desk.done) == ("unknown", [])


# -- C27, C28, C29: decisions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approval", "verdict", "refused"),
    [
        pytest.param("r1", None, None, id="none"),
        pytest.param("other", "approve", "not_found", id="foreign-request"),
        pytest.param("r1", "true", "not_a_decision", id="the-word-true"),
        pytest.param("r1", True, "not_a_decision", id="true"),
        pytest.param("r1", 1, "not_a_decision", id="one"),
        pytest.param("r1", "", "not_a_decision", id="empty"),
    ],
)
async def test_C27_no_decision_is_no(
    desk: Desk, open_desk: Any, approval: str, verdict: Any, refused: str | None
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ask_all("pay"))
    call = sh.ToolCall(id="c1", name="pay", arguments={"to": "bob", "no": 1, "amount": 5})
    waiting = await engine.call(call, desk.alice)
    assert waiting.approval_id is not None
    asked = waiting.approval_id if approval == "r1" else "apr_other"
    try:
        await engine.approvals.decide(asked, verdict, by=desk.fiona)
        code = None
    except sh.ApprovalError as error:
        code = error.code
    assert code == refused
    resumed = await engine.resume(waiting.call_id, by=desk.alice)
    assert (resumed.status, resumed.approval_id, desk.done) == ("pending", waiting.approval_id, [])
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert len(desk.done) == 1


async def test_C28_what_runs_comes_from_the_store_and_a_decision_counts_once(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ask_all("pay"))
    first = await engine.call(sh.ToolCall(id="c1", name="pay", arguments={"to": "A", "no": 1, "amount": 1}), desk.alice)
    assert first.approval_id is not None
    with pytest.raises(sh.ApprovalError, match="another call") as refused:
        await engine.approvals.approve(first.approval_id, by=desk.fiona, digest="0" * 64)
    assert refused.value.code == "mismatch"
    await engine.approvals.approve(first.approval_id, by=desk.fiona)
    with pytest.raises(sh.ApprovalError) as again:
        await engine.approvals.approve(first.approval_id, by=desk.fiona)
    assert again.value.code == "already_decided"
    for _ in range(2):
        await engine.resume(first.call_id, by=desk.alice)
    with pytest.raises(sh.ApprovalError):
        await engine.approvals.approve(first.approval_id, by=desk.fiona)
    assert desk.done == [("pay", "A", 1, 1)]


async def test_C29_a_no_is_enforced_before_any_tool_code(desk: Desk, open_desk: Any) -> None:
    def handler(context: sh.CallContext, text: str) -> str:
        desk.done.append(context.call_id)
        return "ran"

    spec = sh.ToolSpec(name="raw", description="Never looks at decisions.", requires_approval=True)
    engine: sh.Engine = await open_desk(sh.raw_tool(spec, handler))
    calls = [sh.ToolCall(id="c1", name="raw"), sh.ToolCall(id="c2", name="raw")]
    first, second = await engine.call_many(calls, desk.alice, run=sh.RunStep(run_id="r", turn=0))
    assert first.approval_id is not None
    assert second.approval_id is not None
    await engine.approvals.reject(first.approval_id, by=desk.fiona, reason="not today")
    await engine.approvals.approve(second.approval_id, by=desk.fiona)
    results = [await engine.resume(one.call_id, by=desk.alice) for one in (first, second)]
    assert [one.status for one in results] == ["denied", "ok"]
    assert results[0].error is not None
    assert results[0].error.code == "APPROVAL_REJECTED"
    assert "not today" in results[0].content
    assert desk.done == [second.call_id]


# -- C40: injected arguments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param({"status": "open", "tenant_id": "t2"}, "TOOL_ARGUMENT_INVALID", id="set-by-the-model"),
        pytest.param({"status": 5}, "TOOL_ARGUMENT_INVALID", id="bad-call"),
        pytest.param({"status": "open"}, None, id="good-call"),
    ],
)
async def test_C40_injected_arguments_are_not_the_models(
    desk: Desk, open_desk: Any, arguments: dict[str, Any], code: str | None
) -> None:
    @sh.tool(read_only=True)
    async def list_orders(status: str, *, tenant_id: Annotated[str, sh.Injected("tenant")]) -> str:
        """Lists orders."""
        desk.done.append(tenant_id)
        return "none"

    engine: sh.Engine = await open_desk(list_orders)
    view = await engine.view(desk.alice)
    assert "tenant_id" not in json.dumps(view.tools[0].spec.parameters)
    result = await engine.call(sh.ToolCall(id="c1", name="list_orders", arguments=arguments), desk.alice)
    assert (result.error.code if result.error else None) == code
    assert desk.done == ([] if code else ["acme"])
    if "tenant_id" not in arguments:
        assert "tenant_id" not in result.content
        assert "acme" not in result.content


# -- C42: what of an exception reaches the model ---------------------------------------------------


async def test_C42_only_business_errors_speak_for_themselves(
    desk: Desk, open_desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @sh.tool(read_only=True)
    async def broken() -> str:
        """Reads what cannot be read."""
        raise Exception("connect failed postgres://u:pw@db.int:5432")

    @sh.tool(read_only=True)
    async def picky(day: str) -> str:
        """Reads a day."""
        raise sh.BusinessError("date must be ISO")

    engine: sh.Engine = await open_desk(broken, picky)
    with caplog.at_level(logging.ERROR, "surehand.handler"):
        one = await engine.call(sh.ToolCall(id="c1", name="broken"), desk.alice)
    assert (one.status, one.error and one.error.code) == ("error", "TOOL_ERROR")
    assert "broken" in one.content
    assert not any(secret in str(one) for secret in ("pw", "db.int"))
    assert "db.int" in caplog.text
    assert "u:pw" not in caplog.text
    two = await engine.call(sh.ToolCall(id="c2", name="picky", arguments={"day": "x"}), desk.alice)
    assert (two.content, two.error and two.error.code) == ("date must be ISO", "TOOL_BUSINESS_ERROR")
    three = await engine.call(sh.ToolCall(id="c3", name="picky", arguments='{"a": '), desk.alice)
    assert three.error is not None
    assert three.error.code == "ARGUMENTS_TRUNCATED"
    assert '{"a": ' in three.content


# -- C51: NaN and infinities -----------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ['{"x":NaN}', '{"x":1e400}', '{"x":-Infinity}'])
async def test_C51_no_such_number_reaches_a_tool(desk: Desk, open_desk: Any, arguments: str) -> None:
    @sh.tool(read_only=True)
    async def square(x: float) -> float:
        """Squares a number."""
        desk.done.append(x)
        return x * x

    engine: sh.Engine = await open_desk(square)
    result = await engine.call(sh.ToolCall(id="c1", name="square", arguments=arguments), desk.alice)
    assert (result.status, result.is_error, desk.done) == ("error", True, [])


async def test_C51_results_are_valid_json_with_null(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def stats() -> dict[str, float]:
        """Mean and deviation."""
        return {"mean": 1.5, "sd": float("nan")}

    @sh.tool(read_only=True)
    async def limit() -> float:
        """A bound."""
        return float("inf")

    engine: sh.Engine = await open_desk(stats, limit)
    one = await engine.call(sh.ToolCall(id="c1", name="stats"), desk.alice)
    assert (one.status, one.structured) == ("ok", {"mean": 1.5, "sd": None})
    assert json.loads(one.content) == one.structured
    two = await engine.call(sh.ToolCall(id="c2", name="limit"), desk.alice)
    assert (two.status, two.content, two.structured) == ("ok", "null", None)


# -- C59: sync tools and the event loop ------------------------------------------------------------


async def test_C59_sync_tools_run_side_by_side_and_hold_nothing_up(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    def nap() -> str:
        """Sleeps."""
        time.sleep(0.3)
        return "slept"

    engine: sh.Engine = await open_desk(nap)
    gaps: list[float] = []

    async def heartbeat() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.02)
            gaps.append(time.monotonic() - last)
            last = time.monotonic()

    beat = asyncio.create_task(heartbeat())
    began = time.monotonic()
    results = await engine.call_many([sh.ToolCall(id=str(i), name="nap") for i in range(2)], desk.alice)
    took = time.monotonic() - began
    beat.cancel()
    assert [result.status for result in results] == ["ok", "ok"]
    assert took < 0.5
    assert max(gaps) < 0.1


async def test_C59_sequential_tools_do_not_overlap(desk: Desk, open_desk: Any) -> None:
    running = threading.Semaphore(1)

    @sh.tool(read_only=True, sequential=True)
    def alone() -> str:
        """Must be alone."""
        if not running.acquire(blocking=False):
            return "overlapped"
        time.sleep(0.05)
        running.release()
        return "alone"

    engine: sh.Engine = await open_desk(alone)
    results = await engine.call_many([sh.ToolCall(id=str(i), name="alone") for i in range(4)], desk.alice)
    assert {result.content for result in results} == {"alone"}


# -- C62, C63: what was approved -------------------------------------------------------------------


async def test_C62_the_approver_sees_what_runs(desk: Desk, open_desk: Any) -> None:
    @sh.tool(requires_approval=True, key=["no"])
    async def transfer(no: int, amount: int, currency: str = "EUR") -> str:
        """Transfers money."""
        desk.done.append((no, amount, currency))
        return "sent"

    class Cap(sh.Interceptor):
        def before(self, call: sh.Proposed) -> sh.Modify:
            return sh.Modify({**call.arguments, "amount": min(call.arguments["amount"], 50)})

    engine: sh.Engine = await open_desk(transfer, interceptors=[Cap()])
    waiting = await engine.call(sh.ToolCall(id="c1", name="transfer", arguments={"no": 1, "amount": 100}), desk.alice)
    assert waiting.approval_id is not None
    shown = await engine.approvals.get(waiting.approval_id, by=desk.fiona)
    assert shown.arguments == {"no": 1, "amount": 50, "currency": "EUR"}
    assert shown.written == {"no": 1, "amount": 100}
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [(1, 50, "EUR")]


async def test_C62_hooks_are_checked_again_on_resume(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ask_all("pay"))
    cap = 50

    @engine.hook("tool.pre")
    def capped(call: sh.Proposed) -> sh.Modify:
        return sh.Modify({**call.arguments, "amount": min(call.arguments["amount"], cap)})

    call = sh.ToolCall(id="c1", name="pay", arguments={"to": "bob", "no": 1, "amount": 100})
    waiting = await engine.call(call, desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    cap = 40
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.error and result.error.code, desk.done) == ("APPROVAL_STALE", [])


@pytest.mark.parametrize("refreshed", [True, False], ids=["fresh-caller", "same-caller"])
async def test_C63_an_approval_survives_a_restart_and_counts_once(desk: Desk, open_desk: Any, refreshed: bool) -> None:
    first: sh.Engine = await open_desk(pay_tool(desk), policies=ask_all("pay"))
    call = sh.ToolCall(id="c1", name="pay", arguments={"to": "bob", "no": 1, "amount": 5})
    waiting = await first.call(call, desk.alice)
    assert waiting.approval_id is not None
    await first.approvals.approve(waiting.approval_id, by=desk.fiona)
    await first.close()
    second: sh.Engine = await open_desk(pay_tool(desk), policies=ask_all("pay"))
    by = desk.alice
    if refreshed:
        by = sh.Caller(id="alice", tenant="acme", roles=["support", "lead"], scopes=["pay"])
    result = await second.resume(waiting.call_id, by=by)
    assert (result.status, result.replayed) == ("ok", False)
    again = await second.resume(waiting.call_id, by=by)
    assert (again.status, again.replayed, again.content) == ("ok", True, result.content)
    assert len(desk.done) == 1


# --------------------------------------------------------------------------------------------------


async def _recorded(engine: sh.Engine, desk: Desk, call_id: str, kind: str) -> bool:
    rows = await engine.services.store.list_audit(desk.alice.tenant, call_id=call_id)
    return [row.kind for row in rows].count(kind) == 1


async def test_C70_a_cached_read_is_the_callers_own_and_writes_are_never_cached(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, cache_ttl_s=60)
    async def me(*, caller: Annotated[sh.Caller, sh.Injected("caller")]) -> str:
        """Says who calls."""
        return caller.id

    @sh.tool(idempotency="idempotency_key")
    async def create_order(sku: str) -> str:
        """Creates an order."""
        desk.done.append(sku)
        return "created"

    engine: sh.Engine = await open_desk(me, create_order)
    users = [sh.Caller(id=name, tenant="acme") for name in ("u1", "u2", "u1", "u2")]
    results = [await engine.call(sh.ToolCall(id="c", name="me", arguments={}), user) for user in users]
    assert [(one.content, one.cached) for one in results] == [("u1", False), ("u2", False), ("u1", True), ("u2", True)]
    hit = await engine.audit.story(results[2].call_id, by=users[0])
    assert (hit.facts["cached"], hit.decision) == (True, "allow")
    order = sh.ToolCall(id="c", name="create_order", arguments={"sku": "s"})
    assert [(await engine.call(order, users[0])).cached for _ in range(2)] == [False, False]
    assert desk.done == ["s", "s"]
    with pytest.raises(sh.SpecError, match="only reads may be reused"):
        sh.ToolSpec(name="create_order", description="Creates an order.", cache_ttl_s=60)
