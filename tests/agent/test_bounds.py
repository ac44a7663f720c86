"""How far a run goes: over resumptions, within one answer, and while the model goes on for ever."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest

import surehand as sh
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
