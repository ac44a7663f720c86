"""Who drives a run, and that every way out lets go of it."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import pytest

import surehand as sh
from surehand.agent.journal import Journal
from surehand.agent.script import ScriptError
from surehand.ports import RunSave
from surehand.testing import ScriptedModel
from surehand.testing.store_records import call, claim, question
from tests.agent.raw import Raw, asked, drive, paying, said
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until

ASKS: list[Any] = [{"calls": [{"name": "pay", "arguments": {"to": "bob", "no": 1, "amount": 50_000}}]}, "Done."]

QUICK = sh.Settings(limits=sh.Limits(lease_s=0.3))


async def owner_of(engine: sh.Engine, run_id: str = "r1") -> str | None:
    record = await engine.services.store.get_run("acme", run_id)
    assert record is not None
    return record.owner


async def test_runs_of_two_tenants_under_one_id_hear_only_their_own(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, display="Reading {what}")
    async def look(what: str) -> str:
        """Looks."""
        await asyncio.sleep(0.05)
        return "seen"

    engine: sh.Engine = await open_desk(look)

    def model(what: str) -> ScriptedModel:
        return ScriptedModel([{"calls": [{"name": "look", "arguments": {"what": what}}]}, "Done."])

    mine, theirs = await asyncio.gather(
        *(
            drive(engine, model(who.tenant), who, run_id="r1", messages=["go"], stream=True)
            for who in (desk.alice, desk.mallory)
        )
    )
    for events, tenant in ((mine, "acme"), (theirs, "evil")):
        shown = [event.data["display"] for event in events if event.kind == "call.finished"]
        assert shown == [f"Reading {tenant}"]


async def test_one_engine_drives_a_run_once(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    run = sh.run(engine, model=ScriptedModel(ASKS), caller=desk.alice, run_id="r1", messages=["go"])
    async for event in run:
        if event.kind == "run.waiting":
            break
    with pytest.raises(sh.ConfigError, match="by this process already"):
        await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1")
    await run.aclose()
    assert (await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", wait=False))[-1].kind == "run.waiting"
    assert engine.services.driving == set()


async def test_leaving_at_the_first_event_lets_go(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    run = sh.run(engine, model=Raw(said("hi")), caller=desk.alice, run_id="r1", messages=["go"])
    await anext(run)
    await run.aclose()
    assert await owner_of(engine) is None
    assert (await engine.runs.cancel("r1", by=desk.alice)).status == "ended"


async def test_a_dialect_that_nobody_knows_takes_no_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    with pytest.raises(sh.ConfigError):
        await drive(engine, Raw(dialect="morse"), desk.alice, run_id="r1")
    assert await owner_of(engine) is None


async def test_a_fault_of_the_driver_lets_go(desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))

    async def broken(journal: Journal) -> bool:
        raise sh.StoreError("gone for a moment")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "cancelled", broken)
        with pytest.raises(sh.StoreError):
            await drive(engine, Raw(), desk.alice, run_id="r1", messages=["go"])
    assert await owner_of(engine) is None
    assert (await drive(engine, Raw(said("hi")), desk.alice, run_id="r1"))[-1].data["reason"] == "completed"


async def test_a_script_that_foresees_too_little_lets_go(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(ScriptError):
        await drive(engine, ScriptedModel([]), desk.alice, run_id="r1", messages=["go"])
    kinds = [one["kind"] for one in await engine.runs.events("r1", by=desk.alice)]
    assert (kinds, await owner_of(engine)) == (["run.started", "turn.started"], None)
    assert (await drive(engine, Raw(said("hi")), desk.alice, run_id="r1"))[-1].data["reason"] == "completed"


@pytest.mark.parametrize("yields", range(0, 60, 4))
async def test_cancelled_at_any_moment_it_has_ended(desk: Desk, open_desk: Any, yields: int) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = Raw(said(None, paying(1)), said("Done."))
    task = asyncio.create_task(drive(engine, model, desk.alice, run_id="r1", messages=["go"]))
    for _ in range(yields):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = await engine.services.store.get_run("acme", "r1")
    if record is not None:
        assert (record.status, record.reason, record.owner) == ("ended", "cancelled", None)
        kinds = [one["kind"] for one in await engine.runs.events("r1", by=desk.alice)]
        assert kinds.count("run.ended") == 1
    assert engine.services.driving == set()


async def test_a_cancellation_while_the_run_is_created(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    task = asyncio.create_task(drive(engine, Raw(said("hi")), desk.alice, run_id="r1", messages=["go"]))
    while not await engine.services.store.get_run("acme", "r1"):
        pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await engine.runs.get("r1", by=desk.alice)).reason == "cancelled"


async def test_numbers_rise_over_drivers_that_died(desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    told: list[int] = []
    for _ in range(3):
        more: dict[str, Any] = {"messages": ["go"]} if not told else {}
        run = sh.run(engine, model=Raw([]), caller=desk.alice, run_id="r1", **more)
        async for event in run:
            told.append(event.seq)
            if event.kind == "turn.started":
                break
        with monkeypatch.context() as patch:  # dies: nothing more is stored
            patch.setattr(Journal, "save", _lost)
            await run.aclose()
    assert told == sorted(set(told))
    stored = [one["seq"] for one in await engine.runs.events("r1", by=desk.alice)]
    assert set(stored) <= set(told)


@pytest.mark.parametrize("made", [False, True], ids=["not-made", "made-and-not-known"])
@pytest.mark.parametrize("number", range(1, 5))
async def test_a_save_that_failed_loses_no_event(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch, number: int, made: bool
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with monkeypatch.context() as patch:
        fail_saves(engine, patch, {number}, made=made)
        told: list[int] = []
        model = Raw(said("I pay.", paying(1)), said("Done."))
        with pytest.raises(sh.StoreError):
            await listen(engine, model, desk.alice, told)
    stored = await engine.runs.events("r1", by=desk.alice)
    assert set(told) <= {one["seq"] for one in stored}
    rest = await drive(engine, Raw(said("Done.")), desk.alice, run_id="r1")
    assert rest[-1].data["reason"] == "completed"
    kinds = [one["kind"] for one in await engine.runs.events("r1", by=desk.alice)]
    assert kinds.count("run.ended") == 1
    assert "".join(one["data"]["text"] for one in stored if one["kind"] == "text").count("I pay.") == (number > 1)


async def listen(engine: sh.Engine, model: Any, caller: sh.Caller, told: list[int]) -> None:
    """Keeps the numbers of events, also when the run breaks off."""
    async for event in sh.run(engine, model=model, caller=caller, run_id="r1", messages=["go"], stream=False):
        told.append(event.seq)


def fail_saves(engine: sh.Engine, patch: pytest.MonkeyPatch, numbers: set[int], *, made: bool = False) -> None:
    """Lets some saves of runs fail, by their number from 1; they are made all the same, or not."""
    store, count = engine.services.store, 0
    save_run = store.save_run

    async def failing(save: RunSave) -> bool:
        nonlocal count
        count += 1
        if count not in numbers:
            return await save_run(save)
        if made:
            await save_run(save)
        raise sh.StoreError("gone for a moment")

    patch.setattr(store, "save_run", failing)


async def test_what_the_store_did_not_take_is_made_up_for(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver's save failed, and so did its release: the engine lets go as soon as it can."""
    engine: sh.Engine = await open_desk(pay_tool(desk), settings=QUICK)
    with monkeypatch.context() as patch:
        fail_saves(engine, patch, {2, 3})
        with pytest.raises(sh.StoreError):
            await drive(engine, Raw(said("Done.")), desk.alice, run_id="r1", messages=["go"])
        assert await owner_of(engine) is not None

        async def is_free() -> bool:
            return await owner_of(engine) is None

        await until(is_free)
    assert engine.services.owed_runs == {}
    other: sh.Engine = await open_desk(pay_tool(desk), settings=QUICK)
    assert (await drive(other, Raw(), desk.alice, run_id="r1"))[-1].data["text"] == "Done."


