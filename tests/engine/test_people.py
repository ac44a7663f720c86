"""What else people can do with a question: answer it, withdraw it, name a deputy, be reminded of it, see its effect."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import surehand as sh
from surehand.testing import FakeClock
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until


def member(id: str, *roles: str) -> sh.Caller:
    return sh.Caller(id=id, tenant="acme", roles=roles)


async def asked(desk: Desk, open_desk: Any, **options: Any) -> tuple[sh.Engine, sh.ToolResult, str]:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, **options)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    return engine, waiting, waiting.approval_id


async def code_of(work: Any) -> str:
    with pytest.raises(sh.ApprovalError) as refused:
        await work
    return refused.value.code


# --- answers


async def test_a_person_answers_instead_of_the_tool(desk: Desk, open_desk: Any) -> None:
    engine, waiting, asking = await asked(desk, open_desk)
    done = await engine.approvals.answer(asking, "Paid by hand, receipt 17.", by=desk.fiona, structured={"receipt": 17})
    assert (done.status, done.answered_by) == ("answered", "fiona")
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.status, result.answered_by, result.is_error, result.error) == ("cancelled", "fiona", False, None)
    assert result.content == "`pay` was not run. A person answered instead of the tool: Paid by hand, receipt 17."
    assert (result.structured, desk.done) == ({"receipt": 17}, [])
    assert (await engine.resume(waiting.call_id, by=desk.alice)).content == result.content
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert (story.status, story.effect) == ("cancelled", "no effect happened")
    assert any(step.text.startswith("fiona said answer") for step in story.steps)
    again = await engine.call(pay_call(amount=50_000, id="c2"), desk.alice)
    assert (again.status, again.call_id != waiting.call_id) == ("pending", True)


@pytest.mark.parametrize(
    ("text", "structured", "who", "code"),
    [
        ("", None, "fiona", "invalid"),
        (" \n", None, "fiona", "invalid"),
        ("x" * 20_001, None, "fiona", "invalid"),
        ("done", {"a": object()}, "fiona", "invalid"),
        ("done", None, "alice", "not_entitled"),
        ("done", None, "frank", "not_entitled"),
    ],
)
async def test_an_answer_that_is_none_changes_nothing(
    desk: Desk, open_desk: Any, text: str, structured: Any, who: str, code: str
) -> None:
    engine, waiting, asking = await asked(desk, open_desk)
    people = {"fiona": desk.fiona, "alice": desk.alice, "frank": member("frank", "support")}
    assert await code_of(engine.approvals.answer(asking, text, by=people[who], structured=structured)) == code
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "pending"


async def test_a_structured_answer_is_what_the_tool_promises(desk: Desk, open_desk: Any) -> None:
    @sh.tool(risk="high", key=["to"])
    async def weigh(to: str) -> dict[str, int]:
        """Weighs."""
        return {to: 1}

    engine: sh.Engine = await open_desk(weigh)
    waiting = await engine.call(sh.ToolCall(id="c1", name="weigh", arguments={"to": "bob"}), desk.alice)
    asking = waiting.approval_id or ""
    assert await code_of(engine.approvals.answer(asking, "?", by=desk.fiona, structured={"bob": "x"})) == "invalid"
    await engine.approvals.answer(asking, "two", by=desk.fiona, structured={"bob": 2})
    assert (await engine.resume(waiting.call_id, by=desk.alice)).structured == {"bob": 2}


async def test_an_answer_is_never_a_vote(desk: Desk, open_desk: Any) -> None:
    engine, _, asking = await asked(desk, open_desk)
    verdict: Any = "answer"
    assert await code_of(engine.approvals.decide(asking, verdict, by=desk.fiona)) == "not_a_decision"


# --- withdrawal


async def test_the_requester_withdraws_also_after_a_yes(desk: Desk, open_desk: Any) -> None:
    engine, first, asking = await asked(desk, open_desk)
    assert await code_of(engine.approvals.withdraw(asking, by=desk.fiona)) == "not_entitled"
    assert await code_of(engine.approvals.withdraw(asking, by=member("eve"))) == "not_found"
    assert await code_of(engine.approvals.withdraw(asking, by=desk.mallory)) == "not_found"
    assert (await engine.approvals.withdraw(asking, by=desk.alice, reason="not wanted")).status == "withdrawn"
    assert await code_of(engine.approvals.withdraw(asking, by=desk.alice)) == "already_decided"
    assert await code_of(engine.approvals.approve(asking, by=desk.fiona)) == "already_decided"
    second = await engine.call(pay_call(amount=50_000, id="c2"), desk.alice)
    assert second.call_id != first.call_id
    await engine.approvals.approve(second.approval_id or "", by=desk.fiona)
    await engine.approvals.withdraw(second.approval_id or "", by=desk.alice)
    results = [await engine.resume(one.call_id, by=desk.alice) for one in (first, second)]
    assert [(one.status, one.error and one.error.code) for one in results] == [("cancelled", "CANCELLED")] * 2
    assert desk.done == []
    story = await engine.audit.story(first.call_id, by=desk.alice)
    assert story.status == "cancelled"
    assert "alice, who asked, withdrew it: not wanted" in [step.text for step in story.steps]


async def test_a_call_that_ran_is_not_withdrawn(desk: Desk, open_desk: Any) -> None:
    engine, waiting, asking = await asked(desk, open_desk)
    await engine.approvals.approve(asking, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert await code_of(engine.approvals.withdraw(asking, by=desk.alice)) == "already_decided"


async def test_of_a_withdrawal_and_a_resume_at_once_one_counts(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    for no in range(6):
        waiting = await engine.call(pay_call(no, amount=50_000), desk.alice)
        asking = waiting.approval_id or ""
        await engine.approvals.approve(asking, by=desk.fiona)
        both = [engine.approvals.withdraw(asking, by=desk.alice), engine.resume(waiting.call_id, by=desk.alice)]
        ended: list[Any] = await asyncio.gather(*both, return_exceptions=True)
        final = await engine.resume(waiting.call_id, by=desk.alice)
        ran = [n for _, _, n, _ in desk.done if n == no]
        assert (final.status, isinstance(ended[0], sh.ApprovalError)) == (("ok", True) if ran else ("cancelled", False))


# --- deputies

TOMORROW = timedelta(days=1)


async def test_a_deputy_answers_in_the_principals_place(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    engine, waiting, asking = await asked(desk, open_desk, clock=clock)
    dora = member("dora")
    assert await engine.approvals.list(by=dora) == []
    named = await engine.approvals.delegate(to="dora", until=clock.now + TOMORROW, by=desk.fiona)
    assert [one.approval_id for one in await engine.approvals.list(by=dora)] == [asking]
    assert await engine.approvals.deputies(by=dora) == await engine.approvals.deputies(by=desk.fiona) == [named]
    assert (await engine.approvals.approve(asking, by=dora)).status == "approved"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert any(step.text == "dora said approve in the place of fiona" for step in story.steps)
    kinds = [row.kind for row in await engine.services.store.list_audit("acme")]
    assert "approval.delegated" in kinds


async def test_when_a_deputy_is_none(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    engine, _, asking = await asked(desk, open_desk, clock=clock)
    approve = engine.approvals.approve
    await engine.approvals.delegate(to="alice", until=clock.now + TOMORROW, by=desk.fiona)
    assert await code_of(approve(asking, by=desk.alice)) == "not_entitled"  # the requester
    await engine.approvals.delegate(to="dora", until=clock.now + TOMORROW, by=member("alice", "finance"))
    assert await code_of(approve(asking, by=member("dora"))) == "not_entitled"  # of the requester
    await engine.approvals.delegate(to="dora", until=clock.now + TOMORROW, by=member("sam", "support"))
    assert await code_of(approve(asking, by=member("dora"))) == "not_entitled"  # of somebody who may not either
    named = await engine.approvals.delegate(to="dora", until=clock.now + TOMORROW, by=desk.fiona)
    assert await code_of(engine.approvals.dismiss(named.delegation_id, by=member("dora"))) == "not_found"
    await engine.approvals.dismiss(named.delegation_id, by=desk.fiona)
    assert await code_of(approve(asking, by=member("dora"))) == "not_entitled"  # any more
    await engine.approvals.delegate(to="dora", until=clock.now + timedelta(minutes=5), by=desk.fiona)
    clock.advance(301)
    assert await code_of(approve(asking, by=member("dora"))) == "not_entitled"  # for longer
    foreign = sh.Caller(id="fiona", tenant="evil", roles=["finance"])
    await engine.approvals.delegate(to="dora", until=clock.now + TOMORROW, by=foreign)
    assert await code_of(approve(asking, by=member("dora"))) == "not_entitled"  # of another tenant


async def test_the_principal_is_looked_up_when_the_deputy_decides(desk: Desk, open_desk: Any) -> None:
    class Directory:
        gone = False

        async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller | None:
            return None if self.gone and stored.id == "fiona" else stored

    directory = Directory()
    engine, _, asking = await asked(desk, open_desk, resolver=directory)
    await engine.approvals.delegate(to="dora", until=datetime.now(UTC) + TOMORROW, by=desk.fiona)
    directory.gone = True
    assert await code_of(engine.approvals.approve(asking, by=member("dora"))) == "not_entitled"
    directory.gone = False
    assert (await engine.approvals.approve(asking, by=member("dora"))).status == "approved"


async def test_a_deputy_written_into_the_database_is_none(desk: Desk, open_desk: Any) -> None:
    import sqlite3

    engine, _, asking = await asked(desk, open_desk)
    await engine.approvals.delegate(to="dora", until=datetime.now(UTC) + TOMORROW, by=desk.fiona)
    with sqlite3.connect(desk.folder / "surehand.db") as connection:
        connection.execute("UPDATE surehand_delegations SET deputy = 'eve'")
    connection.close()
    assert await code_of(engine.approvals.approve(asking, by=member("eve"))) == "not_entitled"


@pytest.mark.parametrize(
    ("to", "days", "zone"), [("fiona", 1, UTC), ("", 1, UTC), ("dora", -1, UTC), ("dora", 400, UTC), ("dora", 1, None)]
)
async def test_who_cannot_be_named(desk: Desk, open_desk: Any, to: str, days: int, zone: Any) -> None:
    engine, *_ = await asked(desk, open_desk)
    until_ = datetime.now(zone) + timedelta(days=days)
    assert await code_of(engine.approvals.delegate(to=to, until=until_, by=desk.fiona)) == "invalid"


# --- reminders and escalation


async def test_nobody_answers_so_people_are_reminded_and_others_asked_once(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    told: list[sh.Event] = []

    def ask_board(call: sh.Proposed) -> sh.AskPerson:
        return sh.AskPerson("finance", "late", escalate_to="board")

    engines: list[sh.Engine] = []
    for _ in range(2):  # any number of engines notice it; one tells
        limits = sh.Limits(lease_s=0.05, remind_after_s=60, escalate_after_s=120)
        engine: sh.Engine = await open_desk(pay_tool(desk), clock=clock, settings=sh.Settings(limits=limits))
        engine.on_event(lambda event: told.append(event) if event.kind.startswith("approval.") else None)
        engine.hook("tool.pre")(ask_board)
        engines.append(engine)
    waiting = await engines[0].call(pay_call(), desk.alice)
    asking, board = waiting.approval_id or "", member("bo", "board")
    assert await code_of(engines[0].approvals.get(asking, by=board)) == "not_found"
    clock.advance(61)
    await until(lambda: [event.kind for event in told] == ["approval.reminder"])
    assert await code_of(engines[0].approvals.approve(asking, by=board)) == "not_entitled"
    clock.advance(60)
    await until(lambda: len(told) >= 2)
    assert [(event.kind, event.tenant, event.data["groups"]) for event in told] == [
        ("approval.reminder", "acme", ["finance"]),
        ("approval.escalated", "acme", ["board"]),
    ]
    seen = await engines[1].approvals.get(asking, by=board)
    assert (seen.status, seen.escalated) == ("open", True)
    assert (await engines[0].resume(waiting.call_id, by=desk.alice)).status == "pending"  # nothing approves by waiting
    assert (await engines[1].approvals.approve(asking, by=board)).status == "approved"
    assert (await engines[0].resume(waiting.call_id, by=desk.alice)).status == "ok"
    store = engines[0].services.store
    kinds = [row.kind for row in await store.list_audit("acme", call_id=waiting.call_id)]
    assert [kinds.count(kind) for kind in ("approval.reminded", "approval.escalated")] == [1, 1]


async def test_where_no_policy_names_a_second_group_nobody_else_may_answer(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    engine, _, asking = await asked(desk, open_desk, clock=clock)
    clock.advance(80_000)
    assert await code_of(engine.approvals.approve(asking, by=member("bo", "board"))) == "not_entitled"


# --- what the effect would be


async def test_people_see_what_the_tool_says_it_would_do(desk: Desk, open_desk: Any) -> None:
    def look(arguments: dict[str, Any]) -> str:
        return f"balance of {arguments['to']} becomes {arguments['amount']}"

    engine: sh.Engine = await open_desk(pay_tool(desk, preview=look), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    asking = waiting.approval_id or ""
    assert (await engine.approvals.get(asking, by=desk.fiona)).preview == "balance of bob becomes 50000"
    made = await engine.approvals.edit(asking, changes={"amount": 20_000}, by=desk.fiona)
    assert made.preview == "balance of bob becomes 20000"
    first, second = [await engine.services.store.get_approval("acme", one) for one in (asking, made.approval_id)]
    assert first is not None
    assert second is not None
    assert first.shown_hash != second.shown_hash


def crash(arguments: dict[str, Any]) -> str:
    arguments["to"] = "eve"
    raise RuntimeError("tok_live_4242")


async def hang(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(60)
    return "too late"


@pytest.mark.parametrize(
    ("preview", "shown"),
    [
        pytest.param(crash, "no preview: it failed", id="raises"),
        pytest.param(hang, "no preview: it took longer than 0.1 s", id="hangs"),
        pytest.param(
            lambda a: time.sleep(1) or "late", "no preview: it took longer than 0.1 s", id="hangs-in-a-thread"
        ),
        pytest.param(lambda a: object(), "no preview: it cannot be written as JSON", id="no-json"),
        pytest.param(lambda a: "", "no preview: it is empty", id="empty"),
        pytest.param(lambda a: {"rows": [1, None]}, '{"rows":[1,null]}', id="a-value"),
        pytest.param(lambda a: "a\u202eb" + "x" * 9000, "a", id="bounded-and-clean"),
        pytest.param(lambda a: None, "null", id="none"),
    ],
)
async def test_a_preview_never_blocks(desk: Desk, open_desk: Any, preview: Any, shown: str) -> None:
    settings = sh.Settings(limits=sh.Limits(preview_timeout_s=0.1))
    engine: sh.Engine = await open_desk(pay_tool(desk, preview=preview), policies=ASK_FINANCE, settings=settings)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    seen = await engine.approvals.get(waiting.approval_id or "", by=desk.fiona)
    assert seen.preview is not None
    assert seen.preview.startswith(shown)
    assert len(seen.preview) <= 4000
    assert "\u202e" not in seen.preview
    assert "4242" not in seen.preview
    await engine.approvals.approve(seen.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("pay", "bob", 1, 50_000)]


@pytest.mark.parametrize("changes", [False, True])
async def test_why_a_hook_asks_tells_no_secret(desk: Desk, open_desk: Any, changes: bool) -> None:
    """Its reason is shown, notified, told and recorded; the secret arguments of the call are none of that."""
    secret, other = "zebra horse 99", "violet crow 12"
    spec = sh.ToolSpec(
        name="wire",
        description="Wires money.",
        key=("to",),
        parameters={
            "type": "object",
            "properties": {"to": {"type": "string"}, "code": {"type": "string", "writeOnly": True}},
            "required": ["to", "code"],
        },
    )
    engine: sh.Engine = await open_desk(sh.bind_tool(spec, lambda to, code: "wired"))
    events: list[sh.Event] = []
    engine.on_event(events.append)

    @engine.hook("tool.pre")
    def look(call: sh.Proposed) -> tuple[sh.Modify | sh.AskPerson, ...]:
        ask = sh.AskPerson("finance", f"is {call.arguments['code']} or {other} right?")
        return (sh.Modify({**call.arguments, "code": other}), ask) if changes else (ask,)

    call = sh.ToolCall(id="c1", name="wire", arguments={"to": "bob", "code": secret})
    waiting = await engine.call(call, desk.alice)
    shown = await engine.approvals.get(waiting.approval_id or "", by=desk.fiona)
    assert shown.needs[0].reason.startswith("is [redacted] or ")
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    said = f"{shown} {story} {events}"
    assert secret not in said
    assert (other in said) is not changes


async def test_a_role_with_the_name_of_the_requesters_place_opens_nothing(desk: Desk, open_desk: Any) -> None:
    """Such a role may come from a directory that knows nothing of `self`."""
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="medium"))
    waiting = await engine.call(pay_call(), desk.alice)
    odd = member("odd", "self")
    assert await engine.approvals.list(by=odd) == []
    assert await code_of(engine.approvals.get(waiting.approval_id or "", by=odd)) == "not_found"
    assert await code_of(engine.approvals.approve(waiting.approval_id or "", by=odd)) == "not_entitled"
    given = await engine.grants.give(from_approval=waiting.approval_id, where={}, uses=1, expires_s=60, by=desk.alice)
    assert await engine.grants.list(by=odd) == []
    assert await code_of(engine.grants.revoke(given.grant_id, by=odd)) == "not_found"
