"""What was approved is what runs: whatever moves between the yes and the start, the old call never does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

ASK_LEGAL = ASK_FINANCE.replace('"large"', '"legal"').replace('"finance"', '"legal"')
REWORDED = ASK_FINANCE.replace("over 100.00 need", "above 100.00 need")
FORBIDDEN = (
    '@id("none") forbid (principal, action == Action::"call/pay", resource) when { context.arguments.amount > 1 };'
)
RELAXED = ASK_FINANCE.replace("10000", "99000")


@dataclass(frozen=True)
class Case:
    """One thing that moves."""

    id: str
    expected: str
    """The code of the result, `asked again`, or `ran`."""
    policies: str = ASK_FINANCE
    roles: tuple[str, ...] = ("support",)
    scopes: tuple[str, ...] = ("pay",)
    disabled: bool = False
    handler: Callable[..., Awaitable[str]] | None = None


async def elsewhere(to: str, no: int, amount: int) -> str:
    raise AssertionError("never runs")


CASES = [
    Case(id="nothing", expected="ran"),
    Case(id="more-roles", expected="ran", roles=("support", "lead")),
    Case(id="policy-reworded", expected="asked again", policies=REWORDED),
    Case(id="policy-asks-others", expected="asked again", policies=ASK_LEGAL),
    Case(id="policy-asks-others-too", expected="asked again", policies=ASK_FINANCE + ASK_LEGAL),
    Case(id="policy-forbids", expected="POLICY_DENIED", policies=FORBIDDEN),
    Case(id="policy-asks-nobody", expected="APPROVAL_STALE", policies=RELAXED),
    Case(id="scope-lost", expected="TOOL_NOT_FOUND", scopes=()),
    Case(id="tool-disabled", expected="TOOL_NOT_FOUND", disabled=True),
    Case(id="tool-runs-elsewhere", expected="APPROVAL_STALE", handler=elsewhere),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_what_moved_does_not_run(desk: Desk, open_desk: Any, case: Case) -> None:
    before: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await before.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await before.approvals.approve(waiting.approval_id, by=desk.fiona)
    await before.close()

    tool = pay_tool(desk)
    if case.handler is not None:
        tool = sh.bind_tool(_moved(tool.spec), case.handler)
    after: sh.Engine = await open_desk(tool, policies=case.policies)
    if case.disabled:
        after.registry.disable("pay")
    by = sh.Caller(id="alice", tenant="acme", roles=case.roles, scopes=case.scopes)
    result = await after.resume(waiting.call_id, by=by)

    if case.expected == "ran":
        assert (result.status, len(desk.done)) == ("ok", 1)
        return
    assert desk.done == []
    if case.expected == "asked again":
        assert result.status == "pending"
        assert result.approval_id not in (None, waiting.approval_id)
        assert (await after.resume(waiting.call_id, by=by)).status == "pending"
        old = await after.approvals.get(waiting.approval_id, by=desk.fiona)
        assert old.status == "stale"
        return
    assert result.error is not None
    assert result.error.code == case.expected
    old = await after.approvals.get(waiting.approval_id, by=desk.fiona)
    assert old.status == "stale"
    again = await after.resume(waiting.call_id, by=by)
    assert (again.status, again.error and again.error.code) == (result.status, case.expected)


async def test_asked_again_it_runs_after_the_new_yes(desk: Desk, open_desk: Any) -> None:
    before: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await before.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await before.approvals.approve(waiting.approval_id, by=desk.fiona)
    await before.close()
    after: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_LEGAL)
    asked = await after.resume(waiting.call_id, by=desk.alice)
    lena = sh.Caller(id="lena", tenant="acme", roles=["legal"])
    assert asked.approval_id is not None
    with pytest.raises(sh.ApprovalError) as refused:
        await after.approvals.approve(asked.approval_id, by=desk.fiona)
    assert refused.value.code == "not_entitled"
    await after.approvals.approve(asked.approval_id, by=lena)
    result = await after.resume(waiting.call_id, by=desk.alice)
    assert (result.status, len(desk.done)) == ("ok", 1)


async def test_a_caller_who_is_gone_runs_nothing(desk: Desk, open_desk: Any) -> None:
    class Gone:
        async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller | None:
            return None

    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, resolver=Gone())
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.error and result.error.code, desk.done) == ("POLICY_DENIED", [])


async def test_expired_questions_end_and_free_the_effect(desk: Desk, open_desk: Any) -> None:
    clock = Clock()
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, clock=clock)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    approved = await engine.call(pay_call(2, amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    assert approved.approval_id is not None
    await engine.approvals.approve(approved.approval_id, by=desk.fiona)
    clock.forward_s += 86_401
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert refused.value.code == "expired"
    for call_id in (waiting.call_id, approved.call_id):
        result = await engine.resume(call_id, by=desk.alice)
        assert (result.status, result.error and result.error.code) == ("denied", "APPROVAL_EXPIRED")
    assert desk.done == []
    anew = await engine.call(pay_call(amount=50_000), desk.alice)
    assert (anew.status, anew.call_id != waiting.call_id) == ("pending", True)


class Clock:
    """The machine's clock, moved forward."""

    forward_s = 0.0

    def now_us(self) -> int:
        return time.time_ns() // 1000 + int(self.forward_s * 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()


def _moved(spec: sh.ToolSpec) -> sh.ToolSpec:
    return dataclasses.replace(spec, target="tests:elsewhere")
