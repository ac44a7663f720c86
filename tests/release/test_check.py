"""Release checks: each row, on tools that run through a scratch engine."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Annotated, Any

import pytest

import surehand as sh
from surehand.release import Report, Row, check

pytestmark = pytest.mark.timeout(60)


def rows(report: Report) -> dict[str, Row]:
    return {row.id: row for row in report.rows}


def sample(kind: Any, **fields: Any) -> sh.Sample:
    return sh.Sample(kind=kind, **fields)


GOOD = sample("good", arguments={"order": "A-1", "cents": 500})
BAD = sample("bad", arguments={"order": "A-1"})
DENIED = sample("denied", arguments={"order": "A-1", "cents": 500})
SLOW = sample("slow", arguments={"order": "slow", "cents": 1}, timeout_s=0.2)
ALL = (GOOD, BAD, DENIED, SLOW)


def pay_tool(done: list[Any], **fields: Any) -> sh.Tool:
    given: Any = {
        "version": "1.0.0",
        "risk": "high",
        "permissions": ["pay"],
        "idempotency": "single_effect",
        "key": ["order"],
        "owner": "billing",
        "health_check": lambda: True,
        "samples": ALL,
        **fields,
    }

    @sh.tool(**{name: value for name, value in given.items() if value is not None})
    async def pay(order: str, cents: int) -> str:
        """Pays."""
        if order == "slow":
            await asyncio.sleep(30)
        if order == "down":
            raise RuntimeError("down")
        done.append((order, cents))
        return "paid"

    return pay


async def test_a_fit_tool_is_green_and_leaves_no_trace(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(pay_tool(desk.done))
    engine.on_event(lambda _: None)
    report = await check(engine, "pay", "1.0.0")
    assert [(row.id, row.verdict, row.text) for row in report.rows if row.verdict != "pass"] == []
    assert report.green
    assert desk.done == [("A-1", 500)]  # once, though the good call was made twice
    found = rows(report)
    assert found["idempotency.tested"].text == "the repeat was replayed, one effect"
    assert found["sample.2"].text.startswith("error TOOL_ARGUMENT_INVALID")
    assert found["sample.3"].text.startswith("error TOOL_NOT_FOUND")
    assert found["timeout"].text.startswith("unknown TOOL_OUTCOME_UNKNOWN")
    auditor = sh.Caller(id="a", tenant="acme", roles=["auditor"])
    assert await engine.audit.list(by=auditor) == []
    assert await engine.services.store.tenants() == []


@pytest.mark.parametrize(
    ("fields", "id", "text"),
    [
        ({"owner": None}, "owner", "write owner='team'"),
        ({"risk": None}, "risk", "low is only the default; write risk="),
        ({"permissions": None, "samples": (GOOD, BAD, SLOW)}, "permissions", "none is only the default"),
        ({"idempotency": None}, "idempotency", "single_effect is only the default"),
        ({"health_check": None}, "health", "declare health_check="),
        ({"health_check": lambda: False}, "health", "cannot be used now"),
        ({"health_check": lambda: 1 / 0}, "health", "fails with ZeroDivisionError"),
        ({"samples": ()}, "samples", "there is none that is good, bad, denied"),
        ({"samples": (GOOD, BAD, SLOW)}, "samples", "there is none that is denied"),
        ({"samples": (GOOD, BAD, DENIED)}, "timeout", "add sh.Sample(kind='slow'"),
        ({"samples": (BAD, DENIED, SLOW)}, "idempotency.tested", "no good sample shows it"),
        ({"idempotency": "idempotency_key"}, "idempotency.tested", "the handler never gets it"),
        ({"samples": (*ALL, sample("good", arguments={"order": "down", "cents": 1}))}, "sample.5", "TOOL_OUTCOME"),
        ({"samples": (*ALL, sample("good", arguments={"order": "A-2"}))}, "sample.5", "TOOL_ARGUMENT_INVALID"),
        ({"samples": (*ALL, sample("bad", arguments={"order": "A-2", "cents": 1}))}, "sample.5", "gave pending where"),
        ({"samples": (*ALL, GOOD)}, "sample.5", "is the same effect as another sample"),
        ({"samples": (*ALL, replace(BAD, code="POLICY_DENIED"))}, "sample.5", "where POLICY_DENIED is expected"),
        ({"samples": (*ALL, replace(BAD, status="ok"))}, "sample.5", "where ok is expected"),
        ({"samples": (*ALL, sample("slow", arguments={"order": "q", "cents": 1}))}, "sample.5", "gave ok where TOOL_"),
    ],
)
async def test_what_is_missing_fails_and_says_what_to_do(
    open_desk: Any, desk: Any, fields: dict[str, Any], id: str, text: str
) -> None:
    engine = await open_desk(pay_tool(desk.done, **fields))
    report = await check(engine, "pay", "1.0.0", alerts=True)
    row = rows(report)[id]
    assert (row.verdict, text in row.text) == ("fail", True), row
    assert not report.green


async def test_at_stage_test_it_may_still_lack_what_comes_later(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(pay_tool(desk.done, samples=(), health_check=None, owner=None))
    report = await check(engine, "pay", "1.0.0", to="test", alerts=False)
    assert [row.id for row in report.failed] == ["owner"]
    early = [row.id for row in report.rows if row.verdict == "warn"]
    assert early == ["idempotency.tested", "samples", "timeout", "health", "alert"]
    report = await check(engine, "pay", "1.0.0", to="canary", alerts=False)
    assert {row.id for row in report.failed} == {"owner", *early}


async def test_nobody_who_listens_is_no_alert(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(pay_tool(desk.done))
    assert rows(await check(engine, "pay", "1.0.0"))["alert"].verdict == "fail"
    stop = engine.on_event(lambda _: None)
    assert rows(await check(engine, "pay", "1.0.0"))["alert"].verdict == "pass"
    stop()
    assert not engine.has_listeners


async def test_samples_go_through_the_policies_in_force(open_desk: Any, desk: Any) -> None:
    large = sample("denied", arguments={"order": "A-9", "cents": 50_000}, caller=desk.alice, code="POLICY_DENIED")
    asked = sample("good", arguments={"order": "A-8", "cents": 20_000}, status="pending")
    engine = await open_desk(
        pay_tool(desk.done, samples=(*ALL, large, asked)),
        policies="""@id("cap") forbid (principal, action == Action::"call/pay", resource)
        when { context.arguments.cents > 30000 };""",
    )
    report = await check(engine, "pay", "1.0.0", alerts=True)
    assert report.green, report.failed
    assert rows(report)["sample.6"].text == "pending"


async def test_a_sync_handler_that_hangs_does_not_hold_the_check(open_desk: Any) -> None:
    @sh.tool(read_only=True, samples=[sh.Sample(kind="slow", timeout_s=0.2)])
    def look() -> str:
        """Looks."""
        time.sleep(3)
        return ""

    engine = await open_desk(look)
    row = rows(await check(engine, "look", "1.0.0"))["timeout"]
    assert (row.verdict, row.text[:18]) == ("pass", "error TOOL_TIMEOUT")


async def test_a_handler_that_blocks_the_loop_is_not_ended_in_time(open_desk: Any) -> None:
    @sh.tool(read_only=True, timeout_s=0.1, samples=[sh.Sample(kind="slow")])
    async def look() -> str:
        """Looks."""
        time.sleep(4)  # noqa: ASYNC251 - what is to be found
        await asyncio.sleep(1)
        return ""

    engine = await open_desk(look, settings=sh.Settings(limits=sh.Limits(cancel_grace_s=0.1)))
    row = rows(await check(engine, "look", "1.0.0"))["timeout"]
    assert row.verdict == "fail"
    assert "let the handler await" in row.text


STRING = {"type": "string"}


def contract(**properties: Any) -> sh.ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return sh.ToolSpec(name="find", description="Finds.", read_only=True, parameters=parameters)


def takes_int(order: int) -> str:
    return str(order)


def takes_two(order: str, limit: int) -> str:
    return order * limit


def gives_list(order: str) -> list[str]:
    return [order]


def takes_any(**_: Any) -> str:
    return ""


@pytest.mark.parametrize(
    ("spec", "handler", "verdict", "text"),
    [
        (contract(order=STRING), takes_int, "fail", "order: the contract lets in what its annotation does not take"),
        (contract(order={"type": "integer", "minimum": 1}), takes_int, "pass", "they fit"),
        (contract(order=STRING, limit={"type": "integer"}), takes_two, "fail", "limit, which may be left out"),
        (contract(order=STRING, limit={"type": "integer", "default": 1}), takes_two, "pass", "they fit"),
        (replace(contract(order=STRING), output_schema={"type": "object"}), gives_list, "fail", "the result: nothing"),
        (replace(contract(order=STRING), output_schema={"type": "array"}), gives_list, "pass", "they fit"),
        (contract(order=STRING), takes_any, "pass", "they fit"),
    ],
)
async def test_the_schema_is_what_the_handler_does(
    open_desk: Any, spec: sh.ToolSpec, handler: Any, verdict: str, text: str
) -> None:
    engine = await open_desk(sh.bind_tool(spec, handler))
    row = rows(await check(engine, "find", "1.0.0"))["schema"]
    assert (row.verdict, text in row.text) == (verdict, True), row


async def test_what_cannot_be_told_is_said(open_desk: Any) -> None:
    def raw(context: Any, json: str) -> str:
        return json

    engine = await open_desk(sh.raw_tool(contract(order=STRING), raw))
    found = rows(await check(engine, "find", "1.0.0"))
    assert (found["schema"].verdict, found["schema"].text[:8]) == ("warn", "skipped:")
    assert (found["risk"].verdict, "nothing tells whether it was written" in found["risk"].text) == ("warn", True)
    assert found["idempotency"].verdict == "pass"  # read_only=True was written


async def test_the_version_before_and_the_way_back(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(pay_tool(desk.done), pay_tool(desk.done, version="2.0.0", risk="low", stage="draft"))
    report = await check(engine, "pay", "2.0.0", alerts=True)
    found = rows(report)
    assert report.previous == "1.0.0"
    assert (found["difference"].verdict, "risk down" in found["difference"].text) == ("warn", True)
    assert (found["rollback"].verdict, found["rollback"].text) == ("fail", "none is named; name one of 1.0.0")
    found = rows(await check(engine, "pay", "2.0.0", rollback="1.0.0", alerts=True))
    assert found["rollback"].verdict == "pass"
    assert rows(await check(engine, "pay", "2.0.0", rollback="9"))["rollback"].verdict == "fail"
    first = await check(engine, "pay", "1.0.0", alerts=True)
    assert (first.previous, first.diff) == (None, None)
    with pytest.raises(sh.NotFoundError, match="pay@3"):
        await check(engine, "pay", "3")


async def test_a_policy_that_would_go_blind_fails(open_desk: Any, desk: Any) -> None:
    @sh.tool(name="pay", version="2.0.0", permissions=["pay"], stage="draft")
    async def renamed(order: str, amount: int) -> str:
        """Pays."""
        return f"{order} {amount}"

    engine = await open_desk(
        pay_tool(desk.done),
        renamed,
        policies="""@id("cap") forbid (principal, action in Action::"call", resource)
        when { context.arguments has cents && context.arguments.cents > 100 };""",
    )
    row = rows(await check(engine, "pay", "2.0.0"))["difference"]
    assert row.verdict == "fail"
    assert "policy cap blind" in row.text


async def test_a_tool_that_gets_the_key_may_promise_it(open_desk: Any) -> None:
    @sh.tool(idempotency="idempotency_key", risk="low", samples=[sh.Sample(kind="good", arguments={"text": "a"})])
    async def send(text: str, *, key: Annotated[str, sh.Injected("idempotency_key")]) -> str:
        """Sends."""
        return f"{text} {key}"

    engine = await open_desk(send)
    assert rows(await check(engine, "send", "1.0.0"))["idempotency.tested"].verdict == "pass"
