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
from examples.support_desk.conversation import Conversation, results_in
from examples.support_desk.desk.seed import build
from examples.support_desk.play import Played, play
from examples.support_desk.screen import Screen
from examples.support_desk.story import RUN, written_calls
from surehand.policy import read_policies
from surehand.settings import read_project
from surehand.testing import ScriptedModel

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

OUTCOMES = {
    "call_1_1": "TOOL_ARGUMENT_INVALID",
    "call_1_2": "ARGUMENTS_NOT_JSON",
    "call_1_3": "TOOL_ARGUMENT_INVALID",
    "call_1_4": "TOOL_NOT_FOUND",
    "call_2_1": "ok",
    "call_2_2": "ok",
    "call_2_3": "TOOL_BUSINESS_ERROR",
    "call_2_4": "TOOL_NOT_FOUND",
    "call_3_1": "TOOL_BUSINESS_ERROR",
    "call_3_2": "POLICY_DENIED",
    "call_5_1": "ok",
    "call_5_2": "IDEMPOTENCY_CONFLICT",
    "call_6_1": "TOOL_BUSINESS_ERROR",
    "call_7_1": "ok",
    "call_7_2": "ok",
    "call_8_1": "ok",
    "call_8_2": "ok",
    "call_8_3": "ok replayed",
    "call_9_1": "ok",
}
"""How each call ends when a person says yes, but for the two equal ones at once, `TWICE`."""
TWICE = ("call_4_1", "call_4_2")


async def played(engine: sh.Engine, folder: Path, callers: Callers) -> tuple[ScriptedModel, Played, str]:
    """Play the run; without a terminal the finance manager approves."""
    told = StringIO()
    screen = Screen(Console(file=told, soft_wrap=True))
    model = ScriptedModel.from_file(folder / "model.json")
    conversation = Conversation(screen, model, written_calls(folder / "model.json"), "support-bot")
    return model, await play(engine, model, callers, conversation), told.getvalue()


async def outcomes(engine: sh.Engine, by: sh.Caller) -> dict[str, str]:
    """Say how each call of the run ended, from its stored events."""
    found: dict[str, str] = {}
    for event in await engine.runs.events(RUN, by=by):
        if event["kind"] == "call.finished":
            data = event["data"]
            found[data["tool_call_id"]] = data["code"] or data["status"] + (" replayed" if data["replayed"] else "")
    return found


def read(model: ScriptedModel) -> dict[str, str]:
    """Give what the model read of each call."""
    return dict(pair for request in model.requests for pair in results_in(request))


