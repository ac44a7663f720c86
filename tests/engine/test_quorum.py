"""How many people it takes, and who they are when they decide."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from tests.desk import Desk, pay_call, pay_tool


def member(id: str, *roles: str) -> sh.Caller:
    return sh.Caller(id=id, tenant="acme", roles=roles or ("finance",))


async def two_asked(desk: Desk, open_desk: Any, quorum: int = 2, **options: Any) -> tuple[sh.Engine, sh.ToolResult]:
    engine: sh.Engine = await open_desk(pay_tool(desk), **options)

    @engine.hook("tool.pre")
    def four_eyes(call: sh.Proposed) -> sh.AskPerson:
        return sh.AskPerson("finance", "four eyes", quorum=quorum)

    result = await engine.call(pay_call(), desk.alice)
    assert result.approval_id is not None
    return engine, result


async def code_of(work: Any) -> str:
    with pytest.raises(sh.ApprovalError) as refused:
        await work
    return refused.value.code


async def test_two_distinct_people_and_never_the_requester(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await two_asked(desk, open_desk)
    asked: Any = waiting.approval_id
    one = await engine.approvals.approve(asked, by=member("fiona"))
    assert (one.status, [(p.group, p.have, p.need) for p in one.progress]) == ("open", [("finance", 1, 2)])
    assert await code_of(engine.approvals.approve(asked, by=member("fiona"))) == "already_decided"
    assert await code_of(engine.approvals.approve(asked, by=member("alice"))) == "not_entitled"
    assert await code_of(engine.approvals.approve(asked, by=member("frank", "support"))) == "not_entitled"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "pending"
    assert desk.done == []
    two = await engine.approvals.approve(asked, by=member("frank"))
    assert (two.status, two.approved_by, two.progress[0].have) == ("approved", ("fiona", "frank"), 2)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert len(desk.done) == 1


async def test_one_no_of_a_quorum_ends_it(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await two_asked(desk, open_desk)
    asked: Any = waiting.approval_id
    await engine.approvals.approve(asked, by=member("fiona"))
    await engine.approvals.reject(asked, by=member("frank"), reason="wrong account")
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.status, desk.done) == ("denied", [])
    assert "wrong account" in result.content


async def test_a_larger_quorum_meanwhile_is_another_question(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await two_asked(desk, open_desk, quorum=1)
    asked: Any = waiting.approval_id
    await engine.approvals.approve(asked, by=member("fiona"))
    await engine.close()
    stricter, _ = await two_asked(desk, open_desk, quorum=2)
    result = await stricter.resume(waiting.call_id, by=desk.alice)
    assert (result.status, desk.done) == ("pending", [])
    assert result.approval_id != asked


async def test_a_quorum_that_somebody_lowered_in_the_database_is_not_believed(desk: Desk, open_desk: Any) -> None:
    import sqlite3

    engine, waiting = await two_asked(desk, open_desk)
    asked: Any = waiting.approval_id
    with sqlite3.connect(desk.folder / "surehand.db") as connection:
        connection.execute("""UPDATE surehand_approvals SET needs = replace(needs, '"quorum":2', '"quorum":1')""")
    connection.close()
    assert (await engine.approvals.approve(asked, by=member("fiona"))).status == "approved"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "pending"
    assert desk.done == []


@pytest.mark.parametrize(
    "given",
    [
        {"quorum": 0},
        {"quorum": True},
        {"quorum": 21},
        {"quorum": 2, "approvers": "self"},
        {"escalate_to": "a, b"},
        {"escalate_to": "self", "approvers": "self"},
    ],
)
def test_a_hook_cannot_ask_for_what_nobody_can_give(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        sh.AskPerson(given.pop("approvers", "finance"), "why", **given)
