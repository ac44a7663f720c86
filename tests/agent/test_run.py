"""The run: driven by a model, stopped by nothing but reasons."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surehand as sh
from surehand.providers import CallResult, ModelTurn, ResultMessage
from surehand.testing import ScriptedModel
from tests.desk import ASK_FINANCE, Desk, pay_tool, until


def pay(no: int, amount: int = 500, **more: Any) -> dict[str, Any]:
    return {"name": "pay", "arguments": {"to": "bob", "no": no, "amount": amount}, **more}


async def drive(engine: sh.Engine, model: Any, caller: sh.Caller, **options: Any) -> list[sh.RunEvent]:
    if "run_id" not in options:
        options["messages"] = ["please"]
    return [event async for event in sh.run(engine, model=model, caller=caller, **options)]


def ended(events: list[sh.RunEvent]) -> tuple[str, str]:
    assert events[-1].kind == "run.ended", events[-1]
    return events[-1].data["reason"], events[-1].data.get("text", "")


DIALECTS = pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
STREAMS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@DIALECTS
@STREAMS
async def test_calls_then_text(desk: Desk, open_desk: Any, dialect: str, stream: bool) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = ScriptedModel(
        [
            {"text": "I pay both.", "calls": [pay(1), pay(2)], "usage": {"input_tokens": 10, "output_tokens": 5}},
            {"expect": {"results": ["paid 500 to bob", "paid 500 to bob"]}, "text": "Both are paid."},
        ],
        dialect=dialect,  # pyright: ignore[reportArgumentType]
    )
    events = await drive(engine, model, desk.alice, stream=stream)
    model.assert_done()
    assert ended(events) == ("completed", "Both are paid.")
    assert sorted(desk.done) == [("pay", "bob", 1, 500), ("pay", "bob", 2, 500)]
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    text = "".join(event.data["text"] for event in events if event.kind == "text" and event.turn == 1)
    assert text == "Both are paid."
    finished = {event.data["position"]: event.data["content"] for event in events if event.kind == "call.finished"}
    assert finished == {0: "paid 500 to bob", 1: "paid 500 to bob"}
    stored = await engine.runs.events(events[0].run_id, by=desk.alice)
    assert [one["kind"] for one in stored if one["kind"] != "text"] == [e.kind for e in events if e.kind != "text"]
    info = await engine.runs.get(events[0].run_id, by=desk.alice)
    assert (info.status, info.reason, info.turns) == ("ended", "completed", 2)


async def test_a_free_sibling_is_done_and_kept_while_people_decide(desk: Desk, open_desk: Any) -> None:  # C31
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    steps: list[Any] = [
        {"calls": [pay(1), pay(2, 50_000)]},
        {"expect": {"results": ["paid 500 to bob", "paid 50000 to bob"]}, "text": "Done."},
    ]
    first = await drive(engine, ScriptedModel(steps), desk.alice, wait=False)
    assert first[-1].kind == "run.waiting"
    run_id = first[0].run_id
    assert desk.done == [("pay", "bob", 1, 500)]
    assert (await engine.runs.get(run_id, by=desk.alice)).status == "waiting"
    still = await drive(engine, ScriptedModel(steps, catch_up=True), desk.alice, run_id=run_id, wait=False)
    assert still[-1].kind == "run.waiting"
    await engine.close()
    other: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    (asked,) = await other.approvals.list(by=desk.fiona)
    await other.approvals.approve(asked.approval_id, by=desk.fiona)
    last = await drive(other, ScriptedModel(steps, catch_up=True), desk.alice, run_id=run_id)
    assert ended(last) == ("completed", "Done.")
    assert sorted(desk.done) == [("pay", "bob", 1, 500), ("pay", "bob", 2, 50_000)]
    assert last[0].seq > first[-1].seq


async def test_it_goes_on_by_itself_when_all_is_decided(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    model = ScriptedModel([{"calls": [pay(1, 50_000), pay(2, 60_000)]}, {"text": "Done."}])
    task = asyncio.create_task(drive(engine, model, desk.alice))

    async def two_asked() -> bool:
        return len(await engine.approvals.list(by=desk.fiona)) == 2

    await until(two_asked)
    second, first = reversed(await engine.approvals.list(by=desk.fiona))
    await engine.approvals.reject(first.approval_id, by=desk.fiona, reason="not this one")
    await engine.approvals.approve(second.approval_id, by=desk.fiona)
    events = await task
    assert ended(events)[0] == "completed"
    assert len(desk.done) == 1


REASONS: list[Any] = [
    pytest.param([{"text": "Hello."}], "completed", 1, id="text"),
    pytest.param([{"finish": "tool_calls"}], "degenerate", 1, id="C21-announced-and-made-none"),
    pytest.param([{}, {}], "degenerate", 2, id="said-nothing-twice"),
    pytest.param([{}, {"text": "Sorry."}], "completed", 2, id="said-nothing-once"),
    pytest.param([{"text": "And so", "finish": "length"}], "truncated", 1, id="cut-off"),
    pytest.param([{"calls": [pay(1)], "finish": "content_filter"}], "refused", 1, id="C21-filtered"),
    pytest.param([{"refusal": "I must not."}], "refused", 1, id="refusal"),
    pytest.param([{"calls": [pay(1)], "finish": "stop"}, {"text": "Paid."}], "completed", 2, id="C21-stop-with-calls"),
    pytest.param([{"fail": 400}], "failed", 1, id="bad-request"),
    pytest.param([{"fail": 500}] * 3, "failed", 3, id="server-error"),
    pytest.param([{"fail": 500}, {"text": "Here."}], "completed", 2, id="server-error-once"),
    pytest.param([{"calls": [{"name": "nothing", "arguments": "{}"}]}] * 3, "failed", 3, id="same-failing-call"),
    pytest.param([{"calls": [pay(no)]} for no in range(4)], "limit", 4, id="turns"),
]


@pytest.mark.parametrize(("steps", "reason", "requests"), REASONS)
async def test_why_it_ends(desk: Desk, open_desk: Any, steps: list[Any], reason: str, requests: int) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = ScriptedModel(steps)
    events = await drive(engine, model, desk.alice, bounds=sh.Bounds(turns=4, model_wait_s=0.001))
    assert (ended(events)[0], len(model.requests)) == (reason, requests)
    if reason == "refused":
        assert desk.done == []
    assert not [task for task in asyncio.all_tasks() if "surehand-run" in task.get_name()]


CUT: list[Any] = [
    pytest.param("length", ['{"to":"x","no":1,"amou'], id="A"),
    pytest.param("length", ['{"to":"x","no":1,"amount":5}'], id="B"),
    pytest.param("tool_calls", ['{"to":"x","no":1,"amou'], id="C"),
]


@pytest.mark.parametrize(("finish", "arguments"), CUT)
async def test_C13_a_cut_call_never_runs(desk: Desk, open_desk: Any, finish: str, arguments: list[str]) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    calls = [{"name": "pay", "arguments": one} for one in arguments]
    model = ScriptedModel([{"calls": calls, "finish": finish}, {"text": "I see."}])
    events = await drive(engine, model, desk.alice)
    (finished,) = [event for event in events if event.kind == "call.finished"]
    assert (finished.data["code"], desk.done) == ("ARGUMENTS_TRUNCATED", [])
    assert ended(events)[0] == "completed"


async def test_C18_reused_ids_are_told_apart(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = ScriptedModel(
        [
            {"calls": [pay(1, id="x"), pay(2, 700, id="x")]},
            {"expect": {"results": ["paid 500", "paid 700"]}, "calls": [pay(3, id="x")]},
            {"text": "Done."},
        ]
    )
    assert ended(await drive(engine, model, desk.alice))[0] == "completed"
    assert len(desk.done) == 3


async def test_C25_a_failure_after_a_tool_never_runs_it_again(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = ScriptedModel([{"calls": [pay(1)]}, {"fail": 500}, {"fail": 500}, {"text": "Done."}])
    once = sh.Bounds(model_attempts=1, model_wait_s=0.001)
    events = await drive(engine, model, desk.alice, bounds=once)
    assert (events[-1].data["reason"], events[-1].data["resumable"]) == ("failed", True)
    run_id = events[0].run_id
    assert (await engine.runs.get(run_id, by=desk.alice)).status == "running"
    again = await drive(engine, model, desk.alice, run_id=run_id)
    assert again[-1].data["resumable"]
    last = await drive(engine, model, desk.alice, run_id=run_id)
    assert ended(last) == ("completed", "Done.")
    assert len(desk.done) == 1
    after = await drive(engine, model, desk.alice, run_id=run_id)
    assert ended(after) == ("completed", "Done.")


async def test_C24_cancelling_the_task_leaves_no_orphan(desk: Desk, open_desk: Any) -> None:
    begun = asyncio.Event()

    @sh.tool(read_only=True)
    async def tick() -> str:
        """Ticks."""
        begun.set()
        while True:
            await asyncio.sleep(0.02)
            desk.done.append("tick")

    engine: sh.Engine = await open_desk(tick)
    model = ScriptedModel([{"calls": [{"name": "tick", "arguments": "{}"}]}])
    events: list[sh.RunEvent] = []

    async def consume() -> None:
        async for event in sh.run(engine, model=model, caller=desk.alice, messages=["go"]):
            events.append(event)

    task = asyncio.create_task(consume())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ticks = len(desk.done)
    await asyncio.sleep(0.1)
    assert len(desk.done) == ticks
    info = await engine.runs.get(events[0].run_id, by=desk.alice)
    assert (info.status, info.reason) == ("ended", "cancelled")


async def test_leaving_the_loop_lets_go_of_the_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    steps: list[Any] = [{"calls": [pay(1, 50_000)]}, {"text": "Done."}]
    run = sh.run(engine, model=ScriptedModel(steps), caller=desk.alice, run_id="r1", messages=["go"])
    async for event in run:
        if event.kind == "run.waiting":
            break
    await run.aclose()
    info = await engine.runs.get("r1", by=desk.alice)
    assert info.status == "waiting"
    (asked,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(asked.approval_id, by=desk.fiona)
    last = await drive(engine, ScriptedModel(steps, catch_up=True), desk.alice, run_id="r1")
    assert ended(last)[0] == "completed"


async def test_a_run_is_stopped_from_outside_and_its_questions_withdrawn(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    first = await drive(engine, ScriptedModel([{"calls": [pay(1, 50_000)]}]), desk.alice, wait=False)
    run_id = first[0].run_id
    bob = sh.Caller(id="bob", tenant="acme")
    with pytest.raises(sh.NotAllowedError):
        await engine.runs.cancel(run_id, by=bob)
    with pytest.raises(sh.NotFoundError):
        await engine.runs.cancel(run_id, by=desk.mallory)
    info = await engine.runs.cancel(run_id, by=desk.alice)
    assert (info.status, info.reason) == ("ended", "cancelled")
    assert await engine.approvals.list(by=desk.fiona) == []
    assert [one.run_id for one in await engine.runs.list(by=desk.alice)] == [run_id]
    assert await engine.runs.list(by=bob) == []


async def test_repeated_denials_narrow_the_view_and_end_the_run(desk: Desk, open_desk: Any) -> None:
    forbid = """
    @id("never") @reason("never so much") forbid (principal, action == Action::"call/pay", resource)
    when { context.arguments.amount > 100 };
    """
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=forbid)
    model = ScriptedModel(
        [
            {"calls": [pay(1), pay(2), pay(3)]},
            {"expect": {"has_tools": ["pay"]}, "calls": [pay(4)]},
            {"expect": {"has_tools": ["pay"]}, "calls": [pay(5)]},
            {"expect": {"lacks_tools": ["pay"]}, "calls": [pay(6, 5)]},
            {"expect": {"results": ["There is no tool"]}, "text": "I give up."},
        ]
    )
    events = await drive(engine, model, desk.alice)
    assert ended(events) == ("completed", "I give up.")
    assert [event.data["name"] for event in events if event.kind == "tool.narrowed"] == ["pay"]
    assert desk.done == []


async def test_versions_are_pinned_for_the_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))

    @engine.hook("tool.post")
    def publish(call: sh.Proposed, result: sh.ToolResult) -> None:
        if "2.0.0" not in [entry.tool.spec.version for entry in engine.registry.list_versions("pay")]:
            engine.registry.replace(pay_tool(desk, version="2.0.0"))

    model = ScriptedModel([{"calls": [pay(1)]}, {"calls": [pay(2)]}, {"text": "Done."}])
    assert ended(await drive(engine, model, desk.alice))[0] == "completed"
    calls = await engine.services.store.list_calls("acme")
    assert [call.version for call in calls] == ["1.0.0", "1.0.0"]
    assert (await engine.view(desk.alice)).tools[0].version == "2.0.0"


CALLING = ModelTurn(dialect="openai-chat", calls=(sh.ToolCall(id="c1", name="pay"),))


def result(*ids: str) -> ResultMessage:
    return ResultMessage(results=tuple(CallResult(tool_call_id=one, content="paid") for one in ids))


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "pass what the user says"),
        ("", "pass what the user says"),
        (" \n", "pass what the user says"),
        (["", sh.UserMessage(content=" ")], "pass what the user says"),
        ([result("c1")], r"messages\[0\] has a result of 'c1'"),
        (["hi", CALLING, result("c2")], r"messages\[2\] has a result of 'c2'.* pass the ModelTurn"),
        (["hi", CALLING, result("c1"), result("c1")], r"messages\[3\]"),
        (["hi", CALLING, ModelTurn(dialect="openai-chat", text="Hm."), result("c1")], r"messages\[3\]"),
        (sh.UserMessage(content="hi"), r"one UserMessage; put it in brackets"),
        ([{"role": "user", "content": "hi"}], r"messages\[0\] must be a string or a message .* not dict"),
        ({"role": "user"}, "must be a string or a list of messages, not dict"),
        (7, "must be a string or a list of messages, not int"),
    ],
)
async def test_what_says_nothing_starts_no_run(desk: Desk, open_desk: Any, messages: Any, said: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(sh.ConfigError, match=said):
        async for _ in sh.run(engine, model=ScriptedModel(["Hello."]), caller=desk.alice, messages=messages):
            pass
    assert await engine.runs.list(by=desk.alice) == []


@pytest.mark.parametrize(
    "messages",
    ["hi", ["", "hi"], ("hi",), ["hi", CALLING, result("c1")], ["hi", CALLING, "and", result("c1"), "now?"]],
)
async def test_what_says_something_starts_one(desk: Desk, open_desk: Any, messages: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    run = sh.run(engine, model=ScriptedModel(["Hello."]), caller=desk.alice, messages=messages)
    assert ended([event async for event in run]) == ("completed", "Hello.")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"messages": None}, sh.ConfigError),
        ({"messages": None, "run_id": "nope"}, sh.NotFoundError),
    ],
)
async def test_what_cannot_be_run_says_why(desk: Desk, open_desk: Any, options: Any, error: type[Exception]) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(error):
        async for _ in sh.run(engine, model=ScriptedModel([]), caller=desk.alice, **options):
            pass
