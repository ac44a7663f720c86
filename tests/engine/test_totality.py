"""Whatever a handler, a hook or a check does: the call gets a result, the ledger the truth, the record a row."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until

OPERATOR = sh.Caller(id="olga", tenant="acme", roles=["operator"])


class EvilError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class BareBusinessError(sh.BusinessError):
    def __init__(self) -> None:
        pass


class EvilModel:
    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("cannot")


def raises(error: BaseException) -> Any:
    def handler() -> Any:
        raise error

    return handler


HANDLERS: list[Any] = [
    pytest.param(lambda: EvilModel(), "ok", "TOOL_OUTPUT_INVALID", id="evil-model"),
    pytest.param(lambda: sh.Output(text=5), "unknown", "TOOL_OUTCOME_UNKNOWN", id="no-output"),  # pyright: ignore[reportArgumentType]
    pytest.param(lambda: "\ud800", "ok", None, id="half-a-character"),
    pytest.param(lambda: [[0] * 1000] * 1000, "ok", "TOOL_OUTPUT_INVALID", id="a-million-numbers"),
    pytest.param(raises(EvilError()), "unknown", "TOOL_OUTCOME_UNKNOWN", id="evil-error"),
    pytest.param(raises(BareBusinessError()), "error", "TOOL_BUSINESS_ERROR", id="bare-business-error"),
    pytest.param(
        raises(sh.BusinessError("no", details={"x": "\ud800"})), "error", "TOOL_BUSINESS_ERROR", id="odd-details"
    ),
    pytest.param(raises(SystemExit(3)), "unknown", "TOOL_OUTCOME_UNKNOWN", id="exit"),
    pytest.param(raises(asyncio.CancelledError()), "unknown", "TOOL_OUTCOME_UNKNOWN", id="cancelled"),
    pytest.param(raises(StopIteration()), "unknown", "TOOL_OUTCOME_UNKNOWN", id="stop-iteration"),
]


@pytest.mark.parametrize("approved", [False, True], ids=["called", "resumed"])
@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize(("does", "status", "code"), HANDLERS)
async def test_any_handler_ends_in_a_result(
    desk: Desk, open_desk: Any, does: Any, status: str, code: str | None, kind: str, approved: bool
) -> None:
    async def in_loop() -> Any:
        return does()

    spec = sh.ToolSpec(name="act", description="Acts.", requires_approval=approved)
    engine: sh.Engine = await open_desk(sh.bind_tool(spec, in_loop if kind == "async" else does))
    result = await engine.call(sh.ToolCall(id="c", name="act"), desk.alice, idempotency_key="k")
    if approved:
        assert result.approval_id is not None
        await engine.approvals.approve(result.approval_id, by=desk.fiona)
        result = await engine.resume(result.call_id, by=desk.alice)
    assert (result.status, result.error.code if result.error else None) == (status, code)
    assert result.content
    record = await engine.services.store.get_call("acme", result.call_id)
    assert record is not None
    assert record.status == status
    rows = await engine.services.store.list_audit("acme", call_id=result.call_id)
    assert {"call.started", "call.settled", "call.finished"} <= {row.kind for row in rows}
    again = await engine.resume(result.call_id, by=desk.alice)
    assert again.status == status


HOOKS: list[Any] = [
    pytest.param(asyncio.CancelledError(), id="cancelled"),
    pytest.param(GeneratorExit(), id="generator-exit"),
    pytest.param(SystemExit(1), id="exit"),
    pytest.param(ValueError("x"), id="error"),
    pytest.param("stubborn", id="swallows-its-cancellation"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("does", HOOKS)
async def test_any_hook_harms_its_own_call_only(desk: Desk, open_desk: Any, does: Any, when: str) -> None:
    async def act(call: sh.Proposed) -> None:
        if call.arguments["no"] != 1:
            return
        if isinstance(does, BaseException):
            raise does
        for _ in range(20):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue

    class Hook(sh.Interceptor):
        async def before(self, call: sh.Proposed) -> None:
            if when == "before":
                await act(call)

        async def after(self, call: sh.Proposed, result: sh.ToolResult) -> None:
            if when == "after":
                await act(call)

    engine: sh.Engine = await open_desk(
        pay_tool(desk), interceptors=[Hook()], settings=sh.Settings(limits=sh.Limits(hook_timeout_s=0.1))
    )
    first, second = await engine.call_many([pay_call(1), pay_call(2)], desk.alice)
    assert second.status == "ok"
    assert first.error is not None
    assert first.error.code == ("HOOK_BLOCKED" if when == "before" else "TOOL_OUTPUT_INVALID")
    assert (len(desk.done), first.status) == ((1, "denied") if when == "before" else (2, "ok"))


async def test_a_check_that_cannot_run_keeps_the_yes(desk: Desk, open_desk: Any) -> None:
    broken = True

    async def check(arguments: dict[str, Any]) -> None:
        if broken:
            raise sh.Unavailable("down")

    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    broken = False
    await engine.close()
    engine = await open_desk(pay_tool(desk, check=check), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    broken = True
    refused = await engine.resume(waiting.call_id, by=desk.alice)
    assert (refused.error and refused.error.code) == "TOOL_UNAVAILABLE"
    broken = False
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"


async def test_a_hundred_sync_calls_at_once_all_run(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    def read(no: int) -> int:
        """Reads."""
        return no

    engine: sh.Engine = await open_desk(read, settings=sh.Settings(limits=sh.Limits(threads=4)))
    calls = [sh.ToolCall(id=str(no), name="read", arguments={"no": no}) for no in range(100)]
    results = await engine.call_many(calls, desk.alice)
    assert [result.content for result in results] == [str(no) for no in range(100)]


async def test_evidence_that_is_no_json_is_still_evidence(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], status_check=lambda arguments, key: sh.Done(object()))
    async def pay(no: int) -> str:
        """Pays."""
        raise sh.OutcomeUnknown

    engine: sh.Engine = await open_desk(pay)
    call = sh.ToolCall(id="c", name="pay", arguments={"no": 1})
    first = await engine.call(call, desk.alice)
    again = await engine.call(call, desk.alice)
    assert (first.status, again.status, again.error and again.error.code) == ("unknown", "ok", "TOOL_OUTPUT_INVALID")


async def test_waiting_is_bounded(desk: Desk, open_desk: Any) -> None:
    begun = asyncio.Event()

    @sh.tool(key=["no"])
    async def slow(no: int) -> str:
        """Takes its time."""
        begun.set()
        await asyncio.sleep(1.5)
        return "done"

    engine: sh.Engine = await open_desk(slow)
    task = asyncio.create_task(engine.call(sh.ToolCall(id="c", name="slow", arguments={"no": 1}), desk.alice))
    await begun.wait()
    (record,) = await engine.services.store.list_calls("acme")
    loop = asyncio.get_running_loop()
    began = loop.time()
    result = await engine.wait(record.call_id, by=desk.alice, timeout_s=0.2)
    assert (result.status, loop.time() - began < 1.0) == ("pending", True)
    await task


async def test_questions_are_bounded(desk: Desk, open_desk: Any) -> None:
    limits = sh.Settings(limits=sh.Limits(open_approvals=2))
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=limits)
    results = [await engine.call(pay_call(no, amount=50_000), desk.alice) for no in range(3)]
    assert [result.status for result in results] == ["pending", "pending", "error"]
    assert results[2].error is not None
    assert results[2].error.code == "RATE_LIMITED"


async def test_an_engine_can_be_opened_again(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    def read() -> str:
        """Reads."""
        return "read"

    engine: sh.Engine = await open_desk(read)
    await engine.close()
    async with engine:
        assert (await engine.call(sh.ToolCall(id="c", name="read"), desk.alice)).content == "read"


async def test_closing_waits_for_what_is_about_to_be_settled(desk: Desk, open_desk: Any) -> None:
    begun = asyncio.Event()

    @sh.tool(key=["no"])
    async def pay(no: int) -> str:
        """Pays."""
        begun.set()
        await asyncio.sleep(0.2)
        desk.done.append(no)
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    call = sh.ToolCall(id="c", name="pay", arguments={"no": 1})
    task = asyncio.create_task(engine.call(call, desk.alice))
    await begun.wait()
    await engine.close()
    await asyncio.gather(task, return_exceptions=True)
    again: sh.Engine = await open_desk(pay)
    result = await again.call(call, desk.alice)
    assert (result.status, result.replayed, desk.done) == ("ok", True, [1])


async def test_others_read_nothing_of_a_call_whatever_its_state(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], display="Paying with {card}")
    async def pay(no: int, card: str) -> str:
        """Pays."""
        if no == 2:
            raise sh.BusinessError("alice's balance is 12.50", details={"iban": "DE1"})
        return "the secret of alice"

    engine: sh.Engine = await open_desk(pay)
    bob = sh.Caller(id="bob", tenant="acme")
    for no in (1, 2):
        call = sh.ToolCall(id="c", name="pay", arguments={"no": no, "card": "p-77"})
        mine = await engine.call(call, desk.alice)
        theirs = str(await engine.resume(mine.call_id, by=bob))
        assert not any(secret in theirs for secret in ("secret of", "12.50", "DE1", "p-77")), theirs
        await until(lambda call_id=mine.call_id: _story(engine, call_id, desk.alice))
        with pytest.raises(sh.NotAllowedError):
            await engine.audit.story(mine.call_id, by=bob)


async def _story(engine: sh.Engine, call_id: str, by: sh.Caller) -> bool:
    return (await engine.audit.story(call_id, by=by)).caller["id"] == by.id


async def test_approvals_are_seen_by_those_they_concern(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    bob = sh.Caller(id="bob", tenant="acme", roles=["support"])
    assert await engine.approvals.list(by=bob) == []
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.approvals.get(waiting.approval_id, by=bob)
    assert refused.value.code == "not_found"
    for person in (desk.alice, desk.fiona, sh.Caller(id="ann", tenant="acme", roles=["auditor"])):
        assert len(await engine.approvals.list(by=person)) == 1
