"""The support desk's tools and policies on its real database, in this process."""

import csv
import io
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from email import message_from_bytes, policy
from io import StringIO
from pathlib import Path
from typing import Any

import apsw
import pytest
from rich.console import Console

import surehand as sh
from examples.support_desk import perform
from examples.support_desk.desk.seed import build
from examples.support_desk.play import Played, play
from examples.support_desk.screen import Screen
from examples.support_desk.story import Planned, Story, read_story
from surehand.policy import read_policies
from surehand.settings import read_project

from .conftest import Desk

Callers = Mapping[str, sh.Caller]


def refund(order_id: str, refund_no: int, amount_cents: int, tenant: str = "acme") -> dict[str, Any]:
    """Give the final arguments of a refund, as checks get them."""
    return {
        "order_id": order_id,
        "refund_no": refund_no,
        "amount_cents": amount_cents,
        "reason": "broken",
        "tenant": tenant,
        "agent": "support-bot",
    }


def call(name: str, **arguments: object) -> sh.ToolCall:
    """Give a call as a model makes it."""
    return sh.ToolCall(id="c", name=name, arguments=arguments)


def asked(order_id: str, refund_no: int, amount_cents: int) -> sh.ToolCall:
    """Give the call of a refund."""
    return call("refund_order", order_id=order_id, refund_no=refund_no, amount_cents=amount_cents, reason="broken")


