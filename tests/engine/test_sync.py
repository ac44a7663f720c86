"""The engine without an event loop, and its opening and closing."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool


def test_the_synchronous_face(desk: Desk) -> None:
    engine = sh.open_engine(store=desk.url, tools=[pay_tool(desk)], policies=[sh.PolicySource("p.cedar", ASK_FINANCE)])
    with engine.sync as hand:
        assert hand.view(desk.alice).names == ("pay",)
        assert hand.call(pay_call(1), desk.alice).status == "ok"
        waiting = hand.call(pay_call(2, amount=50_000), desk.alice)
        assert hand.resume(waiting.call_id, by=desk.alice).status == "pending"
    with pytest.raises(sh.ConfigError, match="not open"):
        engine.sync.view(desk.alice)


async def test_an_engine_that_is_not_open_says_so(desk: Desk) -> None:
    engine = sh.open_engine(store=desk.url, tools=[pay_tool(desk)])
    with pytest.raises(sh.ConfigError, match="async with"):
        await engine.call(pay_call(), desk.alice)


async def test_closing_twice_is_fine(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await engine.close()
    await engine.close()


async def test_a_memory_store_needs_no_files(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), store="sqlite://")
    assert (await engine.call(pay_call(), desk.alice)).status == "ok"
    await engine.audit.seal()
    assert [report.ok for report in await engine.audit.verify()] == [True]
    assert list(desk.folder.iterdir()) == []
