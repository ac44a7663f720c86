"""`assert_decision`: the same answer as a call would get, without a call."""

from collections.abc import Callable
from typing import Any

import pytest

import surehand as sh
from surehand.testing import assert_decision
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

FORBID_EVE = """
@id("not-eve") @reason("never to eve")
forbid (principal, action == Action::"call/pay", resource) when { context.arguments.to == "eve" };
"""


@pytest.fixture
async def engine(desk: Desk, open_desk: Callable[..., Any]) -> sh.Engine:
    return await open_desk(pay_tool(desk, risk="low"), policies=ASK_FINANCE + FORBID_EVE)


async def test_it_knows_the_decision(engine: sh.Engine, desk: Desk) -> None:
    allowed = await assert_decision(engine, desk.alice, pay_call(), "allow", policies=["surehand.scopes"])
    assert isinstance(allowed, sh.Allow)
    asked = await assert_decision(engine, desk.alice, pay_call(amount=20_000), "ask", policies=["large"])
    assert isinstance(asked, sh.Ask)
    assert [one.group for one in asked.requirements] == ["finance"]
    denied = await assert_decision(engine, desk.alice, pay_call(to="eve"), "deny", policies=["not-eve"])
    assert denied.reasons == ("never to eve",)
    hidden = await assert_decision(engine, desk.fiona, pay_call(), "deny", policies=[])
    assert hidden.reasons == ("the caller lacks the permission pay",)
    assert desk.done == []
    assert await engine.services.store.list_audit("acme") == []


async def test_hooks_count(engine: sh.Engine, desk: Desk) -> None:
    @engine.hook("tool.pre")
    def look(call: sh.Proposed) -> object:
        if call.arguments["no"] == 7:
            return sh.Block("seven is bad luck")
        return sh.AskPerson(approvers="boss", reason="why not") if call.arguments["no"] == 8 else None

    await assert_decision(engine, desk.alice, pay_call(no=1), "allow")
    blocked = await assert_decision(engine, desk.alice, pay_call(no=7), "deny", policies=[])
    assert blocked.reasons == ("seven is bad luck",)
    await assert_decision(engine, desk.alice, pay_call(no=8), "ask")


async def test_it_says_what_was_decided_instead(engine: sh.Engine, desk: Desk) -> None:
    with pytest.raises(AssertionError) as raised:
        await assert_decision(engine, desk.alice, pay_call(amount=20_000), "allow")
    assert str(raised.value) == (
        "`pay` for acme/alice: ask, not allow "
        "(policies: large; reasons: payments over 100.00 need finance; asked are finance)"
    )
    with pytest.raises(AssertionError, match=r"deny for other policies \(policies: not-eve; reasons: never to eve\)"):
        await assert_decision(engine, desk.alice, pay_call(to="eve"), "deny", policies=["large"])
    with pytest.raises(AssertionError, match=r"deny, not ask \(policies: none; reasons: the caller lacks"):
        await assert_decision(engine, desk.fiona, pay_call(), "ask")


async def test_a_call_that_is_never_decided(engine: sh.Engine, desk: Desk) -> None:
    with pytest.raises(AssertionError, match="there is no tool `pey`; there are pay"):
        await assert_decision(engine, desk.alice, sh.ToolCall(id="1", name="pey"), "deny")
    with pytest.raises(AssertionError, match="`pay` is not decided: ARGUMENTS_NOT_JSON"):
        await assert_decision(engine, desk.alice, sh.ToolCall(id="1", name="pay", arguments="nope"), "deny")
    with pytest.raises(AssertionError, match=r"`pay@1\.0\.0` is not decided: TOOL_ARGUMENT_INVALID"):
        await assert_decision(engine, desk.alice, sh.ToolCall(id="1", name="pay@1.0.0", arguments={}), "deny")


async def test_it_sees_what_was_registered_just_now(engine: sh.Engine, desk: Desk) -> None:
    @sh.tool(read_only=True)
    def look() -> str:
        """Looks."""
        raise AssertionError("it ran")

    engine.registry.register(look)
    await assert_decision(engine, desk.alice, sh.ToolCall(id="1", name="look"), "allow")
