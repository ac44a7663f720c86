"""Faults that approvals really had. Each test has the id of its case in its name; most are in `test_cases`."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from surehand.testing import ScriptedModel
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

NEVER_EVE = """
@id("never-eve") @reason("eve is not paid") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.to == "eve" };
"""


async def run(engine: sh.Engine, model: Any, caller: sh.Caller, **options: Any) -> list[sh.RunEvent]:
    return [one async for one in sh.run(engine, model=model, caller=caller, **options)]


async def test_C28_other_arguments_than_those_asked_for_pass_everything_again_and_both_are_recorded(
    desk: Desk, open_desk: Any
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE + NEVER_EVE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    asking = waiting.approval_id or ""
    with pytest.raises(sh.ApprovalError, match="eve is not paid"):
        await engine.approvals.edit(asking, {"to": "eve", "no": 1, "amount": 99_900}, by=desk.fiona)
    with pytest.raises(sh.ApprovalError, match="amount"):
        await engine.approvals.edit(asking, {"to": "bob", "no": 1, "amount": "much"}, by=desk.fiona)
    made = await engine.approvals.edit(asking, {"to": "bob", "no": 1, "amount": 20_000}, by=desk.fiona)
    with pytest.raises(sh.ApprovalError):  # the same response again
        await engine.approvals.edit(asking, {"to": "bob", "no": 1, "amount": 20_000}, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("pay", "bob", 1, 20_000)]
    (row,) = [
        row for row in await engine.services.store.list_audit("acme", call_id=waiting.call_id)
        if row.kind == "approval.edited"
    ]  # fmt: skip
    for fact in (asking, made.approval_id, made.digest, '"before":', '"arguments":', '"changed":["amount"]'):
        assert fact in row.body.decode()


async def test_C31_a_free_sibling_runs_once_and_both_results_come_back_in_order(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def list_items() -> str:
        """Lists the items."""
        desk.done.append("list")
        return "item 1"

    @sh.tool(key=["id"], risk="high")
    async def delete_item(id: int) -> str:
        """Deletes an item."""
        desk.done.append(("delete", id))
        return "deleted 1"

    calls = [{"id": "c1", "name": "list_items"}, {"id": "c2", "name": "delete_item", "arguments": {"id": 1}}]
    steps: list[Any] = [{"calls": calls}, {"expect": {"results": ["item 1", "deleted 1"]}, "text": "Done."}]
    engine: sh.Engine = await open_desk(list_items, delete_item)
    first = await run(engine, ScriptedModel(steps), desk.alice, messages=["clean up"], wait=False)
    assert first[-1].kind == "run.waiting"
    await engine.close()
    other: sh.Engine = await open_desk(list_items, delete_item)
    (asked,) = await other.approvals.list(by=desk.fiona)
    await other.approvals.approve(asked.approval_id, by=desk.fiona)
    model = ScriptedModel(steps, catch_up=True)
    last = await run(other, model, desk.alice, run_id=first[0].run_id)
    model.assert_done()
    assert last[-1].data["reason"] == "completed"
    assert desk.done == ["list", ("delete", 1)]


async def test_C61_an_edited_call_is_told_to_the_model_whose_own_words_stay_as_they_were(
    desk: Desk, open_desk: Any
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    call = {"id": "c1", "name": "pay", "arguments": {"to": "bob", "no": 1, "amount": 50_000}}
    told = "A person changed the arguments of this call: amount from 50000 to 40000.\npaid 40000 to bob"
    steps: list[Any] = [{"calls": [call]}, {"expect": {"results": [told]}, "text": "Done."}]
    first = await run(engine, ScriptedModel(steps), desk.alice, messages=["pay"], wait=False)
    (asked,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.edit(asked.approval_id, changes={"amount": 40_000}, by=desk.fiona)
    model = ScriptedModel(steps, catch_up=True)
    last = await run(engine, model, desk.alice, run_id=first[0].run_id)
    model.assert_done()
    assert last[-1].data["reason"] == "completed"
    (said,) = [one for one in model.requests[-1]["messages"] if one["role"] == "assistant"]
    assert "50000" in said["tool_calls"][0]["function"]["arguments"]
    assert desk.done == [("pay", "bob", 1, 40_000)]
