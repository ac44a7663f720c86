"""Faults with arguments that engines like this one really had. Each test has the id of its case in its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from tests.cases.test_cases import ask_all
from tests.desk import Desk

STRICT = sh.Settings(arguments="strict")
LENIENT = sh.Settings(arguments="lenient")
ANY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


def noting(desk: Desk, parameters: dict[str, Any], **fields: Any) -> sh.Tool:
    """A tool that notes exactly what it was given."""

    def handler(context: sh.CallContext, text: str) -> str:
        desk.done.append(json.loads(text))
        return "ran"

    given: Any = {"read_only": True, **fields}
    return sh.raw_tool(sh.ToolSpec(name="note", description="Notes.", parameters=parameters, **given), handler)


async def call(engine: sh.Engine, desk: Desk, arguments: Any) -> sh.ToolResult:
    return await engine.call(sh.ToolCall(id="m1", name="note", arguments=arguments), desk.alice)


def code_of(result: sh.ToolResult) -> str | None:
    return None if result.error is None else result.error.code


# -- C08: nothing means no arguments ---------------------------------------------------------------


@pytest.mark.parametrize("settings", [None, STRICT, LENIENT], ids=["exact", "strict", "lenient"])
@pytest.mark.parametrize("arguments", ["", "  \n", "null", "{}", {}])
async def test_C08_no_arguments(desk: Desk, open_desk: Any, arguments: Any, settings: sh.Settings | None) -> None:
    needs = {"type": "object", "properties": {"tz": {"type": "string"}}, "required": ["tz"]}
    engine = await open_desk(noting(desk, {"type": "object", "properties": {}}), settings=settings)
    assert (await call(engine, desk, arguments)).status == "ok"
    assert desk.done == [{}]
    asking = await open_desk(noting(desk, needs), settings=settings, store=f"sqlite:///{desk.folder / 'other.db'}")
    result = await call(asking, desk, arguments)
    assert (code_of(result), desk.done) == ("TOOL_ARGUMENT_INVALID", [{}])
    assert "tz" in result.content


# -- C12: several objects, however they are spelled ------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    ['{"e":"X","r":1}{"e":"X","r":2}', '{"a":1}{"a":', "{'e':'X'}{'e':'Y'}", "{'a':1}\n{'a':", "{'a':1}```"],
)
async def test_C12_glued_arguments_stay_refused_where_text_may_be_loose(
    desk: Desk, open_desk: Any, arguments: str
) -> None:
    engine = await open_desk(noting(desk, ANY), settings=LENIENT)
    result = await call(engine, desk, arguments)
    assert (code_of(result), result.tool_call_id, desk.done) == ("ARGUMENTS_NOT_JSON", "m1", [])
    assert ("several JSON values" in result.content) == ("```" not in arguments)


# -- C14: JSON text where an object or array is declared -------------------------------------------

C14: dict[str, Any] = {
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"type": "object"}},
        "note": {"type": "string"},
        "any": {"anyOf": [{"type": "string"}, {"type": "array"}]},
    },
}
WRITTEN = {"files": '[{"p":"a"}]', "note": '{"x":1}', "any": "[1]"}
READ = {"files": [{"p": "a"}], "note": '{"x":1}', "any": "[1]"}
LISTED = """
@id("one-file") @approvers("finance") forbid (principal, action == Action::"call/note", resource)
when { context.arguments has files };
@id("exact") forbid (principal, action == Action::"call/note", resource)
unless { context.arguments has note && context.arguments.note == "{\\"x\\":1}" };
"""


@pytest.mark.parametrize("settings", [None, LENIENT], ids=["exact", "lenient"])
async def test_C14_policy_approver_audit_and_tool_see_one_value(
    desk: Desk, open_desk: Any, settings: sh.Settings | None
) -> None:
    engine: sh.Engine = await open_desk(
        noting(desk, C14, read_only=False, key=["note"]), policies=LISTED, settings=settings
    )
    waiting = await call(engine, desk, json.dumps(WRITTEN))
    assert waiting.approval_id is not None
    pending = await engine.approvals.get(waiting.approval_id, by=desk.fiona)
    assert pending.arguments == READ
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [READ]
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert story.arguments == READ
    assert story.coercions == (["$.files", "str", "list"],)


async def test_C14_a_policy_reads_the_array_and_not_its_text(desk: Desk, open_desk: Any) -> None:
    schema = {**C14, "properties": {**C14["properties"], "files": {"type": "array", "items": {"type": "string"}}}}
    secret = """
