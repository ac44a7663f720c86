"""Whatever a model answers, it is stored as it is read, or the run says that it cannot be."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import surehand as sh
from tests.agent.raw import Raw, asked, drive, paying, said
from tests.desk import Desk, pay_tool


def used(arguments: Any, stop: str = "tool_use") -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t1", "name": "pay", "input": arguments}
    return {"role": "assistant", "content": [block], "stop_reason": stop, "usage": {}}


def told(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"role": "assistant", "content": content, "stop_reason": "end_turn", "usage": {}}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


ODD: list[Any] = [
    pytest.param("openai-chat", [said("hi \ud83d")], "completed", id="half-a-pair"),
    pytest.param("openai-chat", [said(None, asked('{"to":"\ud800"}')), said("x")], "completed", id="half-in-text"),
    pytest.param(
        "openai-chat", [said(None, asked("{}", name="p\ud800", id="\ud800")), said("x")], "completed", id="id"
    ),
    pytest.param("openai-chat", [said("x", usage={"prompt_tokens": -5})], "completed", id="usage-negative"),
    pytest.param("openai-chat", [said("x", usage={"prompt_tokens": 2**70})], "completed", id="usage-huge"),
    pytest.param("openai-chat", [{"choices": "x"}, {"choices": None}], "degenerate", id="no-choices"),
    pytest.param("openai-chat", [None], "failed", id="nothing"),
    pytest.param("openai-chat", [RuntimeError("odd")], "failed", id="odd-exception"),
    pytest.param("anthropic", [used({"to": "\ud800", "no": 1, "amount": math.nan}), told("x")], "completed", id="both"),
    pytest.param("anthropic", [used(nested(200)), told("x")], "completed", id="deep"),
    pytest.param("anthropic", [used(nested(5000))], "failed", id="too-deep"),
]


@pytest.mark.parametrize(("dialect", "answers", "reason"), ODD)
async def test_odd_answers_end_well(desk: Desk, open_desk: Any, dialect: str, answers: list[Any], reason: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    events = await drive(engine, Raw(*answers, dialect=dialect), desk.alice, run_id="r1", messages=["go"])
    assert events[-1].data["reason"] == reason
    json.dumps([event.data for event in events], ensure_ascii=False).encode()
    assert (await engine.runs.get("r1", by=desk.alice)).status == "ended"
    assert desk.done == []


@pytest.mark.parametrize("resumed", [False, True])
async def test_numbers_that_json_has_not_are_refused_live_and_resumed(
    desk: Desk, open_desk: Any, resumed: bool
) -> None:
    @sh.tool(permissions=["pay"], key=["to"])
    async def pay(to: str, limit: float | None = None) -> str:
        """Pays."""
        desk.done.append((to, limit))
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    model = Raw(used({"to": "b", "limit": math.nan}), told("x"), dialect="anthropic")
    run = sh.run(engine, model=model, caller=desk.alice, run_id="r1", messages=["go"], stream=False)
    async for event in run:
        if resumed and event.kind == "turn.finished":
            break
    await run.aclose()
    if resumed:
        await drive(engine, model, desk.alice, run_id="r1")
    assert desk.done == []
    assert "NaN" in json.dumps(model.requests[-1]["messages"][-1])


async def test_the_halves_of_a_character_are_told_together(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    events: list[Any] = [
        {"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in ("Done \ud83d", "\ude00", "!")
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    heard = await drive(engine, Raw(events), desk.alice, run_id="r1", messages=["go"], stream=True)
    assert [event.data["text"] for event in heard if event.kind == "text"] == ["Done ", "\U0001f600", "!"]
    assert heard[-1].data["text"] == "Done \U0001f600!"


async def test_messages_are_cleaned_and_one_may_be_a_string(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = Raw(said("x"))
    await drive(engine, model, desk.alice, messages="hi \ud800")
    assert model.requests[0]["messages"] == [{"role": "user", "content": "hi \ufffd"}]


@pytest.mark.parametrize("run_id", ["", "a\x00b", "\ud800", "x" * 10_000])
async def test_ids_that_cannot_be_stored_are_refused(desk: Desk, open_desk: Any, run_id: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(sh.ConfigError, match="run_id"):
        await drive(engine, Raw(said("x")), desk.alice, run_id=run_id, messages=["go"])


async def test_reasons_hold_no_secret(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    key = "sk-ant-api03-" + "Ab1" * 20
    model = Raw(*(sh.ModelFailure(f"key {key}", retryable=retryable) for retryable in (True, False)))
    bounds = sh.Bounds(model_wait_s=0.001)
    events = await drive(engine, model, desk.alice, messages=["go"], bounds=bounds)
    odd = await drive(engine, Raw(ValueError(key)), desk.alice, messages=["go"])
    whys = [event.data["why"] for event in [*events, *odd] if "why" in event.data]
    assert len(whys) == 3
    assert not [why for why in whys if "Ab1Ab1" in why]


async def test_more_tools_than_the_provider_takes_are_found_by_search(desk: Desk, open_desk: Any) -> None:
    def tool(n: int) -> sh.Tool:
        @sh.tool(name=f"t{n}", read_only=True)
        async def one() -> str:
            """One of many."""
            return ""

        return one

    settings = sh.Settings(limits=sh.Limits(view_tools=500))
    engine: sh.Engine = await open_desk(*(tool(n) for n in range(129)), settings=settings)
    model = Raw(said("x"))
    events = await drive(engine, model, desk.alice, run_id="r1", messages=["use t7"])
    assert events[-1].data["reason"] == "completed"
    offered = [one["function"]["name"] for one in model.requests[0]["tools"]]
    assert offered == ["search_tools", "t7"]


async def test_a_stored_call_is_never_made_of_another_version(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    model = Raw(said(None, paying(1), paying(2, name="pay@2.0.0")))
    run = sh.run(engine, model=model, caller=desk.alice, run_id="r1", messages=["go"], stream=False)
    async for event in run:
        if event.kind == "turn.finished":
            break
    await run.aclose()
    await engine.close()
    other: sh.Engine = await open_desk(pay_tool(desk, version="2.0.0"))
    events = await drive(other, Raw(said("x")), desk.alice, run_id="r1")
    assert [event.data["code"] for event in events if event.kind == "call.finished"] == ["TOOL_NOT_FOUND"] * 2
    assert desk.done == []


async def test_a_newer_version_that_one_may_not_see_hides_no_pinned_one(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))

    @engine.hook("tool.post")
    def publish(call: sh.Proposed, result: sh.ToolResult) -> None:
        if len(engine.registry.list_versions("pay")) == 1:
            engine.registry.replace(pay_tool(desk, version="2.0.0", permissions=["more"]))

    model = Raw(said(None, paying(1)), said(None, paying(2)), said("x"))
    await drive(engine, model, desk.alice, messages=["go"])
    assert [no for _, _, no, _ in desk.done] == [1, 2]
    assert all("tools" in request for request in model.requests)
