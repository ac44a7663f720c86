"""How far a run goes: over resumptions, within one answer, and while the model goes on for ever."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import pytest

import surehand as sh
from surehand.agent.journal import Start, _turn
from surehand.engine.run_parts import unseal
from surehand.testing import FakeClock
from tests.agent.raw import Raw, asked, drive, paying, said
from tests.desk import ASK_FINANCE, Desk, pay_tool, until

DENY = """
@id("never") @reason("never so much") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.amount > 100 };
"""


class Endless:
    """A model that never comes to an end."""

    dialect = "openai-chat"
    name = "endless"

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        while True:
            await asyncio.sleep(0.01)
            yield {"choices": [{"index": 0, "delta": {"content": "a"}}]}


@pytest.mark.parametrize(
    "bounds",
    [
        {"turns": 0},
        {"turns": 1.5},
        {"turns": True},
        {"seconds": math.inf},
        {"seconds": math.nan},
        {"seconds": -1},
        {"calls": 2**80},
        {"denials": 0},
        {"silence": -1},
    ],
)
def test_bounds_are_numbers_above_0(bounds: Any) -> None:
    with pytest.raises(sh.ConfigError, match=next(iter(bounds))):
        sh.Bounds(**bounds)


def test_some_may_be_0() -> None:
    assert sh.Bounds(silence=0, model_wait_s=0).silence == 0


async def test_seconds_count_over_resumptions(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def slow() -> str:
        """Takes a while."""
        await asyncio.sleep(0.15)
        return "slow"

    engine: sh.Engine = await open_desk(slow)
    bounds = sh.Bounds(seconds=0.4, model_attempts=1)
    fail = sh.ModelFailure("later", retryable=True)
    more: dict[str, Any] = {"messages": ["go"], "bounds": bounds}
    reasons: list[str] = []
    for _ in range(4):
        model = Raw(said(None, asked("{}", name="slow")), fail)
        reasons.append((await drive(engine, model, desk.alice, run_id="r1", **more))[-1].data["reason"])
        more = {}
    assert reasons[0] == "failed"
    assert reasons[-1] == "limit"


class Slow(Raw):
    """A model that fails after a while."""

    async def complete(self, request: Mapping[str, Any]) -> Any:
        await asyncio.sleep(0.15)
        raise sh.ModelFailure("later", retryable=True)


async def test_seconds_count_before_the_first_turn(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    more: dict[str, Any] = {"messages": ["go"], "bounds": sh.Bounds(seconds=0.4, model_attempts=1)}
    reasons: list[str] = []
    for _ in range(4):
        reasons.append((await drive(engine, Slow(), desk.alice, run_id="r1", **more))[-1].data["reason"])
        more = {}
    assert (reasons[0], reasons[-1]) == ("failed", "limit")


async def test_seconds_count_for_who_leaves_before_the_first_turn(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    more: dict[str, Any] = {"messages": ["go"], "bounds": sh.Bounds(seconds=0.4)}
    began_us = 0
    async with aclosing(sh.run(engine, model=Endless(), caller=desk.alice, run_id="r1", **more)) as events:
        async for event in events:
            if event.kind == "turn.started":
                began_us = event.at_us
            if event.kind == "text" and event.at_us > began_us + 250_000:
                break
    record = await engine.services.store.get_run("acme", "r1")
    assert record is not None
    start = unseal(engine.services, record.start, Start, tenant="acme", run_id="r1", what="start")
    assert start.spent_s >= 0.2
    assert start.caller == desk.alice
    last = (await drive(engine, Endless(), desk.alice, run_id="r1", stream=True))[-1]
    assert last.data["reason"] == "limit"


@pytest.mark.parametrize("wait", [True, False])
async def test_seconds_count_while_approved_calls_run(desk: Desk, open_desk: Any, wait: bool) -> None:
    """Once for calls that run at once; the time that people take does not count."""

    @sh.tool(permissions=["pay"], key=["no"])
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays."""
        await asyncio.sleep(0.3)
        return "paid"

    engine: sh.Engine = await open_desk(pay, policies=ASK_FINANCE)
    model = Raw(said(None, *(paying(no, 50_000, id=f"c{no}") for no in range(3))), said("Done."))
    task = asyncio.create_task(drive(engine, model, desk.alice, run_id="r1", messages=["go"], wait=wait))

    async def all_asked() -> bool:
        return len(await engine.approvals.list(by=desk.fiona)) == 3

    await until(all_asked)
    await asyncio.sleep(1)
    for one in await engine.approvals.list(by=desk.fiona):
        await engine.approvals.approve(one.approval_id, by=desk.fiona)
    await task
    if not wait:
        await drive(engine, model, desk.alice, run_id="r1")
    first, last = [_turn(engine.services, one).spent_s for one in await engine.services.store.list_turns("acme", "r1")]
    assert first >= 0.3  # stored with the results
    assert 0.3 <= last < 1