@id("no-shadow") forbid (principal, action == Action::"call/note", resource)
when { context.arguments has files && context.arguments.files.contains("/etc/shadow") };
"""
    engine = await open_desk(noting(desk, schema), policies=secret)
    denied = await call(engine, desk, {"files": '["/etc/shadow"]'})
    assert (denied.status, desk.done) == ("denied", [])
    assert (await call(engine, desk, {"files": '["/etc/hosts"]'})).status == "ok"


async def test_C14_strict_says_what_was_given_and_what_is_declared(desk: Desk, open_desk: Any) -> None:
    engine = await open_desk(noting(desk, C14), settings=STRICT)
    result = await call(engine, desk, json.dumps(WRITTEN))
    assert (code_of(result), desk.done) == ("TOOL_ARGUMENT_INVALID", [])
    assert "$.files: expected an array, got the string" in result.content
    assert "$.note" not in result.content
    assert "$.any" not in result.content
    assert (await call(engine, desk, READ)).status == "ok"


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"type": "integer"}, "5", 'expected an integer, got the string "5"'),
        ({"type": "boolean"}, "true", 'expected true or false, got the string "true"'),
        ({"type": "object"}, "{}", 'expected an object, got the string "{}"'),
        ({"type": "integer"}, None, "expected an integer, got null"),
    ],
)
async def test_C14_strict_coerces_nothing(desk: Desk, open_desk: Any, schema: Any, value: Any, says: str) -> None:
    parameters = {"type": "object", "properties": {"x": schema}}
    engine = await open_desk(noting(desk, parameters), settings=STRICT)
    result = await call(engine, desk, {"x": value})
    assert (code_of(result), desk.done) == ("TOOL_ARGUMENT_INVALID", [])
    assert says in result.content


@pytest.mark.parametrize(
    "text", ['[{"p":"a","p":"b"}]', '[{"p":"a"', '[{"p":NaN}]', "[{'p':'a'}]", '[{"__entity":{}}]', '{"p":"a"}']
)
async def test_C14_inner_text_is_read_strictly_under_every_setting(desk: Desk, open_desk: Any, text: str) -> None:
    engine = await open_desk(noting(desk, C14), settings=LENIENT)
    result = await call(engine, desk, {"files": text})
    assert (code_of(result), desk.done) == ("TOOL_ARGUMENT_INVALID", [])


# -- C49: null for an optional argument ------------------------------------------------------------


def finding(desk: Desk) -> sh.Tool:
    @sh.tool(read_only=True)
    def find(q: str, limit: int = 10, tag: str | None = "x") -> str:
        """Finds."""
        desk.done.append((q, limit, tag))
        return "found"

    return find


async def test_C49_null_is_the_default_where_it_is_refused_and_null_where_it_is_not(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(finding(desk), settings=sh.Settings(read_only_records="before"))
    found = await engine.call(
        sh.ToolCall(id="1", name="find", arguments={"q": "a", "limit": None, "tag": None}), desk.alice
    )
    assert (found.status, desk.done) == ("ok", [("a", 10, None)])
    story = await engine.audit.story(found.call_id, by=desk.alice)
    assert story.coercions == (["$.limit", "null", "absent"],)
    assert story.arguments == {"q": "a", "limit": 10, "tag": None}
    refused = await engine.call(sh.ToolCall(id="2", name="find", arguments={"q": None}), desk.alice)
    assert code_of(refused) == "TOOL_ARGUMENT_INVALID"
    assert "$.q: expected a string, got null" in refused.content


# -- C51: numbers that are none --------------------------------------------------------------------


@pytest.mark.parametrize("settings", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize("arguments", ['{"x":NaN}', '{"x":1e400}', '{"x":-Infinity}', "{'x':NaN}", "{'x':-1e400,}"])
async def test_C51_no_such_number_reaches_a_tool_under_any_setting(
    desk: Desk, open_desk: Any, arguments: str, settings: sh.Settings
) -> None:
    engine = await open_desk(noting(desk, ANY), settings=settings)
    result = await call(engine, desk, arguments)
    assert code_of(result) in ("ARGUMENTS_NOT_JSON", "TOOL_ARGUMENT_INVALID")
    assert desk.done == []


# -- C52: loose JSON -------------------------------------------------------------------------------

LOOSE = [
    pytest.param("{\"on\": True, 'who': None}", {"on": True, "who": None}, id="B"),
    pytest.param('{"items": [{"a": true}],}', {"items": [{"a": True}]}, id="C"),
    pytest.param('{"t":"line1\nline2"}', {"t": "line1\nline2"}, id="D"),
]


@pytest.mark.parametrize(("arguments", "read"), LOOSE)
@pytest.mark.parametrize("settings", [None, STRICT], ids=["exact", "strict"])
async def test_C52_loose_text_is_refused(
    desk: Desk, open_desk: Any, arguments: str, read: Any, settings: sh.Settings | None
) -> None:
    engine = await open_desk(noting(desk, ANY), settings=settings)
    assert code_of(await call(engine, desk, arguments)) == "ARGUMENTS_NOT_JSON"
    assert desk.done == []


@pytest.mark.parametrize(("arguments", "read"), LOOSE)
async def test_C52_lenient_reads_it_and_says_so(desk: Desk, open_desk: Any, arguments: str, read: Any) -> None:
    engine: sh.Engine = await open_desk(noting(desk, ANY, read_only=False), policies=ask_all("note"), settings=LENIENT)
    asked = sh.ToolCall(id="m1", name="note", arguments=arguments)
    waiting = await engine.call(asked, desk.alice, idempotency_key="k")
    assert waiting.approval_id is not None
    assert (await engine.approvals.get(waiting.approval_id, by=desk.fiona)).arguments == read
    strictly = sh.ToolCall(id="m2", name="note", arguments=json.dumps(read))
    assert (await engine.call(strictly, desk.alice, idempotency_key="k")).approval_id == waiting.approval_id
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [read]
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert story.liberties
    assert story.coercions == ()


async def test_C52_what_was_json_is_not_called_loose(desk: Desk, open_desk: Any) -> None:
    settings = sh.Settings(arguments="lenient", read_only_records="before")
    engine: sh.Engine = await open_desk(noting(desk, ANY), settings=settings)
    done = await call(engine, desk, '{"a": 1}')
    story = await engine.audit.story(done.call_id, by=desk.alice)
    assert (story.liberties, "liberties" in story.facts) == ((), False)


@pytest.mark.parametrize("settings", [None, STRICT, LENIENT], ids=["exact", "strict", "lenient"])
@pytest.mark.parametrize(
    "arguments", ["__import__('os').system('touch {}')", "{{'a','b'}}", "{{'a': open('{}', 'w')}}"]
)
async def test_C52_nothing_is_run_and_nothing_falls_back_to_no_arguments(
    desk: Desk, open_desk: Any, tmp_path: Path, arguments: str, settings: sh.Settings | None
) -> None:
    made = tmp_path / "made"
    engine = await open_desk(noting(desk, ANY), settings=settings)
    assert code_of(await call(engine, desk, arguments.format(made))) == "ARGUMENTS_NOT_JSON"
    assert (desk.done, made.exists()) == ([], False)


async def test_C52_what_is_refused_quotes_no_secret(desk: Desk, open_desk: Any) -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string", "writeOnly": True}}}
    engine = await open_desk(noting(desk, schema), settings=LENIENT)
    result = await call(engine, desk, "{'password': 'hunter2', oops}")
    assert code_of(result) == "ARGUMENTS_NOT_JSON"
    assert "hunter2" not in result.content