async def test_a_run_that_is_resumed_is_not_let_go_of(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    with monkeypatch.context() as patch:
        fail_saves(engine, patch, {2, 3})
        with pytest.raises(sh.StoreError):
            await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"])
    assert list(engine.services.owed_runs) == [("acme", "r1")]
    async with aclosing(sh.run(engine, model=ScriptedModel(ASKS), caller=desk.alice, run_id="r1")) as run:
        async for event in run:
            if event.kind == "run.waiting":
                break
        assert engine.services.owed_runs == {}
        await engine._maintenance._once()
        assert await owner_of(engine) == engine.services.owner


async def test_an_end_that_the_store_did_not_take_is_made_up_for(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with monkeypatch.context() as patch:
        fail_saves(engine, patch, {3, 4})
        with pytest.raises(sh.StoreError):
            await drive(engine, Raw(said("Done.")), desk.alice, run_id="r1", messages=["go"])
    assert (await engine.runs.get("r1", by=desk.alice)).status == "running"
    (last,) = await drive(engine, Raw(), desk.alice, run_id="r1")
    assert (last.data["reason"], last.data["text"]) == ("completed", "Done.")


async def test_a_stop_that_fails_once_is_made_later(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=QUICK)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    with monkeypatch.context() as patch:
        fail_saves(engine, patch, {1})
        with pytest.raises(sh.StoreError):
            await engine.runs.cancel("r1", by=desk.alice)
        await until(lambda: has_ended(engine, desk))
    assert (engine.services.owed_runs, engine.services.driving) == ({}, set())


async def test_a_stop_that_came_just_before_the_release_counts(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver looked, then it was stopped, then it let go: nobody drives it any more."""
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=QUICK)
    save_run = engine.services.store.save_run

    async def stopped_before(save: RunSave) -> bool:
        if save.release:
            await engine.runs.cancel("r1", by=desk.alice)
        return await save_run(save)

    monkeypatch.setattr(engine.services.store, "save_run", stopped_before)
    events = await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    assert events[-1].kind == "run.waiting"
    await until(lambda: has_ended(engine, desk))
    assert await engine.approvals.list(by=desk.fiona) == []


async def has_ended(engine: sh.Engine, desk: Desk) -> bool:
    return (await engine.runs.get("r1", by=desk.alice)).status == "ended"


async def test_options_that_nobody_knows_take_no_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(TypeError, match="patience"):
        await drive(engine, Raw(), desk.alice, run_id="r1", messages=["go"], patience=1)
    assert await engine.services.store.get_run("acme", "r1") is None


async def _lost(*_: Any, **__: Any) -> None:
    raise sh.StoreError("lost")


async def test_what_counts_is_told_only_when_it_is_stored(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    seen = 0
    async for event in sh.run(
        engine, model=ScriptedModel(ASKS), caller=desk.alice, run_id="r1", messages=["go"], wait=False
    ):
        if event.kind in ("run.started", "turn.finished", "run.waiting", "run.ended"):
            assert event.seq in [one["seq"] for one in await engine.runs.events("r1", by=desk.alice)]
            seen += 1
    assert seen == 3


async def test_the_method_resumes_in_a_fresh_process(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    await engine.close()
    other: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    events = [e async for e in other.runs.resume("r1", by=desk.alice, model=ScriptedModel(ASKS), wait=False)]
    assert events[-1].kind == "run.waiting"


def test_resuming_needs_no_import_of_what_drives() -> None:
    code = """
import asyncio, sys
import surehand as sh

async def main():
    model = type("Model", (), {"dialect": "openai-chat", "name": "none"})()
    async with sh.open_engine(store="sqlite://") as engine:
        assert "surehand.agent" not in sys.modules
        try:
            async for _ in engine.runs.resume("r1", by=sh.Caller(id="a", tenant="t"), model=model):
                pass
        except sh.NotFoundError as error:
            print(error)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "there is no run 'r1'\n"


async def test_a_decision_is_told_with_its_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    events: list[sh.Event] = []
    engine.on_event(events.append)
    model = Raw(said(None, paying(1), paying(2, 50_000, id="c2")))
    await drive(engine, model, desk.alice, run_id="r1", messages=["go"], wait=False)
    (question,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.reject(question.approval_id, by=desk.fiona)
    (told,) = [one for one in events if one.kind == "approval.decided"]
    assert (told.run_id, told.position, told.tool_call_id, told.name) == ("r1", 1, "c2", "pay")
    rows = await engine.services.store.list_audit("acme", call_id=question.call_id)
    assert [one.run_id for one in rows if one.kind == "approval.decided"] == ["r1"]


async def test_a_run_stopped_by_hand_has_an_end(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    for no in range(3):  # newer questions of others stay
        await engine.call(pay_call(100 + no, 50_000), desk.alice)
    await engine.runs.cancel("r1", by=desk.alice)
    (last,) = await drive(engine, Raw(), desk.alice, run_id="r1")
    assert (last.kind, last.data["reason"]) == ("run.ended", "cancelled")
    assert [one["kind"] for one in await engine.runs.events("r1", by=desk.alice)][-1] == "run.ended"
    assert len(await engine.approvals.list(by=desk.fiona)) == 3
    journal = await _history(engine, desk)
    assert [result.status for result in journal if result is not None] == ["cancelled"]


async def test_stopped_twice_it_ends_once(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    await asyncio.gather(*(engine.runs.cancel("r1", by=desk.alice) for _ in range(3)))
    info = await engine.runs.cancel("r1", by=desk.alice)
    assert (info.status, info.reason) == ("ended", "cancelled")
    kinds = [one["kind"] for one in await engine.runs.events("r1", by=desk.alice)]
    assert kinds.count("run.ended") == kinds.count("call.finished") == 1


async def test_questions_are_withdrawn_behind_many_newer_ones(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await drive(engine, ScriptedModel(ASKS), desk.alice, run_id="r1", messages=["go"], wait=False)
    (waiting,) = await engine.approvals.list(by=desk.fiona)
    later = engine.services.clock.now_us() + 1_000_000
    claims = [
        claim(
            call(f"n{n}", status="waiting", run_id="r2", step_index=0, position=0, created_us=later + n),
            approval=question(f"q{n}", f"n{n}", created_us=later + n, expires_us=later * 2),
        )
        for n in range(1001)
    ]
    await asyncio.gather(*(engine.services.store.claim(one) for one in claims))
    await engine.runs.cancel("r1", by=desk.alice)
    withdrawn = await engine.services.store.get_call("acme", waiting.call_id)
    assert withdrawn is not None
    assert withdrawn.status == "cancelled"
    assert await engine.services.store.count_open_approvals("acme") == 1001


async def test_an_end_that_was_not_stored_is_made_from_the_record(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await drive(engine, Raw(said("Hello.")), desk.alice, run_id="r1", messages=["go"])
    *_, before, last = await engine.runs.events("r1", by=desk.alice)
    assert last["kind"] == "run.ended"
    with sqlite3.connect(desk.folder / "surehand.db") as connection:
        connection.execute("DELETE FROM surehand_run_events WHERE seq = ?", (last["seq"],))
    (made,) = await drive(engine, Raw(), desk.alice, run_id="r1")
    assert (made.kind, made.turn, made.data) == ("run.ended", 0, last["data"])
    assert made.seq == before["seq"] + 1


async def _history(engine: sh.Engine, desk: Desk) -> list[sh.ToolResult | None]:
    from surehand.agent.journal import _turn

    (turn,) = await engine.services.store.list_turns("acme", "r1")
    return _turn(engine.services, turn).results


async def test_ones_own_runs_are_listed_behind_newer_ones(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    bob = sh.Caller(id="bob", tenant="acme")
    await drive(engine, Raw(said("hi")), bob, run_id="bobs", messages=["go"])
    for n in range(5):
        await drive(engine, Raw(said("hi")), desk.alice, run_id=f"r{n}", messages=["go"])
    assert [one.run_id for one in await engine.runs.list(by=bob, limit=2)] == ["bobs"]


async def test_a_changed_column_opens_no_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await drive(engine, Raw(said("secret")), desk.alice, run_id="r1", messages=["go"])
    with sqlite3.connect(desk.folder / "surehand.db") as connection:
        connection.execute("UPDATE surehand_runs SET caller = replace(caller, 'alice', 'bob')")
    bob = sh.Caller(id="bob", tenant="acme")
    for reading in (engine.runs.get, engine.runs.events, engine.runs.cancel):
        with pytest.raises(sh.NotAllowedError):
            await reading("r1", by=bob)
    assert await engine.runs.list(by=bob) == []
    assert (await engine.runs.get("r1", by=desk.alice)).caller == "alice"


async def test_parts_of_runs_fit_nowhere_else(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    first, second = sh.Caller(id="u", tenant="x:y"), sh.Caller(id="u", tenant="y")
    await drive(engine, Raw(said("secret")), first, run_id="r", messages=["go"])
    await drive(engine, Raw(said("other")), second, run_id="r:x", messages=["go"])
    with sqlite3.connect(desk.folder / "surehand.db") as connection:
        connection.execute(
            "UPDATE surehand_run_events AS t SET body = (SELECT body FROM surehand_run_events AS o "
            "WHERE o.tenant = 'x:y' AND o.seq = t.seq) WHERE tenant = 'y'"
        )
    with pytest.raises(sh.StoreError):
        await engine.runs.events("r:x", by=second)


async def test_stopped_by_hand_while_a_call_runs(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, timeout_s=60)
    async def slow() -> str:
        """Takes long."""
        desk.done.append("began")
        await asyncio.sleep(30)
        return "slow"

    engine: sh.Engine = await open_desk(slow)
    call = {"id": "c1", "type": "function", "function": {"name": "slow", "arguments": "{}"}}
    task = asyncio.create_task(drive(engine, Raw(said(None, call)), desk.alice, run_id="r1", messages=["go"]))
    await until(lambda: desk.done)
    await engine.runs.cancel("r1", by=desk.alice)
    events = await task
    assert events[-1].data["reason"] == "cancelled"
    (result,) = await _history(engine, desk)
    assert result is not None
    assert result.status == "cancelled"


async def finished(engine: sh.Engine, desk: Desk) -> list[tuple[int, str, str | None]]:
    """What is stored of the ends of calls."""
    events = await engine.runs.events("r1", by=desk.alice)
    ends = [one["data"] for one in events if one["kind"] == "call.finished"]
    return [(one["position"], one["status"], one["code"]) for one in ends]


@pytest.mark.parametrize("by_hand", [True, False], ids=["by-hand", "its-task"])
async def test_a_call_at_work_when_its_run_ends_is_unknown(desk: Desk, open_desk: Any, by_hand: bool) -> None:
    @sh.tool(key=["no"], timeout_s=60)
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays, and takes long."""
        desk.done.append("began")
        await asyncio.sleep(30)
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    model = Raw(said(None, paying(1), asked("{}", name="nothing", id="c2")))
    task = asyncio.create_task(drive(engine, model, desk.alice, run_id="r1", messages=["go"]))
    await until(lambda: desk.done)
    if by_hand:
        await engine.runs.cancel("r1", by=desk.alice)
        await task
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    unknown, missing = await _history(engine, desk)
    assert unknown is not None
    assert missing is not None
    assert (unknown.status, missing.status) == ("unknown", "error")
    assert "Do not call it again" in unknown.content
    assert sorted(await finished(engine, desk)) == [
        (0, "unknown", "TOOL_OUTCOME_UNKNOWN"),
        (1, "error", "TOOL_NOT_FOUND"),
    ]
    assert [one.call_id for one in await engine.services.store.list_calls("acme", run_id="r1")] == [unknown.call_id]


@pytest.mark.parametrize("verdict", ["approve", "reject"])
async def test_a_call_that_ended_before_its_run_was_stopped_keeps_its_end(
    desk: Desk, open_desk: Any, verdict: Any
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    model = Raw(said(None, paying(1, 50_000), paying(2, 60_000, id="c2"), paying(3, id="c3")))
    await drive(engine, model, desk.alice, run_id="r1", messages=["go"], wait=False)
    questions = await engine.approvals.list(by=desk.fiona)
    (one,) = [one for one in questions if one.arguments["no"] == 1]
    await engine.approvals.decide(one.approval_id, verdict, by=desk.fiona)
    await engine.resume(one.call_id, by=desk.alice)
    await engine.runs.cancel("r1", by=desk.alice)
    status = {"approve": "ok", "reject": "denied"}[verdict]
    results = await _history(engine, desk)
    assert [result.status for result in results if result is not None] == [status, "cancelled", "ok"]
    code = {"approve": None, "reject": "APPROVAL_REJECTED"}[verdict]
    assert sorted(await finished(engine, desk)) == [(0, status, code), (1, "cancelled", None), (2, "ok", None)]


async def test_the_end_of_a_call_is_told_once_over_resumptions(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    model = Raw(said(None, paying(1), paying(2, 50_000, id="c2")), said("Done."))
    await drive(engine, model, desk.alice, run_id="r1", messages=["go"], wait=False)
    await drive(engine, model, desk.alice, run_id="r1", wait=False)
    (one,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(one.approval_id, by=desk.fiona)
    await drive(engine, model, desk.alice, run_id="r1")
    assert await finished(engine, desk) == [(0, "ok", None), (1, "ok", None)]


async def test_a_stop_counts_though_the_driver_only_lets_go(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def look() -> str:
        """Takes long."""
        await asyncio.sleep(60)
        return "seen"

    engine: sh.Engine = await open_desk(look)
    model = ScriptedModel([{"calls": [{"name": "look", "arguments": {}}]}, "Done."])
    async with aclosing(sh.run(engine, model=model, caller=desk.alice, messages=["go"], run_id="r1")) as events:
        async for event in events:
            if event.kind == "call.started":
                await engine.runs.cancel("r1", by=desk.alice)
                break
    info = await engine.runs.get("r1", by=desk.alice)
    assert (info.status, info.reason) == ("ended", "cancelled")


async def test_who_reads_does_not_stop(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await drive(engine, Raw(said("hi")), desk.alice, run_id="r1", messages=["go"])
    auditor = sh.Caller(id="audra", tenant="acme", roles=["auditor"])
    operator = sh.Caller(id="olga", tenant="acme", roles=["operator"])
    assert (await engine.runs.get("r1", by=auditor)).status == "ended"
    with pytest.raises(sh.NotAllowedError, match="somebody else's"):
        await engine.runs.cancel("r1", by=auditor)
    assert (await engine.runs.cancel("r1", by=operator)).reason == "completed"


async def test_the_end_of_a_call_that_ended_elsewhere_is_told(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    steps: list[Any] = [
        {"calls": [{"name": "pay", "arguments": {"to": "bob", "no": 1, "amount": 50_000}}]},
        {"text": "Done."},
    ]
    first = await drive(engine, ScriptedModel(steps), desk.alice, run_id="r1", messages=["go"], wait=False)
    assert first[-1].kind == "run.waiting"
    (question,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(question.approval_id, by=desk.fiona)
    await engine.resume(question.call_id, by=desk.alice)
    rest = await drive(engine, ScriptedModel(steps, catch_up=True), desk.alice, run_id="r1")
    (told,) = [event.data for event in rest if event.kind == "call.finished"]
    assert (told["call_id"], told["status"], told["content"]) == (question.call_id, "ok", "paid 50000 to bob")
