"""Who may say yes, to what, and how often."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

TWO_GROUPS = ASK_FINANCE + ASK_FINANCE.replace('"large"', '"legal"').replace('"finance"', '"legal"')


def person(id: str, *roles: str, tenant: str = "acme") -> sh.Caller:
    return sh.Caller(id=id, tenant=tenant, roles=roles)


@pytest.mark.parametrize(
    ("who", "code"),
    [
        pytest.param(person("fiona", "finance"), None, id="a-member"),
        pytest.param(person("fiona", "support"), "not_entitled", id="another-role"),
        pytest.param(person("alice", "finance"), "not_entitled", id="the-requester-with-the-role"),
        pytest.param(person("fiona", "finance", tenant="evil"), "not_found", id="another-tenant"),
    ],
)
async def test_who_may_approve(desk: Desk, open_desk: Any, who: sh.Caller, code: str | None) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    if code is None:
        assert (await engine.approvals.approve(waiting.approval_id, by=who)).status == "approved"
        return
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.approvals.approve(waiting.approval_id, by=who)
    assert refused.value.code == code
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "pending"
    assert desk.done == []


async def test_every_group_must_say_yes_and_one_no_ends_it(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=TWO_GROUPS)
    fiona, lena = person("fiona", "finance"), person("lena", "legal")
    first = await engine.call(pay_call(1, amount=50_000), desk.alice)
    second = await engine.call(pay_call(2, amount=50_000), desk.alice)
    assert first.approval_id is not None
    assert second.approval_id is not None
    for approval_id in (first.approval_id, second.approval_id):
        assert (await engine.approvals.approve(approval_id, by=fiona)).status == "open"
    assert (await engine.resume(first.call_id, by=desk.alice)).status == "pending"
    assert (await engine.approvals.approve(first.approval_id, by=lena)).status == "approved"
    assert (await engine.approvals.reject(second.approval_id, by=lena, reason="no contract")).status == "rejected"
    results = [await engine.resume(one.call_id, by=desk.alice) for one in (first, second)]
    assert [result.status for result in results] == ["ok", "denied"]
    assert "no contract" in results[1].content
    assert desk.done == [("pay", "bob", 1, 50_000)]


async def test_one_person_in_both_groups_counts_for_both(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=TWO_GROUPS)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    both = person("bo", "finance", "legal")
    assert (await engine.approvals.approve(waiting.approval_id, by=both)).status == "approved"


async def test_medium_risk_is_confirmed_by_the_requester_only(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="medium"))
    waiting = await engine.call(pay_call(), desk.alice)
    assert waiting.approval_id is not None
    with pytest.raises(sh.ApprovalError):
        await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    await engine.approvals.approve(waiting.approval_id, by=desk.alice)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"


async def test_lists_are_of_the_tenant(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert [one.approval_id for one in await engine.approvals.list(by=desk.fiona)] == [waiting.approval_id]
    assert await engine.approvals.list(by=desk.mallory) == []
    with pytest.raises(sh.NotFoundError):
        await engine.resume(waiting.call_id, by=desk.mallory)


async def test_a_hook_asks_besides_policy(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)

    @engine.hook("tool.pre")
    def second_look(call: sh.Proposed) -> sh.AskPerson:
        return sh.AskPerson("legal", "a second look")

    small = await engine.call(pay_call(1), desk.alice)
    large = await engine.call(pay_call(2, amount=50_000), desk.alice)
    assert small.approval_id is not None
    assert large.approval_id is not None
    auditor = person("ann", "auditor")
    needs = [
        sorted(need.group for need in (await engine.approvals.get(one, by=auditor)).needs)
        for one in (small.approval_id, large.approval_id)
    ]
    assert needs == [["legal"], ["finance", "legal"]]
    await engine.approvals.approve(small.approval_id, by=person("lena", "legal"))
    assert (await engine.resume(small.call_id, by=desk.alice)).status == "ok"


async def test_wait_goes_on_as_soon_as_it_is_decided(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    nothing = await engine.wait(waiting.call_id, by=desk.alice, timeout_s=0.05)
    assert nothing.status == "pending"
    waiter = asyncio.create_task(engine.wait(waiting.call_id, by=desk.alice, timeout_s=4))
    await asyncio.sleep(0)
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await waiter).status == "ok"
