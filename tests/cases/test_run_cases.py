"""Faults that agent loops really had. Each test has the id of its case in its name."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import surehand as sh
from surehand.testing import ScriptedModel
from tests.desk import ASK_FINANCE, Desk, pay_tool


def called(results: list[sh.ToolResult]) -> list[tuple[str, str, str | None]]:
    return [(result.tool_call_id, result.status, result.error.code if result.error else None) for result in results]


async def test_C23_a_sibling_that_fails_takes_nobody_along(
    desk: Desk, open_desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @sh.tool(read_only=True)
    async def ok() -> str:
        """Takes a while."""
        await asyncio.sleep(0.2)
        return "1"

    @sh.tool(read_only=True)
    async def boom() -> str:
        """Fails at once."""
        raise RuntimeError("boom")

    engine: sh.Engine = await open_desk(ok, boom)
    before = asyncio.all_tasks()
    names = ("ok", "boom", "ghost")
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        results = await engine.call_many([sh.ToolCall(id=name, name=name) for name in names], desk.alice)
    assert called(results) == [
        ("ok", "ok", None),
        ("boom", "error", "TOOL_ERROR"),
        ("ghost", "error", "TOOL_NOT_FOUND"),
    ]
    assert results[0].content == "1"
    assert asyncio.all_tasks() <= before
    assert [record for record in caplog.records if record.name == "asyncio"] == []


async def test_C53_a_repaired_name_is_governed_and_the_written_one_is_kept(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    large = {"to": "bob", "no": 1, "amount": 50_000}
    written = [
        {"name": "functions.pay", "arguments": large},
        {"name": "execute_pay", "arguments": large},
        {"name": "PAY", "arguments": large},
    ]
    model = ScriptedModel([{"calls": written}, {"text": "Waiting."}])
    events = [one async for one in sh.run(engine, model=model, caller=desk.alice, messages=["pay"], wait=False)]
    assert events[-1].kind == "run.waiting"
    assert desk.done == []
    (question,) = await engine.approvals.list(by=desk.fiona)
    assert (question.tool, question.arguments) == ("pay", large)
    unknown = [one.data["name"] for one in events if one.kind == "call.finished" and one.data["status"] == "error"]
    assert sorted(unknown) == ["PAY", "execute_pay"]


async def test_C61_a_yes_counts_for_what_was_shown_and_not_for_its_place(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)

    def steps(amount: int) -> list[Any]:
        return [{"calls": [{"name": "pay", "arguments": {"to": "bob", "no": 1, "amount": amount}}]}, {"text": "Done."}]

    asked = sh.run(engine, model=ScriptedModel(steps(50_000)), caller=desk.alice, messages=["pay"], wait=False)
    events = [event async for event in asked]
    run_id = events[0].run_id
    (question,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(question.approval_id, by=desk.fiona)
    changed = ScriptedModel(steps(99_000), catch_up=True)
    events = [event async for event in sh.run(engine, model=changed, caller=desk.alice, run_id=run_id)]
    assert events[-1].data["reason"] == "completed"
    changed.assert_done()
    assert desk.done == [("pay", "bob", 1, 50_000)]
