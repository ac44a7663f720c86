"""Whole runs with the real SDKs: two calls at once, one of which a person is asked about."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

import surehand as sh
from surehand.agent import Model, RunEvent, run
from tests.desk import ASK_FINANCE, Desk, pay_tool
from tests.wire.aimock import Aimock
from tests.wire.conftest import MOCKED_WORD
from tests.wire.test_sdks import find_order, in_journal


@pytest.fixture
async def engine(desk: Desk, open_desk: Callable[..., Any]) -> sh.Engine:
    return await open_desk(find_order, pay_tool(desk), policies=ASK_FINANCE)


async def approving(engine: sh.Engine, desk: Desk, events: AsyncGenerator[RunEvent]) -> list[RunEvent]:
    """All events of a run whose every question gets a yes."""
    heard: list[RunEvent] = []
    async for event in events:
        heard.append(event)
        if event.kind == "run.waiting":
            for approval_id in event.data["approvals"]:
                await engine.approvals.approve(approval_id, by=desk.fiona)
    return heard


@MOCKED_WORD
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wait", [True, False], ids=["wait", "resume"])
async def test_a_run_completes(
    make_model: Callable[[], Model],
    engine: sh.Engine,
    desk: Desk,
    aimock: Aimock,
    request: pytest.FixtureRequest,
    wait: bool,
    stream: bool,
) -> None:
    first = run(engine, model=make_model(), caller=desk.alice, messages=["please pay bob"], wait=wait, stream=stream)
    heard = await approving(engine, desk, first)
    if not wait:
        assert heard[-1].kind == "run.waiting"
        again = run(engine, model=make_model(), caller=desk.alice, run_id=heard[-1].run_id, stream=stream)
        heard += [event async for event in again]
    assert heard[-1].kind == "run.ended"
    assert heard[-1].data["reason"] == "completed"
    assert heard[-1].data["text"] == "Order A1 is found, and Bob is paid."
    assert desk.done == [("pay", "bob", 1, 20_000)]
    _, second = aimock.journal(request.node.name)
    results = [
        (said["tool_call_id"], in_journal(said)) for said in second["body"]["messages"] if said["role"] == "tool"
    ]
    assert results == [("call_look", "order A1"), ("call_pay", "paid 20000 to bob")]
