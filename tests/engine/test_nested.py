"""Calls that handlers make: the whole line for each, inside the call that makes them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_tool, until

GivenTools = Annotated[sh.Tools, sh.Injected("tools")]


def outer_tool(work: Any, *, calls: list[str] | None = None, **fields: Any) -> sh.Tool:
    """A tool whose handler does `work(tools)`."""
    given: Any = {"key": ["no"], "calls": calls or ["pay", "look", "outer"], **fields}

    @sh.tool(**given)
    async def outer(no: int, *, tools: GivenTools) -> Any:
        """Does several things."""
        return await work(tools)

    return outer


@sh.tool(read_only=True)
async def look(what: str) -> str:
    """Looks."""
    return f"seen {what}"


OUTER = sh.ToolCall(id="c1", name="outer", arguments={"no": 1})


def pay_with(tools: sh.Tools, no: int = 1, amount: int = 500, **options: Any) -> Any:
    return tools.call("pay", {"to": "bob", "no": no, "amount": amount}, **options)


async def test_a_child_takes_the_whole_line_as_the_same_person(desk: Desk, open_desk: Any) -> None:
    results: list[sh.ToolResult] = []

    async def work(tools: sh.Tools) -> str:
        results.append(await pay_with(tools))
        results.append(await tools.call("look", {"what": "x"}))
        return results[0].content

    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]), look, outer_tool(work))
    events: list[sh.Event] = []
    engine.on_event(events.append)
    result = await engine.call(OUTER, desk.alice, run=sh.RunStep(run_id="r1", turn=2, position=3))
    assert (result.status, result.content) == ("ok", "paid 500 to bob")
    paid, seen = results
    assert [one.status for one in results] == ["ok", "ok"]
    record = await engine.services.store.get_call("acme", paid.call_id)
    assert record is not None
    assert (record.parent_call_id, record.depth, record.run_id, record.step_index) == (result.call_id, 1, "r1", None)
    assert record.caller == desk.alice
    for one in results:
        story = await engine.audit.story(one.call_id, by=desk.alice)
        assert (story.facts["parent_call_id"], story.facts["depth"]) == (result.call_id, 1)
        assert {e.parent_call_id for e in events if e.call_id == one.call_id} == {result.call_id}
    told = await engine.audit.story(result.call_id, by=desk.alice)
    assert [s.text for s in told.steps if s.kind == "call.nested"] == [
        f"its handler called pay ({paid.call_id}): ok",
        f"its handler called look ({seen.call_id}): ok",
    ]
    assert {e.parent_call_id for e in events if e.call_id == result.call_id} == {""}


@pytest.mark.parametrize(
    ("options", "calls", "status", "code"),
    [
        pytest.param({}, ["pay"], "ok", None, id="declared"),
        pytest.param({}, ["look"], "error", "TOOL_NOT_FOUND", id="not-declared"),
        pytest.param({"scopes": ["orders:read"]}, ["pay"], "error", "TOOL_NOT_FOUND", id="narrowed-away"),
        pytest.param({"scopes": ["pay"], "roles": []}, ["pay"], "ok", None, id="narrowed"),
        pytest.param({"version": "9"}, ["pay"], "error", "TOOL_NOT_FOUND", id="no-such-version"),
    ],
)
async def test_a_child_is_within_contract_and_rights(
    desk: Desk, open_desk: Any, options: dict[str, Any], calls: list[str], status: str, code: str | None
) -> None:
    found: list[sh.ToolResult] = []

    async def work(tools: sh.Tools) -> str:
        found.append(await pay_with(tools, **options))
        return "done"

    engine: sh.Engine = await open_desk(pay_tool(desk), look, outer_tool(work, calls=calls))
    await engine.call(OUTER, desk.alice)
    assert (found[0].status, found[0].error and found[0].error.code) == (status, code)
    assert bool(desk.done) is (status == "ok")


async def test_rights_are_never_widened(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        with pytest.raises(sh.ConfigError, match="may only be narrowed; alice does not have admin"):
            await tools.call("look", {"what": "x"}, roles=["admin"])
        with pytest.raises(sh.ConfigError, match="scopes"):
            await tools.call("look", {"what": "x"}, scopes=["everything"])
        return "refused"

    engine: sh.Engine = await open_desk(look, outer_tool(work))
    assert (await engine.call(OUTER, desk.alice)).content == "refused"


async def test_what_the_caller_may_not_call_a_tool_may_not_call_for_them(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        return (await pay_with(tools)).content

    engine: sh.Engine = await open_desk(pay_tool(desk), outer_tool(work))
    nobody = sh.Caller(id="nick", tenant="acme")
    result = await engine.call(OUTER, nobody)
    assert "There is no tool `pay` here" in result.content
    assert desk.done == []


async def test_a_read_only_tool_reaches_no_effect(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        return f"{(await tools.call('look', {'what': 'x'})).content}; {(await pay_with(tools)).content}"

    tool = outer_tool(work, key=[], read_only=True)
    engine: sh.Engine = await open_desk(pay_tool(desk), look, tool)
    result = await engine.call(OUTER, desk.alice)
    assert result.content == "seen x; `pay` was not called: `outer` is read-only, so it calls no tool that is not."
    assert desk.done == []


async def test_a_question_parks_nobody_and_goes_on_without_the_handler(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        return (await pay_with(tools, amount=20_000)).content

    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]), outer_tool(work), policies=ASK_FINANCE)
    result = await engine.call(OUTER, desk.alice)
    assert (result.status, "waits for a person" in result.content) == ("ok", True)
    (waiting,) = await engine.approvals.list(by=desk.fiona)
    assert desk.done == []
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    await engine.close()
    other: sh.Engine = await open_desk(pay_tool(desk, key=[]), outer_tool(work), policies=ASK_FINANCE)
    paid = await other.resume(waiting.call_id, by=desk.alice)
    assert (paid.status, desk.done) == ("ok", [("pay", "bob", 1, 20_000)])
    story = await other.audit.story(waiting.call_id, by=desk.alice)
    assert story.facts["parent_call_id"] == result.call_id


async def test_what_a_handler_took_from_the_caller_stays_taken_while_people_are_asked(
    desk: Desk, open_desk: Any
) -> None:
    """Whoever resumes is believed about their own roles, but not beyond what the handler left of them."""
    ran_as: list[sh.Caller] = []

    @sh.tool(risk="high", key=["no"])
    async def inner(no: int, *, caller: Annotated[sh.Caller, sh.Injected("caller")]) -> str:
        """Does one thing."""
        ran_as.append(caller)
        return "done"

    async def work(tools: sh.Tools) -> str:
        return (await tools.call("inner", {"no": 1}, roles=[], scopes=["pay"])).content

    engine: sh.Engine = await open_desk(inner, outer_tool(work, calls=["inner"]))
    await engine.call(OUTER, desk.alice)
    (waiting,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).content == "done"
    assert [(one.roles, one.scopes) for one in ran_as] == [((), ("pay",))]


async def test_a_limit_per_run_counts_what_handlers_call_in_it(desk: Desk, open_desk: Any) -> None:
    codes: list[str] = []

    async def work(tools: sh.Tools) -> str:
        for _ in range(3):
            error = (await tools.call("look", {"what": "x"})).error
            codes.append("" if error is None else error.code)
        return "done"

    looks = sh.Budget(name="looks", tools=("look",), limit=2, per=("run",))
    engine: sh.Engine = await open_desk(look, outer_tool(work), settings=sh.Settings(budgets=(looks,)))
    await engine.call(OUTER, desk.alice, run=sh.RunStep(run_id="r1", turn=0))
    assert codes == ["", "", "BUDGET_EXCEEDED"]


@pytest.mark.parametrize("how", ["attempt", "call"])
async def test_a_parent_that_runs_again_repeats_no_effect(desk: Desk, open_desk: Any, how: str) -> None:
    ran: list[sh.ToolResult] = []

    async def work(tools: sh.Tools) -> str:
        ran.append(await pay_with(tools))
        if len(ran) == 1:
            raise sh.Unavailable
        ran.append(await pay_with(tools, amount=7))
        return "done"

    retry: Any = {"retry": sh.Retry(kind="simple", attempts=2, wait_s=0.001)} if how == "attempt" else {}
    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]), outer_tool(work, **retry))
    result = await engine.call(OUTER, desk.alice)
    if how == "call":
        assert result.status == "error"
        result = await engine.call(OUTER, desk.alice)
    assert result.status == "ok"
    assert desk.done == [("pay", "bob", 1, 500), ("pay", "bob", 1, 7)]
    assert [one.replayed for one in ran] == [False, True, False]


async def test_another_effect_at_the_same_place_is_a_conflict(desk: Desk, open_desk: Any) -> None:
    amounts = iter([500, 600])
    results: list[sh.ToolResult] = []

    async def work(tools: sh.Tools) -> str:
        results.append(await pay_with(tools, amount=next(amounts)))
        if len(results) == 1:
            raise sh.BusinessError("not now")
        return "done"

    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]), outer_tool(work))
    await engine.call(OUTER, desk.alice)
    await engine.call(OUTER, desk.alice)
    assert results[1].error is not None
    assert results[1].error.code == "IDEMPOTENCY_CONFLICT"
    assert len(desk.done) == 1


async def test_an_effect_that_may_be_had_anew_is_had_anew_below(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        return (await pay_with(tools)).content

    from surehand.testing import FakeClock

    clock = FakeClock()
    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]), outer_tool(work, key_retention_s=60), clock=clock)
    await engine.call(OUTER, desk.alice)
    clock.advance(61)
    await engine.call(OUTER, desk.alice)
    assert len(desk.done) == 2


@pytest.mark.parametrize(
    ("limits", "codes"),
    [
        (sh.Limits(call_depth=1), ["", "BUDGET_EXCEEDED"]),
        (sh.Limits(call_depth=2), ["", "", "BUDGET_EXCEEDED"]),
        (sh.Limits(call_depth=9, nested_calls=3), ["", "", "", "BUDGET_EXCEEDED"]),
    ],
)
async def test_depth_and_count_are_bounded(desk: Desk, open_desk: Any, limits: sh.Limits, codes: list[str]) -> None:
    found: list[str] = []

    @sh.tool(calls=["dig"], idempotency="safe_retry")
    async def dig(level: int, *, tools: GivenTools) -> str:
        """Digs."""
        if level:
            found.append("")
        result = await tools.call("dig", {"level": level + 1})
        if result.error is not None:
            found.append(result.error.code)
        return "done"

    engine: sh.Engine = await open_desk(dig, settings=sh.Settings(limits=limits))
    result = await engine.call(sh.ToolCall(id="c1", name="dig", arguments={"level": 0}), desk.alice)
    assert result.status == "ok"
    assert found == codes


async def test_a_call_that_waits_for_its_child_holds_up_nobody(desk: Desk, open_desk: Any) -> None:
    """One place, three levels, two children at once: everybody gets through."""

    async def work(tools: sh.Tools) -> str:
        done = await asyncio.gather(pay_with(tools, 1), pay_with(tools, 2), tools.call("middle"))
        return "; ".join(one.content for one in done)

    @sh.tool(calls=["look"], idempotency="safe_retry")
    async def middle(*, tools: GivenTools) -> str:
        """Asks."""
        return (await tools.call("look", {"what": "y"})).content

    limits = sh.Limits(concurrent_calls=1)
    outer = outer_tool(work, calls=["pay", "middle"], timeout_s=3)
    engine: sh.Engine = await open_desk(pay_tool(desk), look, middle, outer, settings=sh.Settings(limits=limits))
    calls = [msgspec.structs.replace(OUTER, id=str(no), arguments={"no": no}) for no in range(3)]
    results = await engine.call_many(calls, desk.alice)
    assert [one.content for one in results] == ["paid 500 to bob; paid 500 to bob; seen y"] * 3
    assert sorted(desk.done) == [("pay", "bob", 1, 500), ("pay", "bob", 2, 500)]
    assert not engine.services.gate._places.locked()  # pyright: ignore[reportPrivateUsage]


async def test_a_tool_whose_calls_never_overlap_is_not_waited_for_from_within(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        return (await tools.call("outer", {"no": 2})).content

    engine: sh.Engine = await open_desk(outer_tool(work, sequential=True, timeout_s=3))
    result = await engine.call(OUTER, desk.alice)
    assert result.content.endswith("two calls of `outer` never overlap, and one is running above this one.")


async def hanging(desk: Desk) -> None:
    desk.done.append("began")
    try:
        await asyncio.sleep(30)
    finally:
        desk.done.append("stopped")


@pytest.mark.parametrize("how", ["deadline", "cancelled", "left"])
async def test_a_child_never_outlives_its_parent(desk: Desk, open_desk: Any, how: str) -> None:
    @sh.tool(idempotency="safe_retry")
    async def hang() -> str:
        """Hangs."""
        await hanging(desk)
        return "never"

    left: list[asyncio.Task[sh.ToolResult]] = []

    async def work(tools: sh.Tools) -> str:
        child = asyncio.ensure_future(tools.call("hang"))
        if how == "left":
            left.append(child)
            await asyncio.sleep(0.05)
            return "gone"
        return (await child).content

    tool = outer_tool(work, calls=["hang"], timeout_s=0.2 if how == "deadline" else 30, idempotency="safe_retry")
    engine: sh.Engine = await open_desk(hang, tool)
    task = asyncio.create_task(engine.call(OUTER, desk.alice))
    await until(lambda: "began" in desk.done)
    if how == "cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert (await task).status == {"deadline": "error", "left": "ok"}[how]
    await until(lambda: desk.done == ["began", "stopped"])
    await asyncio.gather(*left, return_exceptions=True)

    async def over() -> bool:
        records = await engine.services.store.list_calls("acme")
        return all(one.status in ("error", "ok", "cancelled") for one in records) and len(records) == 2

    await until(over)
    assert engine.services.handlers == {}


async def test_an_effect_cut_off_below_is_unknown_and_stays_so(desk: Desk, open_desk: Any) -> None:
    @sh.tool()
    async def send() -> str:
        """Sends."""
        await hanging(desk)
        return "never"

    async def work(tools: sh.Tools) -> str:
        return (await tools.call("send")).status

    tool = outer_tool(work, calls=["send"], timeout_s=0.2, idempotency="idempotency_key")
    engine: sh.Engine = await open_desk(send, tool)
    assert (await engine.call(OUTER, desk.alice)).status == "error"
    assert (await engine.call(OUTER, desk.alice)).content == "unknown"
    assert desk.done == ["began", "stopped"]


async def test_a_handler_that_has_ended_calls_nothing(desk: Desk, open_desk: Any) -> None:
    kept: list[sh.Tools] = []

    async def work(tools: sh.Tools) -> str:
        kept.append(tools)
        return "done"

    engine: sh.Engine = await open_desk(look, outer_tool(work))
    await engine.call(OUTER, desk.alice)
    with pytest.raises(sh.ConfigError, match="its handler has ended"):
        await kept[0].call("look", {"what": "x"})


async def test_hooks_and_switches_hold_below_too(desk: Desk, open_desk: Any) -> None:
    async def work(tools: sh.Tools) -> str:
        engine.registry.disable("pay")
        return (await pay_with(tools)).content

    engine: sh.Engine = await open_desk(pay_tool(desk), outer_tool(work))
    seen: list[str] = []
    engine.hook("tool.pre")(lambda call: seen.append(call.spec.name))
    result = await engine.call(OUTER, desk.alice)
    assert "There is no tool `pay` here" in result.content
    assert (seen, desk.done) == (["outer"], [])


async def test_a_raw_handler_calls_through_its_context(desk: Desk, open_desk: Any) -> None:
    async def work(context: sh.CallContext, json: str) -> str:
        return (await context.tools.call("look", {"what": "raw"})).content

    spec = sh.ToolSpec(name="outer", description="Asks.", idempotency="safe_retry", calls=("look",))
    engine: sh.Engine = await open_desk(look, sh.raw_tool(spec, work))
    assert (await engine.call(sh.ToolCall(id="c", name="outer"), desk.alice)).content == "seen raw"


def test_only_async_handlers_call_tools() -> None:
    with pytest.raises(sh.SpecError, match="must be async"):

        @sh.tool(calls=["look"])
        def outer(*, tools: GivenTools) -> str:  # pyright: ignore[reportUnusedFunction]
            """Cannot."""
            return ""

    with pytest.raises(sh.SpecError, match=r"name them, as in calls=\['lookup'\]"):

        @sh.tool
        async def other(*, tools: GivenTools) -> str:  # pyright: ignore[reportUnusedFunction]
            """May not."""
            return ""
