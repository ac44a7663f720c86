"""On whose behalf a call runs, through every hop: nobody but the application says it."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

import surehand as sh
from surehand.providers import PROVIDERS
from surehand.spec import DATA_SOURCES, RUNTIME_SOURCES
from tests.desk import Desk, pay_call, pay_tool

TENANT = "sentinel-tenant-7731"
ANN = sh.Caller(
    id="sentinel-person-9920", tenant=TENANT, roles=["clerk"], agent="sentinel-agent-1", environment="prod-55"
)
FACTS = {"tenant_id": "tenant", "who": "caller.id", "bot": "agent", "place": "environment"}


def filing(desk: Desk, **fields: Any) -> sh.Tool:
    """A tool that is given every fact of its caller."""

    def note(**given: Any) -> str:
        desk.done.append(given)
        return "filed"

    schema = {"type": "object", "properties": {"no": {"type": "integer"}}, "required": ["no"]}
    given: Any = {"key": ("no",), **fields}
    spec = sh.ToolSpec(name="file", description="Files a paper.", parameters=schema, injected=FACTS, **given)
    return sh.bind_tool(spec, note)


CALL = sh.ToolCall(id="c1", name="file", arguments={"no": 1})
SAID = {"no": 1, "tenant_id": TENANT, "who": ANN.id, "bot": ANN.agent, "place": ANN.environment}


@pytest.mark.parametrize("source", DATA_SOURCES + RUNTIME_SOURCES)
@pytest.mark.parametrize("by", ["model", "hook"])
async def test_nobody_writes_what_is_injected(desk: Desk, open_desk: Any, source: str, by: str) -> None:
    def note(no: int, secret_name: Any) -> str:
        desk.done.append(secret_name)
        return "filed"

    async def note_async(no: int, secret_name: Any) -> str:
        return note(no, secret_name)

    schema = {"type": "object", "properties": {"no": {"type": "integer"}}, "required": ["no"]}
    calls = ("file",) if source == "tools" else ()
    spec = sh.ToolSpec(
        name="file", description="Files.", parameters=schema, injected={"secret_name": source}, key=("no",), calls=calls
    )
    engine: sh.Engine = await open_desk(sh.bind_tool(spec, note_async))
    forged = {"no": 1, "secret_name": "evil"}
    if by == "hook":
        engine.hook("tool.pre")(lambda call: sh.Modify(forged))
    call = msgspec.structs.replace(CALL, arguments=forged if by == "model" else {"no": 1})
    result = await engine.call(call, ANN)
    assert (result.error and result.error.code, desk.done) == ("TOOL_ARGUMENT_INVALID", [])
    assert TENANT not in str(result)


async def test_what_is_injected_is_in_no_export_and_no_error(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(filing(desk))
    view = await engine.view(ANN)
    exported = [sh.export(view, name, strict=strict) for name in PROVIDERS for strict in (False, True)]
    wrong = [
        await engine.call(msgspec.structs.replace(CALL, arguments=arguments), ANN)
        for arguments in ({"no": "x"}, {}, {"no": 1, "more": 2}, '{"no": ', {"no": 1, "tenant_id": "t2"})
    ]
    missing = await engine.call(sh.ToolCall(id="c", name="fil"), ANN)
    assert all(one.is_error for one in (*wrong, missing))
    said = str([exported, missing, *wrong[:-1]])
    for word in (*FACTS, TENANT, ANN.id, ANN.agent, ANN.environment):
        assert word not in said
    assert TENANT not in str(wrong[-1])


async def test_an_approver_sees_what_is_injected_apart(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(filing(desk, risk="high"))
    await engine.call(CALL, ANN)
    boss = sh.Caller(id="boss", tenant=TENANT, roles=["approver"])
    (question,) = await engine.approvals.list(by=boss)
    assert question.arguments == {"no": 1}
    assert question.injected == {name: value for name, value in SAID.items() if name != "no"}


async def test_a_hook_changes_nothing_but_by_its_answer(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(filing(desk))
    other = sh.Caller(id="mallory", tenant="evil")

    @engine.hook("tool.pre")
    def meddle(call: sh.Proposed) -> None:
        call.arguments["no"] = 99
        call.arguments["tenant_id"] = "evil"
        with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
            call.caller = other  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(dataclasses.FrozenInstanceError):
            call.caller.tenant = "evil"  # pyright: ignore[reportAttributeAccessIssue]

    result = await engine.call(CALL, ANN)
    assert (result.status, desk.done) == ("ok", [SAID])


async def test_the_person_is_the_same_through_every_hop(desk: Desk, open_desk: Any) -> None:
    """A handler that wants to call as somebody else calls as its caller; so does what it calls, and its undo."""
    mallory = sh.Caller(id="mallory", tenant="evil", roles=["admin"], scopes=["all"])

    async def outer(context: sh.CallContext, json: str) -> str:
        forged = dataclasses.replace(context, caller=mallory)
        return (await forged.tools.call("middle")).content

    async def middle(context: sh.CallContext, json: str) -> str:
        desk.done.append((context.tenant, context.caller.id))
        forged = await context.tools.call("file", {"no": 1, "tenant_id": "evil"})
        return f"{forged.status}; {(await context.tools.call('file', {'no': 1})).content}"

    def spec(name: str, calls: str) -> sh.ToolSpec:
        return sh.ToolSpec(name=name, description="Goes on.", idempotency="safe_retry", calls=(calls,))

    def back(arguments: dict[str, Any], result: Any, key: str) -> str:
        desk.done.append(arguments)
        return "taken back"

    file = dataclasses.replace(filing(desk), undo=back)
    tools = [sh.raw_tool(spec("outer", "middle"), outer), sh.raw_tool(spec("middle", "file"), middle), file]
    engine: sh.Engine = await open_desk(*tools)
    result = await engine.call(sh.ToolCall(id="c", name="outer"), ANN)
    assert result.content == "error; filed"
    assert desk.done == [(TENANT, ANN.id), SAID]
    records = await engine.services.store.list_calls(TENANT)
    assert {one.caller for one in records} == {ANN}
    assert await engine.services.store.list_calls("evil") == []
    filed = next(one for one in records if one.name == "file")
    helper = sh.Caller(id="olga", tenant=TENANT, roles=["operator"])
    undo = await engine.undo(filed.call_id, by=helper, reason="wrong paper")
    record = await engine.services.store.get_call(TENANT, undo.call_id)
    assert record is not None
    assert (undo.status, record.caller, desk.done[-1]) == ("ok", helper, SAID)


class Mixed:
    """A resolver that mixes people up."""

    async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller:
        return sh.Caller(id="root", tenant=stored.tenant, roles=["admin"])


async def test_a_resolver_that_names_somebody_else_lets_nothing_run(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="high"), resolver=Mixed())
    first, second = [await engine.call(pay_call(no), desk.alice) for no in (1, 2)]
    with pytest.raises(sh.ApprovalError, match="alice, who asked, may act no longer"):
        await engine.approvals.edit(first.approval_id or "", changes={"amount": 7}, by=desk.fiona)
    await engine.approvals.approve(second.approval_id or "", by=desk.fiona)
    result = await engine.resume(second.call_id, by=desk.alice)
    assert (result.error and result.error.code, desk.done) == ("POLICY_DENIED", [])
