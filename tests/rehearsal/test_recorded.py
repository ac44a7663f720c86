"""Recorded calls: judged by a draft, and counted by what shadows would have done."""

from __future__ import annotations

import json
from typing import Any

import pytest

import surehand as sh
from surehand.policy import Policies
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

AUDITOR = sh.Caller(id="otto", tenant="acme", roles=["auditor"])
TRIAL = """
@id("trial") @mode("shadow") @reason("too much") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.amount > 1000 };
@id("two") @mode("shadow") @approvers("legal") @quorum("2") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.amount > 5000 };
@id("open") @mode("shadow") permit (principal, action in [Action::"view", Action::"call"], resource)
when { resource.name == "look" };
"""
DENY_BOB = """
@id("no-bob") forbid (principal, action == Action::"call/pay", resource) when { context.arguments.to == "bob" };
@id("no-look") forbid (principal, action == Action::"call/look", resource) when { context.arguments.day == "x" };
"""


@sh.tool(read_only=True, permissions=["orders:read"])
async def look(day: str, *, note: str = "") -> str:
    """Looks at a day."""
    return day


def draft(engine: sh.Engine, text: str) -> Policies:
    return Policies.load([sh.PolicySource("draft.cedar", text)], engine.registry.catalog)


async def call_look(engine: sh.Engine, caller: sh.Caller, day: str, **more: str) -> sh.ToolResult:
    return await engine.call(sh.ToolCall(id="c", name="look", arguments={"day": day, **more}), caller)


async def test_a_draft_is_judged_on_what_really_was_called(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), look, policies=ASK_FINANCE + DENY_BOB.replace('"bob"', '"eve"'))
    small = await engine.call(pay_call(1, 500), desk.alice)
    large = await engine.call(pay_call(2, 50_000, to="dora"), desk.alice)
    eve = await engine.call(pay_call(3, 500, to="eve"), desk.alice)
    x = await call_look(engine, desk.alice, "x")
    await call_look(engine, desk.alice, "y")
    assert [one.status for one in (small, large, eve, x)] == ["ok", "pending", "denied", "denied"]
    await engine.services.recorder.drain()

    told: list[tuple[int, int]] = []
    found = await sh.replay_policies(
        engine, draft(engine, DENY_BOB), by=AUDITOR, callers=[desk.alice], progress=lambda *seen: told.append(seen)
    )
    assert {(one.call_id, one.before, one.after) for one in found.changed} == {
        (small.call_id, "allow", "deny"),
        (large.call_id, "ask", "allow"),
        (eve.call_id, "deny", "allow"),
    }
    assert (found.judged, found.left_out) == (5, {})
    assert [found.newly(after) for after in ("allow", "ask", "deny")] == [2, 0, 1]
    assert found.in_force == engine.policies.digest != found.draft
    (denied,) = [one for one in found.changed if one.after == "deny"]
    assert (denied.policies, denied.name, denied.caller) == (("no-bob",), "pay", "alice")
    assert len(desk.done) == 1


async def test_what_cannot_be_judged_exactly_is_counted_and_not_guessed(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), look)
    await call_look(engine, desk.alice, "x" * 500)
    await call_look(engine, desk.alice, "x")
    await call_look(engine, sh.Caller(id="una", tenant="acme", scopes=["orders:read"]), "x")
    await engine.call(sh.ToolCall(id="c", name="look", arguments={}), desk.alice)
    await engine.services.recorder.drain()
    found = await sh.replay_policies(engine, draft(engine, DENY_BOB), by=AUDITOR, callers=[desk.alice])
    assert (found.judged, len(found.changed)) == (1, 1)
    assert sorted(found.left_out.values()) == [1, 1, 1]


async def test_a_quorum_more_is_a_change(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await engine.call(pay_call(1, 50_000), desk.alice)
    two = ASK_FINANCE.replace("@reason", '@quorum("2") @reason')
    found = await sh.replay_policies(engine, draft(engine, two), by=AUDITOR)
    assert [(one.before, one.after) for one in found.changed] == [("ask", "ask")]
    assert (await sh.replay_policies(engine, draft(engine, ASK_FINANCE), by=AUDITOR)).changed == ()


async def test_it_is_for_those_who_may_read_the_audit_and_stays_in_the_tenant(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=TRIAL.replace("open", "shut").replace("look", "pay"))
    await engine.call(pay_call(1, 5000), desk.alice)
    for work in (sh.replay_policies(engine, engine.policies, by=desk.alice), sh.shadow_report(engine, by=desk.alice)):
        with pytest.raises(sh.NotAllowedError):
            await work
    elsewhere = sh.Caller(id="otto", tenant="evil", roles=["auditor"])
    assert (await sh.replay_policies(engine, engine.policies, by=elsewhere)).judged == 0
    assert (await sh.shadow_report(engine, by=elsewhere)).looked_at == 0


async def test_shadows_are_recorded_told_and_counted_and_change_nothing(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), look, policies=TRIAL)
    events: list[sh.Event] = []
    engine.on_event(events.append)
    results = [await engine.call(pay_call(no, amount), desk.alice) for no, amount in ((1, 500), (2, 2000), (3, 9000))]
    assert [one.status for one in results] == ["ok", "ok", "ok"]
    assert len(desk.done) == 3
    assert not any("trial" in one.content or "too much" in one.content for one in results)
    stranger = sh.Caller(id="sid", tenant="acme")
    hidden = await call_look(engine, stranger, "x")
    assert hidden.error is not None
    assert hidden.error.code == "TOOL_NOT_FOUND"
    assert (await engine.view(stranger)).names == ()

    rows = await engine.services.store.list_audit("acme", call_id=results[2].call_id)
    for row in rows:
        shadow = json.loads(row.body)["decision"]["shadow"]
        assert [(one["policy_id"], one["decision"], one["groups"]) for one in shadow] == [
            ("trial", "deny", []),
            ("two", "ask", ["legal"]),
        ]
    decided = [event.data["shadow"] for event in events if event.kind == "call.decided"]
    assert [[one["policy_id"] for one in shadow] for shadow in decided] == [[], ["trial"], ["trial", "two"]]

    report = await sh.shadow_report(engine, by=AUDITOR)
    assert [(one.policy_id, one.allowed, one.asked, one.denied, one.calls) for one in report.policies] == [
        ("open", 0, 0, 0, []),
        ("trial", 0, 0, 2, [results[2].call_id, results[1].call_id]),
        ("two", 0, 1, 0, [results[2].call_id]),
    ]
    assert (report.looked_at, report.policy_set) == (3, engine.policies.digest)


async def test_a_shadow_policy_that_was_changed_is_counted_anew(desk: Desk, open_desk: Any) -> None:
    first: sh.Engine = await open_desk(pay_tool(desk), policies=TRIAL)
    await first.call(pay_call(1, 2000), desk.alice)
    await first.close()
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=TRIAL.replace("1000", "1999"))
    assert [one.denied for one in (await sh.shadow_report(engine, by=AUDITOR)).policies] == [0, 0, 0]
    await engine.call(pay_call(2, 2000), desk.alice)
    assert [one.denied for one in (await sh.shadow_report(engine, by=AUDITOR)).policies] == [0, 1, 0]