async def test_every_call_ends_as_it_should(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    _, done, told = await played(engine, folder, callers)
    ended = await outcomes(engine, callers["sam"])
    twice = sorted(ended.pop(one) for one in TWICE)
    assert twice in (["TOOL_DUPLICATE_REQUEST", "ok"], ["ok", "ok replayed"])
    assert ended == OUTCOMES
    assert (done.reason, done.approved) == ("completed", {"refund_order", "cancel_order"})
    for number, calls in enumerate(written_calls(folder / "model.json"), 1):
        for position, one in enumerate(calls, 1):
            assert f"  call_{number}_{position}  {one.name}  {one.arguments}\n" in told


async def test_the_conversation_is_shown_as_it_was(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    model, _, told = await played(engine, folder, callers)
    flat = " ".join(told.split())
    for request in model.requests[1:]:
        (said,) = [one["content"] for one in request["messages"] if one["role"] == "assistant"][-1:]
        assert said in flat
    assert told.count("6 claim     waiting") == 2
    assert "Cancelling order A-10455: customer changed her mind (apr_" in told


async def test_another_tenants_order_looks_like_a_missing_one(
    engine: sh.Engine, folder: Path, callers: Callers
) -> None:
    model, _, _ = await played(engine, folder, callers)
    assert read(model)["call_2_3"].replace("G-20017", "A-20017") == read(model)["call_3_1"]
    hers = await engine.call(call("get_order", order_id="G-20017"), callers["gina"])
    assert hers.status == "ok"


async def test_the_forbidden_tool_is_not_there(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    view = await engine.view(callers["sam"])
    assert "export_customers" not in view.names
    assert "support does not export customers" in view.hidden["export_customers"].why
    model, _, _ = await played(engine, folder, callers)
    assert read(model)["call_1_4"].replace("issue_refund", "export_customers") == read(model)["call_2_4"]


async def test_the_audit_names_who_approved(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    _, done, _ = await played(engine, folder, callers)
    story = await engine.audit.story(done.asked["refund_order"].call_id, by=callers["auditor"])
    assert [(answer.approver, answer.verdict) for answer in story.answers] == [("fiona", "approve")]


# -- the verdict --------------------------------------------------------------------------------------


async def test_a_refund_too_many_is_found(folder: Path, desk: Desk) -> None:
    with desk.shop.writing() as connection:
        connection.execute(
            "INSERT INTO refunds (tenant, order_id, refund_no, amount_cents, reason, agent, idempotency_key,"
            " created_at) VALUES ('acme', 'A-10388', 1, 18900, 'twice', '', '', '')"
        )
    told = StringIO()
    assert await perform.main(folder, Screen(Console(file=told, soft_wrap=True)), kept=True) == 1
    assert "refunds: WRONG" in told.getvalue()
    assert "audit: verified" in told.getvalue()


async def test_a_changed_record_is_found(engine: sh.Engine, folder: Path, callers: Callers) -> None:
    _, done, _ = await played(engine, folder, callers)
    await engine.audit.seal()
    connection = apsw.Connection(str(folder / "surehand.db"))
    connection.execute(
        "UPDATE surehand_audit SET body = CAST(replace(CAST(body AS TEXT), 'sam', 'eve') AS BLOB) WHERE seq = 3"
    )
    assert connection.changes() == 1
    connection.close()
    told = StringIO()
    screen = Screen(Console(file=told, soft_wrap=True))
    assert not await perform._audit(engine, callers["auditor"], done, screen)
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


@pytest.mark.parametrize(("amount_cents", "people"), [(10_000, []), (10_001, [1]), (25_000, [1]), (25_001, [2])])
async def test_finance_is_asked_above_one_hundred_and_twice_above_250(
    engine: sh.Engine, callers: Callers, amount_cents: int, people: list[int]
) -> None:
    result = await engine.call(asked("A-10470", 1, amount_cents), callers["sam"])
    assert result.status == ("pending" if people else "ok")
    waiting = await engine.approvals.list(by=callers["fiona"])
    assert [one.need for question in waiting for one in question.progress] == people


async def test_sam_cannot_approve_his_own_refund(engine: sh.Engine, callers: Callers) -> None:
    result = await engine.call(asked("A-10388", 1, 18_900), callers["sam"])
    assert result.approval_id is not None
    for name, code in (("sam", "not_entitled"), ("auditor", "not_entitled"), ("gina", "not_found")):
        with pytest.raises(sh.ApprovalError) as refused:
            await engine.approvals.approve(result.approval_id, by=callers[name])
        assert refused.value.code == code


async def test_a_very_large_refund_of_somebody_of_finance_needs_two_others(
    desk: Desk, engine: sh.Engine, callers: Callers
) -> None:
    result = await engine.call(asked("A-10470", 1, 25_001), callers["felix"])
    assert result.approval_id is not None
    for name, code in (("felix", "not_entitled"), ("fiona", None), ("fiona", "already_decided")):
        if code is None:
            half = await engine.approvals.approve(result.approval_id, by=callers[name])
            assert (half.status, [(one.have, one.need) for one in half.progress]) == ("open", [(1, 2)])
            continue
        with pytest.raises(sh.ApprovalError) as refused:
            await engine.approvals.approve(result.approval_id, by=callers[name])
        assert refused.value.code == code
    assert (await engine.resume(result.call_id, by=callers["felix"])).status == "pending"
    assert desk.refunded == []


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


async def test_policies_warn_of_the_one_that_is_tried_and_of_nothing_else(engine: sh.Engine) -> None:
    assert engine.policies.warnings == (
        'trial.cedar: policy "refund-medium": is in shadow mode: it is recorded and enforces nothing',
    )


@pytest.mark.timeout(30)
def test_the_rows_of_the_desk_hold() -> None:
    folder = Path(perform.__file__).parent
    results = sh.policy_rows(folder / "rows.toml", project=folder / "surehand.toml")
    assert [(one.name, one.problems) for one in results if one.problems] == []
