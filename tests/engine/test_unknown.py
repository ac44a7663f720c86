"""Unknown outcomes: nothing but evidence settles them."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from tests.desk import Desk

OPERATOR = sh.Caller(id="olga", tenant="acme", roles=["operator"])


def lost_tool(desk: Desk, **fields: Any) -> sh.Tool:
    @sh.tool(key=["no"], **fields)
    async def lost(no: int) -> dict[str, int]:
        """Loses its answer the first time."""
        desk.done.append(no)
        if len(desk.done) == 1:
            raise sh.OutcomeUnknown("no answer")
        return {"no": no}

    return lost


CALL = sh.ToolCall(id="c1", name="lost", arguments={"no": 1})


@pytest.mark.parametrize(
    ("evidence", "status", "content", "ran"),
    [
        pytest.param(sh.Done({"no": 1}), "ok", '{"no":1}', 1, id="done"),
        pytest.param(sh.NotDone(), "ok", '{"no":1}', 2, id="not-done-runs-again"),
        pytest.param(sh.StillUnknown(), "unknown", None, 1, id="still-unknown"),
        pytest.param(RuntimeError("down"), "unknown", None, 1, id="check-fails"),
        pytest.param("yes", "unknown", None, 1, id="no-evidence"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_status_check_settles_it(
    desk: Desk, open_desk: Any, evidence: Any, status: str, content: str | None, ran: int, kind: str
) -> None:
    asked: list[tuple[dict[str, Any], str]] = []

    def check(arguments: dict[str, Any], key: str) -> Any:
        asked.append((arguments, key))
        if isinstance(evidence, Exception):
            raise evidence
        return evidence

    async def check_async(arguments: dict[str, Any], key: str) -> Any:
        return check(arguments, key)

    tool = lost_tool(desk, status_check=check if kind == "sync" else check_async)
    engine: sh.Engine = await open_desk(tool)
    first = await engine.call(CALL, desk.alice)
    assert first.status == "unknown"
    again = await engine.call(CALL, desk.alice)
    assert (again.status, len(desk.done)) == (status, ran)
    assert content is None or again.content == content
    assert asked[0][0] == {"no": 1}
    assert asked[0][1]
    if isinstance(evidence, sh.Done):
        assert (again.replayed, again.call_id) == (True, first.call_id)


async def test_an_identical_call_with_another_key_meets_the_open_unknown(desk: Desk, open_desk: Any) -> None:
    @sh.tool()
    async def mail(to: str) -> str:
        """Sends."""
        desk.done.append(to)
        raise sh.OutcomeUnknown

    engine: sh.Engine = await open_desk(mail)
    call = sh.ToolCall(id="c1", name="mail", arguments={"to": "a"})
    first = await engine.call(call, desk.alice, run=sh.RunStep(run_id="r", turn=0))
    second = await engine.call(call, desk.alice, run=sh.RunStep(run_id="r", turn=1))
    assert (first.status, second.status, second.call_id) == ("unknown", "unknown", first.call_id)
    other = sh.ToolCall(id="c1", name="mail", arguments={"to": "b"})
    await engine.call(other, desk.alice, run=sh.RunStep(run_id="r", turn=2))
    assert desk.done == ["a", "b"]


@pytest.mark.parametrize(
    ("outcome", "status", "content"),
    [(sh.Done({"no": 1}), "ok", '{"no":1}'), (sh.NotDone(), "error", "did not have its effect")],
)
async def test_a_person_settles_it_with_evidence(
    desk: Desk, open_desk: Any, outcome: sh.Done | sh.NotDone, status: str, content: str
) -> None:
    engine: sh.Engine = await open_desk(lost_tool(desk))
    first = await engine.call(CALL, desk.alice)
    assert [one.call_id for one in await engine.unknown.list(by=OPERATOR)] == [first.call_id]
    with pytest.raises(sh.NotAllowedError):
        await engine.unknown.resolve(first.call_id, outcome, by=desk.alice, evidence="I guess")
    with pytest.raises(sh.ConfigError, match="evidence is empty"):
        await engine.unknown.resolve(first.call_id, outcome, by=OPERATOR, evidence=" ")
    foreign = sh.Caller(id="olga", tenant="evil", roles=["operator"])
    with pytest.raises(sh.NotFoundError):
        await engine.unknown.resolve(first.call_id, outcome, by=foreign, evidence="seen")
    await engine.unknown.resolve(first.call_id, outcome, by=OPERATOR, evidence="seen in the bank's portal")
    result = await engine.resume(first.call_id, by=desk.alice)
    assert (result.status, content in result.content, len(desk.done)) == (status, True, 1)
    with pytest.raises(sh.NotFoundError, match="not unknown"):
        await engine.unknown.resolve(first.call_id, outcome, by=OPERATOR, evidence="seen again")
    story = await engine.audit.story(first.call_id, by=desk.alice)
    assert any("portal" in step.text for step in story.steps) or "portal" in str(story.facts)


async def test_what_may_be_repeated_is_free_after_a_crash(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], idempotency="idempotency_key")
    async def put(no: int) -> str:
        """Puts."""
        desk.done.append(no)
        raise RuntimeError("half-way")

    engine: sh.Engine = await open_desk(put)
    call = sh.ToolCall(id="c1", name="put", arguments={"no": 1})
    results = [await engine.call(call, desk.alice) for _ in range(2)]
    assert [(result.status, result.error and result.error.code) for result in results] == [("error", "TOOL_ERROR")] * 2
    assert desk.done == [1, 1]
