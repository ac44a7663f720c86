"""Taking back what a call did: a governed call itself, bound to what is stored, at most once."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import surehand as sh
from surehand.spec.undoing import undo_tool
from tests.desk import Desk, pay_call, pay_tool, until

OPERATOR = sh.Caller(id="olga", tenant="acme", roles=["operator"], scopes=["pay"])


def undoable(desk: Desk, *, kind: str = "async", **fields: Any) -> sh.Tool:
    def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        desk.done.append(("back", arguments, result, bool(key)))
        return "paid back"

    async def back_async(arguments: dict[str, Any], result: Any, key: str) -> str:
        return back(arguments, result, key)

    return pay_tool(desk, undo=back if kind == "sync" else back_async, **fields)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_undo_gets_what_is_stored_and_happens_once(desk: Desk, open_desk: Any, kind: str) -> None:
    engine: sh.Engine = await open_desk(undoable(desk, kind=kind))
    events: list[sh.Event] = []
    engine.on_event(events.append)
    paid = await engine.call(pay_call(), desk.alice)
    first = await engine.undo(paid.call_id, by=desk.alice, reason="wrong person")
    again = await engine.undo(paid.call_id, by=desk.alice, reason="said otherwise")
    assert (first.status, first.name, first.content) == ("ok", "pay.undo", "paid back")
    assert (again.call_id, again.replayed) == (first.call_id, True)
    assert desk.done[1:] == [("back", {"to": "bob", "no": 1, "amount": 500}, "paid 500 to bob", True)]
    told = [(e.call_id, e.name, e.data["undo_call_id"]) for e in events if e.kind == "call.undone"]
    assert told == [(paid.call_id, "pay", first.call_id)]


async def test_both_stories_tell_of_it(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk))
    paid = await engine.call(pay_call(), desk.alice)
    undo = await engine.undo(paid.call_id, by=desk.alice, reason="wrong person")
    of_paid = await engine.audit.story(paid.call_id, by=desk.alice)
    of_undo = await engine.audit.story(undo.call_id, by=desk.alice)
    assert (of_paid.status, of_undo.status) == ("ok", "ok")
    assert of_paid.effect == f"the tool ran, and its effect was taken back by call {undo.call_id}"
    assert of_paid.steps[-1].text == f"alice took it back with call {undo.call_id}"
    assert of_undo.facts["undoes"] == paid.call_id


async def test_what_was_taken_back_is_not_told_as_done(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk))
    paid = await engine.call(pay_call(), desk.alice)
    await engine.undo(paid.call_id, by=desk.alice, reason="wrong person")
    again = await engine.call(pay_call(), desk.alice)
    assert again.error is not None
    assert (again.error.code, "was taken back" in again.content) == ("IDEMPOTENCY_CONFLICT", True)
    assert len(desk.done) == 2


@pytest.mark.parametrize(
    ("who", "error"),
    [
        pytest.param(sh.Caller(id="alice", tenant="acme", scopes=["pay"]), None, id="whose-call-it-is"),
        pytest.param(OPERATOR, None, id="operator-with-the-permission"),
        pytest.param(sh.Caller(id="bo", tenant="acme", scopes=["pay"]), sh.NotAllowedError, id="anybody-else"),
        pytest.param(sh.Caller(id="alice", tenant="evil", scopes=["pay"]), sh.NotFoundError, id="other-tenant"),
    ],
)
async def test_who_may_undo(desk: Desk, open_desk: Any, who: sh.Caller, error: type[Exception] | None) -> None:
    engine: sh.Engine = await open_desk(undoable(desk))
    paid = await engine.call(pay_call(), desk.alice)
    if error is None:
        result = await engine.undo(paid.call_id, by=who, reason="wrong")
        record = await engine.services.store.get_call("acme", result.call_id)
        assert (result.status, record and record.caller.id) == ("ok", who.id)
    else:
        with pytest.raises(error):
            await engine.undo(paid.call_id, by=who, reason="wrong")
        assert len(desk.done) == 1


async def test_an_undo_needs_the_permissions_of_the_tool(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk))
    paid = await engine.call(pay_call(), desk.alice)
    lost = sh.Caller(id="alice", tenant="acme")
    result = await engine.undo(paid.call_id, by=lost, reason="wrong")
    assert (result.error and result.error.code, len(desk.done)) == ("TOOL_NOT_FOUND", 1)


BACK = """
@id("back") @approvers("finance") @reason("large payments are taken back by finance")
forbid (principal, action == Action::"call/pay.undo", resource)
when { context.arguments.arguments.amount > 100 && context.arguments.made_by == principal.id };
"""


async def test_policy_reads_what_is_taken_back_and_may_ask(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk), policies=BACK)
    paid = await engine.call(pay_call(), desk.alice)
    waits = await engine.undo(paid.call_id, by=desk.alice, reason="wrong person")
    assert (waits.status, len(desk.done)) == ("pending", 1)
    (question,) = await engine.approvals.list(by=desk.fiona)
    assert question.arguments["arguments"] == {"to": "bob", "no": 1, "amount": 500}
    assert (question.arguments["reason"], question.arguments["call_id"]) == ("wrong person", paid.call_id)
    await engine.approvals.approve(question.approval_id, by=desk.fiona)
    done = await engine.resume(waits.call_id, by=desk.alice)
    assert (done.status, desk.done[1][0]) == ("ok", "back")
    story = await engine.audit.story(paid.call_id, by=desk.alice)
    assert "taken back" in story.effect


async def test_risk_is_that_of_the_tool(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk, risk="medium"))
    waits = await engine.call(pay_call(), desk.alice)
    await engine.approvals.approve(waits.approval_id or "", by=desk.alice)
    paid = await engine.resume(waits.call_id, by=desk.alice)
    assert (await engine.undo(paid.call_id, by=desk.alice, reason="wrong")).status == "pending"


async def test_no_model_and_no_tool_calls_an_undo(desk: Desk, open_desk: Any) -> None:
    @sh.tool(calls=["pay.undo"], idempotency="safe_retry")
    async def outer(*, tools: Annotated[sh.Tools, sh.Injected("tools")]) -> str:
        """Tries."""
        return (await tools.call("pay.undo", {"call_id": "call_x"})).content

    engine: sh.Engine = await open_desk(undoable(desk), outer)
    view = await engine.view(desk.alice)
    assert view.names == ("outer", "pay")
    assert {name: one.reason for name, one in view.hidden.items()} == {"pay.undo": "undoing"}
    forged = {"call_id": "c", "made_by": "alice", "reason": "x", "key": "k", "arguments": {}, "result": ""}
    for name in ("pay.undo", "pay.undo@1.0.0"):
        result = await engine.call(sh.ToolCall(id="c", name=name, arguments=forged), desk.alice)
        assert result.error is not None
        told = f"There is no tool `{name}` here. Tools you can call: `outer`, `pay`."
        assert (result.error.code, result.content) == ("TOOL_NOT_FOUND", told)
    inner = await engine.call(sh.ToolCall(id="c", name="outer"), desk.alice)
    assert "There is no tool `pay.undo` here" in inner.content
    assert desk.done == []


async def test_nobody_changes_what_is_taken_back(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(undoable(desk))
    paid = await engine.call(pay_call(), desk.alice)

    @engine.hook("tool.pre")
    def more(call: sh.Proposed) -> sh.Modify:
        return sh.Modify({**call.arguments, "arguments": {**call.arguments["arguments"], "amount": 9999}})

    result = await engine.undo(paid.call_id, by=desk.alice, reason="wrong")
    assert (result.status, result.error and result.error.code, len(desk.done)) == ("denied", "HOOK_BLOCKED", 1)


@pytest.mark.parametrize(
    ("made", "reason", "message"),
    [
        pytest.param("plain", "wrong", "declares no undo", id="no-undo"),
        pytest.param("ok", "  ", "reason is empty", id="no-reason"),
        pytest.param("lost", "wrong", "is unknown; only a call that is ok", id="unknown"),
    ],
)
async def test_what_cannot_be_undone(desk: Desk, open_desk: Any, made: str, reason: str, message: str) -> None:
    @sh.tool(key=["no"], undo=lambda arguments, result, key: None)
    async def lost(no: int) -> str:
        """Loses."""
        raise sh.OutcomeUnknown

    tool = pay_tool(desk) if made == "plain" else undoable(desk)
    engine: sh.Engine = await open_desk(tool, lost)
    call = sh.ToolCall(id="c", name="lost", arguments={"no": 1}) if made == "lost" else pay_call()
    result = await engine.call(call, desk.alice)
    with pytest.raises(sh.ConfigError, match=message):
        await engine.undo(result.call_id, by=desk.alice, reason=reason)


async def test_an_undo_that_failed_without_effect_may_be_asked_for_again(desk: Desk, open_desk: Any) -> None:
    tries: list[int] = []

    async def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise sh.BusinessError("the bank is closed")
        return "paid back"

    engine: sh.Engine = await open_desk(pay_tool(desk, undo=back))
    paid = await engine.call(pay_call(), desk.alice)
    assert (await engine.undo(paid.call_id, by=desk.alice, reason="wrong")).status == "error"
    assert (await engine.undo(paid.call_id, by=desk.alice, reason="still wrong")).status == "ok"


async def test_an_undo_of_unknown_outcome_is_settled_by_evidence(desk: Desk, open_desk: Any) -> None:
    async def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        desk.done.append("back")
        raise sh.OutcomeUnknown

    engine: sh.Engine = await open_desk(pay_tool(desk, undo=back))
    paid = await engine.call(pay_call(), desk.alice)
    lost = await engine.undo(paid.call_id, by=desk.alice, reason="wrong")
    again = await engine.undo(paid.call_id, by=desk.alice, reason="wrong")
    assert (lost.status, again.status, len(desk.done)) == ("unknown", "unknown", 2)
    await until(lambda: not engine.services.handlers)
    await engine.unknown.resolve(lost.call_id, sh.Done("paid back"), by=OPERATOR, evidence="the bank says so")
    assert "taken back" in (await engine.audit.story(paid.call_id, by=desk.alice)).effect


async def test_secrets_of_the_call_stay_secret_in_its_undo(desk: Desk, open_desk: Any) -> None:
    got: list[str] = []

    async def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        got.append(arguments["pin"])
        return f"used {arguments['pin']}"

    @sh.tool(key=["no"], undo=back)
    async def open_safe(no: int, pin: sh.Secret) -> str:
        """Opens."""
        return "open"

    engine: sh.Engine = await open_desk(open_safe)
    events: list[sh.Event] = []
    engine.on_event(events.append)
    pin = "sentinel-4711-pin"
    call = sh.ToolCall(id="c", name="open_safe", arguments={"no": 1, "pin": pin})
    opened = await engine.call(call, desk.alice)
    result = await engine.undo(opened.call_id, by=desk.alice, reason="wrong")
    story = await engine.audit.story(result.call_id, by=desk.alice)
    assert (got, result.status) == ([pin], "ok")
    assert pin not in f"{result} {story} {events}"


SECRET: dict[str, Any] = {"type": "string", "writeOnly": True}


@pytest.mark.parametrize(
    "says",
    [
        {"properties": {"no": {"type": "integer"}, "code": {"$ref": "#/$defs/Code"}}, "$defs": {"Code": SECRET}},
        {"properties": {"no": {"type": "integer"}, "code": {"$ref": "#/definitions/C"}}, "definitions": {"C": SECRET}},
        {"patternProperties": {"^co": SECRET}},
        {"properties": {"code": {"type": "string"}}, "allOf": [{"properties": {"code": SECRET}}]},
        {"properties": {"code": {"type": "string"}}, "writeOnly": True},
    ],
    ids=["defs", "definitions", "pattern", "all-of", "root"],
)
async def test_however_a_schema_says_what_is_secret_its_undo_knows(
    desk: Desk, open_desk: Any, says: dict[str, Any]
) -> None:
    code, got = "zebra horse 99", list[Any]()
    properties = {"no": {"type": "integer"}, **says.get("properties", {})}
    parameters = {"type": "object", "required": ["no"], **says, "properties": properties}
    spec = sh.ToolSpec(name="wire", description="Wires money.", key=("no",), parameters=parameters)

    def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        got.append(arguments["code"])
        return "taken back"

    def wire(**arguments: Any) -> str:
        return "wired"

    ask = """@id("undo") @approvers("finance") forbid (principal, action == Action::"call/wire.undo", resource);"""
    engine: sh.Engine = await open_desk(sh.bind_tool(spec, wire, undo=back), policies=ask)
    wired = await engine.call(sh.ToolCall(id="c", name="wire", arguments={"no": 1, "code": code}), desk.alice)
    waiting = await engine.undo(wired.call_id, by=desk.alice, reason="wrong")
    shown = await engine.approvals.approve(waiting.approval_id or "", by=desk.fiona)
    done = await engine.resume(waiting.call_id, by=desk.alice)
    assert (done.content, got) == ("taken back", [code])
    assert code not in f"{shown} {await engine.audit.story(waiting.call_id, by=desk.alice)}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"read_only": True}, "has no effect"),
        ({"idempotency": "irreversible"}, "nobody can take its effect back"),
        ({"undo": lambda: None}, r"must take \(arguments, result, key\)"),
    ],
)
def test_refused_undos(fields: dict[str, Any], message: str) -> None:
    given: Any = {"undo": lambda arguments, result, key: None, **fields}

    @sh.tool(**given)
    async def act() -> str:
        """Acts."""
        return ""

    with pytest.raises(sh.SpecError, match=message):
        undo_tool(act)


def test_an_undo_has_its_name_for_itself(desk: Desk) -> None:
    @sh.tool(name="pay_undo")
    async def other() -> str:
        """Is there already."""
        return ""

    registry = sh.Registry()
    registry.register(other)
    with pytest.raises(sh.RegistryError, match="pay_undo"):
        registry.register(undoable(desk))