def dump(database: Path) -> list[str]:
    """Read a whole database."""
    connection = sqlite3.connect(database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


# -- the story ----------------------------------------------------------------------------------------


async def played(engine: sh.Engine, folder: Path, callers: Callers) -> tuple[Story, Played, str]:
    """Play the story; without a terminal the finance manager approves."""
    told = StringIO()
    story = read_story(folder / "calls.json")
    return story, await play(engine, story, callers, Screen(Console(file=told, soft_wrap=True))), told.getvalue()


def summary(result: sh.ToolResult) -> str:
    """Say how a call ended in the words of `calls.json`."""
    if result.error is not None:
        return result.error.code
    return f"{result.status} replayed" if result.replayed else result.status


async def test_every_call_ends_as_the_story_says(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    story, done, told = await played(engine, folder, callers)
    calls: list[Planned] = [planned for turn in story.turns for planned in turn.calls]
    assert {one.call.id: summary(done.results[one.call.id]) for one in calls} == {c.call.id: c.expect for c in calls}
    assert done.resumed["t5-a"].status == "ok"
    for one in calls:
        assert f"{one.call.id}  {one.call.name}" in told


async def test_another_tenants_order_looks_like_a_missing_one(
    engine: sh.Engine, folder: Path, callers: Callers
) -> None:
    _, done, _ = await played(engine, folder, callers)
    foreign, missing = done.results["t2-c"], done.results["t2-d"]
    assert foreign.content.replace("G-20017", "A-99999") == missing.content
    assert foreign.error is not None
    assert missing.error is not None
    assert (foreign.status, foreign.error.code) == (missing.status, missing.error.code)
    hers = await engine.call(call("get_order", order_id="G-20017"), callers["gina"])
    assert hers.status == "ok"


async def test_the_forbidden_tool_is_not_there(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    view = await engine.view(callers["sam"])
    assert "export_customers" not in view.names
    assert "support does not export customers" in view.hidden["export_customers"]
    _, done, _ = await played(engine, folder, callers)
    unknown, forbidden = done.results["t1-d"], done.results["t2-e"]
    assert unknown.content.replace("issue_refund", "export_customers") == forbidden.content


async def test_the_audit_names_who_approved(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    _, done, _ = await played(engine, folder, callers)
    story = await engine.audit.story(done.resumed["t5-a"].call_id, by=callers["auditor"])
    assert [(answer.approver, answer.verdict) for answer in story.answers] == [("fiona", "approve")]


# -- the verdict --------------------------------------------------------------------------------------


async def test_a_refund_too_many_is_found(folder: Path, desk: Desk) -> None:
    with desk.shop.writing() as connection:
        connection.execute(
            "INSERT INTO refunds (tenant, order_id, refund_no, amount_cents, reason, agent, idempotency_key,"
            " created_at) VALUES ('acme', 'A-10421', 1, 2500, 'twice', '', '', '')"
        )
    told = StringIO()
    assert await perform.main(folder, Screen(Console(file=told, soft_wrap=True)), kept=True) == 1
    assert "refunds: WRONG" in told.getvalue()
    assert "audit: verified" in told.getvalue()


async def test_a_changed_record_is_found(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    story, done, _ = await played(engine, folder, callers)
    await engine.audit.seal()
    connection = apsw.Connection(str(folder / "surehand.db"))
    connection.execute(
        "UPDATE surehand_audit SET body = CAST(replace(CAST(body AS TEXT), 'sam', 'eve') AS BLOB) WHERE seq = 3"
    )
    assert connection.changes() == 1
    connection.close()
    told = StringIO()
    screen = Screen(Console(file=told, soft_wrap=True))
    assert not await perform._audit(engine, story, callers["auditor"], done, screen)
    assert "audit: FAILED" in told.getvalue()
    assert "body_edited" in told.getvalue()


# -- the database -------------------------------------------------------------------------------------


def test_the_database_is_the_same_each_time(tmp_path: Path) -> None:
    build(tmp_path / "one.db")
    build(tmp_path / "two.db")
    assert dump(tmp_path / "one.db") == dump(tmp_path / "two.db")
    build(tmp_path / "other.db", seed=1)
    assert dump(tmp_path / "one.db") != dump(tmp_path / "other.db")


def test_the_database_is_consistent(desk: Desk) -> None:
    counts = dict(desk.rows("SELECT tenant, count(*) FROM orders GROUP BY tenant"))
    assert counts["acme"] > 3000
    assert counts["globex"] > 1000
    wrong = desk.rows(
        "SELECT o.order_id FROM orders o WHERE total_cents <> (SELECT sum(quantity * unit_cents) FROM order_lines l"
        " WHERE l.tenant = o.tenant AND l.order_id = o.order_id)"
    )
    assert wrong == []
    assert desk.rows("PRAGMA foreign_key_check") == []


# -- refunds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(refund("A-10421", 1, 13981), "Only 13980 cents", id="more-than-the-order"),
        pytest.param(refund("A-10460", 1, 100), "is open, not paid", id="not-paid"),
        pytest.param(refund("A-99999", 1, 100), "There is no order A-99999", id="missing"),
        pytest.param(refund("G-20017", 1, 100), "There is no order G-20017", id="another-tenants"),
        pytest.param(refund("A-10421", 1, 100, "globex"), "There is no order A-10421", id="from-another-tenant"),
    ],
)
def test_the_check_refuses(desk: Desk, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(sh.BusinessError, match=words):
        desk.refunds.may_refund(arguments)


async def test_the_check_counts_other_refunds_of_the_order(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    await engine.call(asked("A-10421", 1, 9000), callers["sam"])
    desk.refunds.may_refund(refund("A-10421", 1, 9000))  # a repeat is for the ledger to answer
    desk.refunds.may_refund(refund("A-10421", 2, 4980))
    with pytest.raises(sh.BusinessError, match="Only 4980 cents") as refused:
        desk.refunds.may_refund(refund("A-10421", 2, 4981))
    assert refused.value.details == {"refundable_cents": 4980}


async def test_a_repeat_of_all_that_was_left_replays(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    first = await engine.call(asked("A-10455", 1, 3450), callers["sam"])
    again = await engine.call(asked("A-10455", 1, 3450), callers["sam"])
    assert (first.status, first.replayed) == ("ok", False)
    assert (again.status, again.replayed, again.content) == ("ok", True, first.content)
    assert desk.refunded == [("acme", "A-10455", 1, 3450)]


async def test_refunds_at_once_never_pay_more_than_the_order(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    many = [asked("A-10421", number, 6000) for number in range(1, 9)]
    results = await engine.call_many(many, callers["sam"])
    assert [result.status for result in results].count("ok") == 2
    assert {result.error.code for result in results if result.error} == {"TOOL_BUSINESS_ERROR"}
    assert len(desk.refunded) == 2


async def test_the_same_refund_many_times_at_once_is_paid_once(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    results = await engine.call_many([asked("A-10421", 1, 6000)] * 8, callers["sam"])
    assert [result.status for result in results].count("ok") >= 1
    assert {result.error.code for result in results if result.error} <= {"TOOL_DUPLICATE_REQUEST"}
    assert desk.refunded == [("acme", "A-10421", 1, 6000)]


@pytest.mark.parametrize(("amount_cents", "status"), [(10_000, "ok"), (10_001, "pending")])
async def test_finance_is_asked_above_one_hundred(
    engine: sh.Engine, callers: Callers, amount_cents: int, status: str
) -> None:
    result = await engine.call(asked("A-10421", 1, amount_cents), callers["sam"])
    assert result.status == status


async def test_sam_cannot_approve_his_own_refund(engine: sh.Engine, callers: Callers) -> None:
    result = await engine.call(asked("A-10388", 1, 18_900), callers["sam"])
    assert result.approval_id is not None
    for name, code in (("sam", "not_entitled"), ("auditor", "not_entitled"), ("gina", "not_found")):
        with pytest.raises(sh.ApprovalError) as refused:
            await engine.approvals.approve(result.approval_id, by=callers[name])
        assert refused.value.code == code


async def test_the_status_check_finds_a_refund_by_its_key(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    await engine.call(asked("A-10421", 1, 2500), callers["sam"])
    ((key,),) = desk.rows("SELECT idempotency_key FROM refunds")
    arguments = refund("A-10421", 1, 2500)
    paid = desk.orders.Refund(refund_no=1, amount_cents=2500, reason="broken")
    assert desk.refunds.was_refunded(arguments, key) == sh.Done(paid)
    assert desk.refunds.was_refunded(arguments, "another key") == sh.NotDone()
    assert desk.refunds.was_refunded({**arguments, "tenant": "globex"}, key) == sh.NotDone()


@pytest.mark.parametrize("paid_first", [True, False])
async def test_a_refund_that_was_lost_half_way_is_settled_by_its_status_check(
    folder: Path, desk: Desk, callers: Callers, paid_first: bool
) -> None:
    tool: sh.Tool = desk.refunds.refund_order

    def lost(**arguments: Any) -> None:
        if paid_first:
            tool.handler(**arguments)
        raise ConnectionError("the answer was lost")

    settings, _ = read_project(folder / "surehand.toml")
    sources = [one for one in read_policies(folder / "policies") if one.name == "refunds.cedar"]
    engine = sh.open_engine(store="sqlite://", policies=sources, tools=[replace(tool, handler=lost)], settings=settings)
    async with engine:
        result = await engine.call(asked("A-10421", 1, 2500), callers["sam"])
        assert result.status == "unknown"
        settled = await engine.unknown.check(result.call_id, by=callers["operator"])
        assert settled.status == ("ok" if paid_first else "error")
        again = await engine.resume(result.call_id, by=callers["sam"])
        assert again.structured == ({"refund_no": 1, "amount_cents": 2500, "reason": "broken"} if paid_first else None)
    assert desk.refunded == ([("acme", "A-10421", 1, 2500)] if paid_first else [])


# -- the others ---------------------------------------------------------------------------------------


async def test_cancelling_needs_a_manager_and_happens_once(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    wanted = call("cancel_order", order_id="A-10455", reason="changed her mind")
    waiting = await engine.call(wanted, callers["sam"])
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=callers["fiona"])
    assert (await engine.resume(waiting.call_id, by=callers["sam"])).status == "ok"
    assert desk.rows("SELECT status FROM orders WHERE order_id = 'A-10455'") == [("cancelled",)]
    ((key,),) = desk.rows("SELECT cancel_key FROM orders WHERE order_id = 'A-10455'")
    arguments = {"order_id": "A-10455", "reason": "changed her mind", "tenant": "acme"}
    assert desk.orders.was_cancelled(arguments, key) == sh.Done("Order A-10455 is cancelled.")
    assert desk.orders.was_cancelled(arguments, "another key") == sh.NotDone()


async def test_what_was_shipped_cannot_be_cancelled(desk: Desk, engine: sh.Engine, callers: Callers) -> None:
    ((order_id,),) = desk.rows("SELECT order_id FROM orders WHERE tenant = 'acme' AND status = 'shipped' LIMIT 1")
    result = await engine.call(call("cancel_order", order_id=order_id, reason="too late"), callers["sam"])
    assert result.error is not None
    assert result.error.code == "TOOL_BUSINESS_ERROR"


async def test_an_email_goes_to_the_customer_of_the_order_once(
    folder: Path, engine: sh.Engine, callers: Callers
) -> None:
    wanted = call("send_email", order_id="A-10421", subject="Grüße", body="Your refund is on its way.")
    step = sh.RunStep(run_id="r1", turn=0)
    first, again = [await engine.call(wanted, callers["sam"], run=step) for _ in range(2)]
    assert (first.status, again.status, again.replayed) == ("ok", "ok", True)
    (file,) = (folder / "outbox").iterdir()
    message = message_from_bytes(file.read_bytes(), policy=policy.default)
    assert message["To"] == "Mara Lindqvist <mara.lindqvist@example.com>"
    assert message["Subject"] == "Grüße"
    body = message.get_body()
    assert body is not None
    assert "on its way" in body.get_content()


async def test_an_email_outside_a_run_is_refused(folder: Path, engine: sh.Engine, callers: Callers) -> None:
    wanted = call("send_email", order_id="A-10421", subject="Hello", body="Nothing says which e-mail this is.")
    result = await engine.call(wanted, callers["sam"])
    assert result.status == "denied"
    assert not (folder / "outbox").exists()


async def test_an_export_by_somebody_who_may(engine: sh.Engine, callers: Callers) -> None:
    officer = sh.Caller(id="dora", tenant="acme", roles=["privacy"], scopes=["customers:export"])
    waiting = await engine.call(call("export_customers", city="Gent"), officer)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=callers["fiona"])
    done = await engine.resume(waiting.call_id, by=officer)
    assert done.status == "ok", done.content
    (artifact,) = done.artifacts
    _, body = await engine.artifacts.get(artifact.id, by=officer)
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    assert {row["city"] for row in rows} == {"Gent"}
    assert all(row["customer_id"].startswith("AC") for row in rows)


async def test_a_search_finds_only_the_tenants_own(engine: sh.Engine, callers: Callers) -> None:
    found = {
        name: (await engine.call(call("search_orders", customer="Lindqvist"), callers[name])).structured
        for name in ("sam", "gina")
    }
    assert {one["order_id"][0] for one in found["sam"]} == {"A"}
    assert [one["order_id"] for one in found["gina"]] == ["G-20017"]
    everything = await engine.call(call("search_orders", customer="%%"), callers["sam"])
    assert everything.structured == []


async def test_policies_give_no_warning(engine: sh.Engine) -> None:
    assert engine.policies.warnings == ()
