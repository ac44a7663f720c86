"""Laws that hold for every format: any schema's export, any arguments' way back, any transcript."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surehand.call import ToolCall
from surehand.providers import (
    CallResult,
    Media,
    Message,
    ModelTurn,
    Profile,
    ResultMessage,
    SystemMessage,
    UserMessage,
)
from surehand.schema.keywords import Schema, walk
from surehand.spec.places import follow
from surehand.testing.dialect_wire import WireFormat, WrittenCall, spec_of, view_of
from tests.providers.accepting import ACCEPTED
from tests.providers.test_contract import WIRES

pytestmark = pytest.mark.timeout(120)
EVERY = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.dialect.profile.name)
PLAIN = [wire for wire in WIRES if wire.dialect.profile.schema == "json-schema"]
EVERY_PLAIN = pytest.mark.parametrize("wire", PLAIN, ids=lambda wire: wire.dialect.profile.name)
SLOW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
NAMES = st.sampled_from(["a", "b", "of", "$top", "filter[id]", "Account Number", "k" * 70, "é"])
COMBINATORS = {"anyOf", "oneOf", "allOf"}

# -- schemas with a value that each accepts --------------------------------------------------------


@st.composite
def pairs(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Any]:
    """A schema, and a value of it."""
    kinds = ["string", "integer", "boolean", "enum", "nullable", "bounded"]
    kind = draw(st.sampled_from([*kinds, "object", "array"] if depth else kinds))
    match kind:
        case "string":
            return {"type": "string", "description": draw(st.sampled_from(["", "Text."]))}, draw(st.text(max_size=5))
        case "integer":
            return {"type": "integer"}, draw(st.integers(-5, 5))
        case "boolean":
            return {"type": "boolean"}, draw(st.booleans())
        case "enum":
            return {"enum": ["x", "y", "z"]}, draw(st.sampled_from(["x", "y", "z"]))
        case "nullable":
            return {"type": ["string", "null"]}, draw(st.none() | st.text(max_size=3))
        case "bounded":
            return {"type": "integer", "minimum": 0, "maximum": 9, "default": 3}, draw(st.integers(0, 9))
        case "array":
            items, _ = draw(pairs(depth - 1))
            return {"type": "array", "items": items, "maxItems": 3}, []
        case _:
            return draw(objects(depth))


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Any]:
    """An object's schema and a value; an optional property that may be null is always there."""
    found = {name: draw(pairs(depth - 1)) for name in draw(st.lists(NAMES, unique=True, max_size=4))}
    required = [name for name in found if draw(st.booleans())]
    schema: Schema = {"type": "object", "properties": {name: sub for name, (sub, _) in found.items()}}
    if required:
        schema["required"] = required
    there = {
        name: value
        for name, (sub, value) in found.items()
        if name in required or "null" in sub.get("type", ()) or draw(st.booleans())
    }
    return schema, there


