"""What is down leaves the view of a run, and does not come back within it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import surehand as sh
from surehand.testing import FakeClock, ScriptedModel
from tests.desk import ASK_FINANCE, Desk, pay_tool


async def test_a_tool_leaves_the_run_and_never_flickers_back(desk: Desk, open_desk: Any) -> None:
    down = True

    @sh.tool(read_only=True)
    async def look() -> str:
        """Looks."""
        if down:
            raise sh.Unavailable("down")
        return "seen"

    @sh.tool(read_only=True)
    async def other() -> str:
        """Looks elsewhere."""
        return "elsewhere"

    settings = sh.Settings(limits=sh.Limits(breaker_failures=1))
    engine: sh.Engine = await open_desk(look, other, settings=settings, clock=FakeClock())
    shown: list[tuple[str, ...]] = []

    def names(request: Mapping[str, Any]) -> None:
        shown.append(tuple(sorted(one["function"]["name"] for one in request["tools"])))

    class Watched(ScriptedModel):
        async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
            nonlocal down
            names(request)
            if len(shown) == 3:  # it is well again: whoever asks outside of the run sees it
                down = False
                engine.services.breakers.succeeded("acme", "tool look@1.0.0")
                assert "look" in (await engine.view(desk.alice)).names
            return await super().complete(request)

    model = Watched(
        [
            {"calls": [{"name": "look", "arguments": {}}]},
            {"calls": [{"name": "other", "arguments": {}}]},
            {"calls": [{"name": "look", "arguments": {}}, {"name": "other", "arguments": {}}]},
            {"text": "Done."},
        ]
    )
    events = [event async for event in sh.run(engine, model=model, messages=["go"], caller=desk.alice, stream=False)]
    assert events[-1].data["reason"] == "completed"
    assert shown == [("look", "other"), ("other",), ("other",), ("other",)]
    narrowed = [event.data for event in events if event.kind == "tool.narrowed"]
    assert narrowed == [{"name": "look", "why": "it is unavailable for a while: its last calls failed"}]
    finished = [(e.data["name"], e.data["code"]) for e in events if e.kind == "call.finished"]
    assert finished == [("look", "TOOL_UNAVAILABLE"), ("other", None), ("look", "TOOL_NOT_FOUND"), ("other", None)]


async def test_a_run_waits_with_an_approved_call_for_room(desk: Desk, open_desk: Any) -> None:
    """The yes is not lost: the run goes on when the window is over."""
    rate = sh.Rate(name="slow", tools=("pay",), calls=1, window_s=1)
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=sh.Settings(rates=(rate,)))
    both = [{"name": "pay", "arguments": {"to": "bob", "no": no, "amount": 50_000}} for no in (1, 2)]
    model = ScriptedModel([{"calls": both}, {"text": "Both are paid."}])
    reasons: list[str] = []
    async for event in sh.run(engine, model=model, messages=["go"], caller=desk.alice):
        if event.kind == "run.waiting":
            for approval_id in event.data["approvals"]:
                await engine.approvals.approve(approval_id, by=desk.fiona)
        if event.kind == "run.ended":
            reasons.append(event.data["reason"])
    assert reasons == ["completed"]
    assert sorted(no for _, _, no, _ in desk.done) == [1, 2]