async def test_a_model_that_streams_for_ever_is_cut(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    bounds = sh.Bounds(seconds=0.2)
    events = await drive(engine, Endless(), desk.alice, messages=["go"], bounds=bounds, stream=True)
    assert events[-1].data["reason"] == "limit"


async def test_a_model_that_streams_for_ever_is_stopped_by_hand(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    heard: list[sh.RunEvent] = []

    async def listen() -> None:
        async for event in sh.run(engine, model=Endless(), caller=desk.alice, run_id="r1", messages=["go"]):
            heard.append(event)

    task = asyncio.create_task(listen())
    await until(lambda: heard and heard[-1].kind == "text")
    await engine.runs.cancel("r1", by=desk.alice)
    await task
    assert heard[-1].data["reason"] == "cancelled"


async def test_calls_beyond_the_bound_are_not_made(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = Raw(said(None, *(paying(no, id=f"c{no}") for no in range(50))))
    events = await drive(engine, model, desk.alice, messages=["go"], bounds=sh.Bounds(calls=3))
    assert len(desk.done) == 3
    assert (events[-1].data["reason"], events[-1].data["why"]) == ("limit", "the run's bound of 3 calls is reached")


async def test_denials_and_failures_count_once_in_an_answer(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=DENY)
    model = Raw(said(None, *(paying(no, id=f"c{no}") for no in range(6))), said("sorry"))
    assert (await drive(engine, model, desk.alice, messages=["go"]))[-1].data["reason"] == "completed"
    model = Raw(said(None, *(asked("{}", id=f"c{no}") for no in range(3))), said("sorry"))
    assert (await drive(engine, model, desk.alice, messages=["go"]))[-1].data["reason"] == "completed"


@pytest.mark.parametrize(
    ("denied", "amount", "reason"), [(6, 500, "denied_repeatedly"), (5, 500, "completed"), (6, 50, "completed")]
)
async def test_denied_again_and_again_it_ends(
    desk: Desk, open_desk: Any, denied: int, amount: int, reason: str
) -> None:
    """Six answers with a denial, of whatever tools."""
    tools = [pay_tool(desk, name=name) for name in ("pay", "send")]
    policies = DENY + DENY.replace("never", "neither").replace("call/pay", "call/send")
    engine: sh.Engine = await open_desk(*tools, policies=policies)
    names = ["pay"] * 3 + ["send"] * 3
    model = Raw(*(said(None, paying(no, amount, name=names[no])) for no in range(denied)), said("I give up."))
    events = await drive(engine, model, desk.alice, messages=["go"])
    assert events[-1].data["reason"] == reason
    narrowed = [event.data["name"] for event in events if event.kind == "tool.narrowed"]
    assert narrowed == {"denied_repeatedly": ["pay", "send"], "completed": ["pay"] if amount > 100 else []}[reason]


async def test_that_nobody_answered_in_time_is_no_denial(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, clock=clock)
    answers = [said(None, paying(no, 50_000)) for no in range(7)]
    model = Raw(*answers, said("I give up."))
    more: dict[str, Any] = {"messages": ["go"]}
    for _ in answers:
        events = await drive(engine, model, desk.alice, run_id="r1", wait=False, **more)
        assert events[-1].kind == "run.waiting"
        clock.advance(40 * 86_400)
        more = {}
    events = await drive(engine, model, desk.alice, run_id="r1")
    assert (events[-1].data["reason"], events[-1].data["text"]) == ("completed", "I give up.")
    codes = [one.error_code for one in await engine.services.store.list_calls("acme", run_id="r1")]
    assert codes == ["APPROVAL_EXPIRED"] * 7
    assert [event for event in events if event.kind == "tool.narrowed"] == []


async def test_a_turn_is_finished_with_the_view_that_it_was_begun_with(desk: Desk, open_desk: Any) -> None:
    """Denials of the same turn narrow the view of the next one only, also when another process finishes it."""
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=DENY)
    bounds = sh.Bounds(denials=1)
    begun = asyncio.Event()
    go = asyncio.Event()

    @engine.hook("tool.pre")
    async def hold(call: sh.Proposed) -> None:
        if call.arguments["amount"] == 5 and not go.is_set():
            begun.set()
            await go.wait()

    model = Raw(said(None, paying(1, 5, id="a"), paying(2, id="b")), said("x"))
    run = sh.run(engine, model=model, caller=desk.alice, run_id="r1", messages=["go"], bounds=bounds, stream=False)
    async for event in run:
        if event.kind == "call.finished":
            break
    await begun.wait()
    await run.aclose()
    go.set()
    await drive(engine, model, desk.alice, run_id="r1")
    assert desk.done == [("pay", "bob", 1, 5)]
    contents = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    assert contents[0] == "paid 5 to bob"
    assert "tools" not in model.requests[-1]


async def test_approved_calls_run_at_once(desk: Desk, open_desk: Any) -> None:
    running = most = 0

    @sh.tool(permissions=["pay"], key=["no"])
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return "paid"

    engine: sh.Engine = await open_desk(pay, policies=ASK_FINANCE)
    model = Raw(said(None, *(paying(no, 50_000, id=f"c{no}") for no in range(4))), said("x"))
    await drive(engine, model, desk.alice, run_id="r1", messages=["go"], wait=False)
    for one in await engine.approvals.list(by=desk.fiona):
        await engine.approvals.approve(one.approval_id, by=desk.fiona)
    events = await drive(engine, model, desk.alice, run_id="r1")
    assert (events[-1].data["reason"], most) == ("completed", 4)