@st.composite
def odd(draw: st.DrawFn) -> Schema:
    """Schemas with all that providers refuse, at the root and below it."""
    schema, _ = draw(objects())
    for name in draw(st.lists(NAMES, unique=True, max_size=2)):
        schema["properties"][name] = draw(
            st.sampled_from(
                [
                    {"type": "object", "additionalProperties": {"type": "integer"}},
                    {"oneOf": [{"type": "string", "pattern": "(?=a)b"}, {"type": "integer", "multipleOf": 2}]},
                    {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
                    {"not": {"type": "string"}},
                    {"$ref": "#/$defs/tree"},
                    {"type": "string", "minLength": 2, "format": "uri", "default": "ab"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
                    {"const": {"deep": [1]}},
                    True,
                ]
            )
        )
    schema["$defs"] = {
        "tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    }
    if draw(st.booleans()):
        schema["anyOf"] = [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]
    return schema


# -- what a provider's rules say of an export --------------------------------------------------------


def check(parameters: Schema, profile: Profile, *, strict: bool) -> None:
    """The rules of `profiles`, written once more, from the outside."""
    assert parameters["type"] == "object"
    assert not profile.root_forbids & parameters.keys()
    for _, node in walk(parameters):
        assert "$ref" not in node or follow(parameters, node["$ref"]) is not None
        for name in node.get("properties", {}):
            pattern = profile.property_whole
            assert pattern is None or (len(name) <= profile.property_max and re.fullmatch(pattern, name))
        if strict and profile.strict is not None:
            check_strict(node, profile)


def check_strict(node: Schema, profile: Profile) -> None:
    """One node of a schema that the provider is to hold the model to."""
    rules = profile.strict
    assert rules is not None
    refused = {
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "oneOf",
        "allOf",
    }
    assert not refused & node.keys()
    if "properties" in node or node.get("type") == "object":
        assert node["additionalProperties"] is False
        names = set(node.get("properties", {}))
        assert set(node.get("required", [])) == names if rules.all_required else set(node.get("required", [])) <= names
    limits = {
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "multipleOf",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
    }
    assert limits & node.keys() <= rules.keeps
    assert node.get("format") is None or node["format"] in rules.formats
    assert rules.keeps_default or "default" not in node


@SLOW
@given(odd(), odd(), st.booleans())
@EVERY_PLAIN
def test_any_export_keeps_the_rules(wire: WireFormat, one: Schema, other: Schema, strict: bool) -> None:
    view = view_of(spec_of("one", one), spec_of("other", other), spec_of("third"))
    export = wire.dialect.export(view, strict=strict)
    profile = wire.dialect.profile
    tools = wire.tools(export)
    assert {tool.name for tool in tools} == {"one", "other", "third"}
    for tool in tools:
        check(tool.parameters, profile, strict=tool.strict)
        assert tool.strict is False or export.verdicts[tool.name] != "unsupported"
    ACCEPTED[profile.name](wire.dialect.request([UserMessage(content="go")], export))
    again = type(wire.dialect)(profile).export(view, strict=strict)  # pyright: ignore[reportCallIssue]
    assert json.dumps(again.tools) == json.dumps(export.tools)


# -- arguments there and back ----------------------------------------------------------------------------


def as_told(value: Any, schema: Schema, aliases: dict[str, str], *, nulls: bool) -> Any:
    """Arguments as a model writes them that follows the exported schema."""
    if not isinstance(value, dict):
        return value
    given, properties = cast("dict[str, Any]", value), cast("dict[str, Any]", schema["properties"])
    written: dict[str, Any] = {}
    for name, sub in properties.items():
        if name in given:
            written[aliases.get(name, name)] = as_told(given[name], sub, aliases, nulls=nulls)
        elif nulls:
            written[aliases.get(name, name)] = None
    return written


@SLOW
@given(objects(), st.booleans())
@EVERY_PLAIN
def test_arguments_come_back_as_they_were_meant(wire: WireFormat, drawn: tuple[Schema, Any], strict: bool) -> None:
    schema, value = drawn
    assert jsonschema_rs.is_valid(schema, value)
    export = wire.dialect.export(view_of(spec_of("f", schema)), strict=strict)
    (tool,) = wire.tools(export)
    restoration = export.restorations.get("f")
    aliases: dict[str, str] = {real: wired for wired, real in restoration.names.items()} if restoration else {}
    nulls = tool.strict and wire.dialect.profile.strict is not None and wire.dialect.profile.strict.all_required
    written = as_told(value, schema, aliases, nulls=nulls)
    assert jsonschema_rs.is_valid(tool.parameters, written)
    call = WrittenCall("call00001" if wire.dialect.profile.ids else "", tool.name, json.dumps(written))
    turn = wire.dialect.decode(wire.response("", [call], wire.words["tool_calls"]), export)
    arguments = turn.calls[0].arguments
    assert (json.loads(arguments) if isinstance(arguments, str) and arguments else arguments or {}) == value


# -- transcripts --------------------------------------------------------------------------------------------

IDS = st.sampled_from(["", "c1", "c1", "call_" + "x" * 60, "a b/c", "call00001", "é"])
ARGUMENTS = st.sampled_from(["", "{}", '{"a":1}', '{"a": ', "[1]", "null", '{"a":NaN}'])
CALLS = st.lists(
    st.builds(ToolCall, id=IDS, name=st.sampled_from(["f", "g.h", "gone"]), arguments=ARGUMENTS), max_size=3
)
IMAGE = Media(media_type="image/png", data=b"\x89PNG", artifact_id="a1")
RESULTS = st.lists(
    st.builds(
        CallResult,
        tool_call_id=IDS,
        content=st.sampled_from(["", " ", "done"]),
        is_error=st.booleans(),
        media=st.sampled_from([(), (IMAGE,)]),
    ),
    max_size=3,
).map(lambda results: ResultMessage(results=tuple(results)))
TURNS = st.builds(
    lambda calls, text, dialect: ModelTurn(dialect=dialect, text=text, calls=tuple(calls)),
    CALLS,
    st.sampled_from(["", "Hm."]),
    st.sampled_from(["elsewhere", "openai-chat"]),
)
TEXTS = st.sampled_from(["", "go", " \n", "and now?"])
ENTRIES = st.builds(SystemMessage, content=TEXTS) | st.builds(UserMessage, content=TEXTS) | TURNS | RESULTS


@SLOW
@given(st.lists(ENTRIES, max_size=8), st.booleans())
@EVERY
def test_any_transcript_can_be_sent(wire: WireFormat, entries: list[Message], has_tools: bool) -> None:
    messages: list[Message] = [UserMessage(content="start"), *entries]
    before = str(messages)
    export = wire.dialect.export(view_of(*map(spec_of, ("f", "g.h") if has_tools else ())))
    request = wire.dialect.request(messages, export)
    ACCEPTED[wire.dialect.profile.name](request)
    calls = wire.calls(request)
    turns = [message for message in messages if isinstance(message, ModelTurn)]
    assert len(calls) == sum(len(turn.calls) for turn in turns)
    assert [one.id for one in wire.results(request)] == [call.id for call in calls]
    assert all(isinstance(call.arguments, dict) for call in calls)
    ids = [call.id for call in calls]
    assert not wire.dialect.profile.ids or len(set(ids)) == len(ids)
    assert (str(wire.dialect.request(messages, export)), str(messages)) == (str(request), before)
