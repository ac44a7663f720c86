"""Strict schemas: what is said, what is lost, what is refused; and arguments read back by the original."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from surehand.providers import export
from surehand.providers.dialect import Export
from surehand.providers.offering.strict import to_strict
from surehand.providers.profiles.anthropic import ANTHROPIC_STRICT
from surehand.providers.profiles.openai import OPENAI_STRICT
from surehand.schema import compile_parameters
from surehand.schema.nulls import accepts_null
from surehand.testing.dialect_wire import BOX, WrittenCall, spec_of, view_of
from tests.providers.wire import AnthropicWire, OpenAIChatWire

OPENAI, CLAUDE = OPENAI_STRICT, ANTHROPIC_STRICT
NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node", "description": "The next one."}},
    "required": ["value"],
}


def parameters(required: bool = True, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties) if required else []}


def test_C01_the_box() -> None:
    strict = to_strict(BOX, OPENAI)
    assert strict.schema == {
        "type": "object",
        "properties": {
            "tag": {"type": "string"},
            "box": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"w": {"type": ["integer", "null"], "description": "(null leaves it out)"}},
                        "required": ["w"],
                        "additionalProperties": False,
                    },
                    {"type": "null"},
                ],
                "description": "(null leaves it out)",
            },
        },
        "required": ["tag", "box"],
        "additionalProperties": False,
    }
    assert strict.losses == ("other properties than the named ones at the root",)


LOSSLESS = [
    pytest.param({"type": "string", "format": "date", "pattern": "^2"}, id="string"),
    pytest.param({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2}, id="integer"),
    pytest.param({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}, id="array"),
    pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, id="nullable"),
    pytest.param({"type": ["string", "null"]}, id="types"),
    pytest.param({"type": "string", "enum": ["a", "b"]}, id="enum"),
]


@pytest.mark.parametrize("schema", LOSSLESS)
def test_openai_takes_these_as_they_are(schema: dict[str, Any]) -> None:
    strict = to_strict(parameters(x=schema), OPENAI)
    assert (strict.verdict, strict.losses) == ("lossless", ())
    assert strict.schema is not None
    assert strict.schema["properties"] == {"x": schema}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}, id="type-from-enum"),
        pytest.param({"const": 3}, {"type": "integer", "const": 3}, id="type-from-const"),
        pytest.param(
            {"properties": {}, "additionalProperties": False},
            {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
            id="type-from-properties",
        ),
        pytest.param(
            {"title": "T", "description": "D.", "type": "string", "default": "x", "examples": ["a"], "x-mine": 1},
            {"type": "string", "description": 'D. (default "x"; for example "a")'},
            id="annotations",
        ),
        pytest.param(
            {"description": "D.", "allOf": [{"type": "string"}]},
            {"type": "string", "description": "D."},
            id="one-allOf",
        ),
        pytest.param(
            {"type": ["array", "null"], "items": {"type": "string"}, "description": "D."},
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "description": "D."},
            id="array-or-null",
        ),
    ],
)
def test_the_same_in_words_that_openai_takes(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    strict = to_strict(parameters(x=schema), OPENAI)
    assert (strict.verdict, strict.schema and strict.schema["properties"]) == ("lossless", {"x": expected})


@pytest.mark.parametrize(
    ("schema", "openai", "anthropic"),
    [
        pytest.param(
            {"type": "string", "minLength": 3, "maxLength": 9, "description": "A name."},
            "A name. (at least 3 characters; at most 9 characters)",
            "A name. (at least 3 characters; at most 9 characters)",
            id="length",
        ),
        pytest.param({"type": "string", "format": "iri"}, "(format iri)", "(format iri)", id="unknown-format"),
        pytest.param(
            {"type": "string", "pattern": "^(?!x)a"}, "(matches ^(?!x)a)", "(matches ^(?!x)a)", id="look-around"
        ),
        pytest.param({"type": "number", "exclusiveMinimum": 0}, None, "(more than 0)", id="bound"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "minItems": 2}, None, "(at least 2 items)", id="min-items"
        ),
        pytest.param({"type": "array", "items": {"type": "string"}, "minItems": 1}, None, None, id="one-item"),
        pytest.param({"type": "string", "format": "uri"}, "(format uri)", None, id="uri"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "(items all differ)",
            "(items all differ)",
            id="unique",
        ),
    ],
)
def test_what_cannot_be_said_goes_into_the_description(
    schema: dict[str, Any], openai: str | None, anthropic: str | None
) -> None:
    for rules, expected in ((OPENAI, openai), (CLAUDE, anthropic)):
        strict = to_strict(parameters(x=schema), rules)
        assert strict.schema is not None
        assert strict.schema["properties"]["x"].get("description") == expected
        assert strict.verdict == ("lossless" if expected is None else "lossy")


def test_one_of_becomes_any_of() -> None:
    strict = to_strict(parameters(x={"oneOf": [{"type": "string"}, {"type": "integer"}]}), OPENAI)
    assert strict.schema is not None
    assert strict.schema["properties"]["x"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert strict.losses == ("`oneOf`, sent as `anyOf` at properties/x",)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        pytest.param(True, "no type at properties/x", id="true"),
        pytest.param({}, "no type", id="empty"),
        pytest.param({"type": "object"}, "any properties", id="free-object"),
        pytest.param({"type": "object", "additionalProperties": {"type": "string"}}, "a map", id="map"),
        pytest.param(
            parameters(a={"type": "string"}) | {"additionalProperties": {"type": "string"}}, "a map", id="rest"
        ),
        pytest.param({"type": "array"}, "no type at properties/x/items", id="array-of-anything"),
        pytest.param({"type": "array", "prefixItems": [{"type": "string"}]}, "prefixItems", id="C47-tuple"),
        pytest.param({"type": "string", "not": {"const": "a"}}, "`not`", id="not"),
        pytest.param({"allOf": [{"type": "string"}, {"minLength": 1}]}, "no type", id="allOf-without-type"),
        pytest.param({"type": "string", "allOf": [{"minLength": 1}]}, "`allOf`", id="allOf"),
        pytest.param({"type": "string", "anyOf": [{"type": "string"}]}, "beside `anyOf`", id="beside-anyOf"),
        pytest.param({"$ref": "#/properties/y"}, "no definition", id="ref-into-properties"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["z"]},
            "without a schema",
            id="unknown-required",
        ),
        pytest.param({"type": ["object", "null"], "enum": [None]}, "`enum` over", id="enum-of-objects"),
    ],
)
@pytest.mark.parametrize("rules", [OPENAI, CLAUDE], ids=["openai", "anthropic"])
def test_what_strict_mode_cannot_say(schema: Any, why: str, rules: Any) -> None:
    strict = to_strict(parameters(x=schema, y={"type": "string"}), rules)
    assert (strict.verdict, strict.schema) == ("unsupported", None)
    assert why in strict.losses[0]


def test_too_much_for_openai() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(10):
        deep = parameters(True, items=deep)
    assert "levels of nesting" in to_strict(deep, OPENAI).losses[0]
    assert to_strict(deep["properties"]["items"], OPENAI).verdict == "lossless"
    many = parameters(x={"type": "integer", "enum": list(range(1001))})
    assert "1001 values in `enum`" in to_strict(many, OPENAI).losses[0]
    wide = parameters(True, **{f"p{i}": {"type": "string"} for i in range(5001)})
    assert "too large" in to_strict(wide, OPENAI).losses[0]


def test_references() -> None:
    schema = parameters(first={"$ref": "#/$defs/node"}, second={"$ref": "#/$defs/leaf", "description": "D."})
    schema["$defs"] = {"node": NODE, "leaf": {"type": "string"}}
    strict = to_strict(schema, OPENAI)
    assert strict.verdict == "lossless"
    assert strict.schema is not None
    assert strict.schema["properties"] == {
        "first": {"$ref": "#/$defs/node"},
        "second": {"type": "string", "description": "D."},
    }
    following = strict.schema["$defs"]["node"]["properties"]["next"]
    assert following["anyOf"] == [{"$ref": "#/$defs/node"}, {"type": "null"}]
    assert to_strict(schema, CLAUDE).losses == ("a schema that refers to itself at properties/first",)
    schema["$defs"]["node"] = parameters(value={"type": "integer"})
    assert to_strict(schema, CLAUDE).verdict == "lossless"


def decoded(sent: Export, wire: Any, arguments: Any) -> Any:
    written = [WrittenCall("c1", next(iter(sent.wire_names)), json.dumps(arguments))]
    (call,) = wire.dialect.decode(wire.response("", written, "tool_calls"), sent).calls
    return json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments


C49: dict[str, Any] = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "x"},
    },
    "required": ["q"],
}


def test_C49_null_is_absent_where_the_original_refuses_it() -> None:
    sent = export(view_of(spec_of("f", deepcopy(C49))), "openai-chat", strict=True)
    function = sent.tools[0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["q", "limit", "tag"]
    assert function["parameters"]["properties"] == {
        "q": {"type": "string"},
        "limit": {"type": ["integer", "null"], "description": "(default 10) (null leaves it out)"},
        "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": '(default "x")'},
    }
    wire = OpenAIChatWire()
    assert decoded(sent, wire, {"q": "a", "limit": None, "tag": None}) == {"q": "a", "tag": None}
    assert decoded(sent, wire, {"q": None, "limit": 3, "tag": "t"}) == {"q": None, "limit": 3, "tag": "t"}
    text = '{"q": "a",  "limit": 1.50}'
    (call,) = wire.dialect.decode(wire.response("", [WrittenCall("c", "f", text)], "stop"), sent).calls
    assert call.arguments == text
    for broken in ('{"q": "a", "limit": null', '{"q": 1, "q": null, "limit": null}'):
        (call,) = wire.dialect.decode(wire.response("", [WrittenCall("c", "f", broken)], "stop"), sent).calls
        assert call.arguments == broken


def test_C49_only_under_strict() -> None:
    sent = export(view_of(spec_of("f", deepcopy(C49))), "openai-chat")
    assert decoded(sent, OpenAIChatWire(), {"q": "a", "limit": None}) == {"q": "a", "limit": None}
    spec = spec_of("f", deepcopy(C49) | {"properties": C49["properties"] | {"m": {"type": "object"}}})
    unsupported = export(view_of(spec), "openai-chat", strict=True)
    assert unsupported.tools[0]["function"]["strict"] is False
    assert decoded(unsupported, OpenAIChatWire(), {"q": "a", "limit": None}) == {"q": "a", "limit": None}
    claude = export(view_of(spec_of("f", deepcopy(C49))), "anthropic", strict=True)
    assert claude.tools[0]["strict"] is True
    assert claude.tools[0]["input_schema"]["required"] == ["q"]
    assert decoded(claude, AnthropicWire(), {"q": "a", "limit": None}) == {"q": "a", "limit": None}


CAT = parameters(kind={"const": "cat"}, lives={"type": "integer"}) | {"required": ["kind"]}
DOG = parameters(kind={"const": "dog"}, lives={"type": ["integer", "null"]}) | {"required": ["kind"]}


@pytest.mark.parametrize(
    ("schema", "given", "restored"),
    [
        pytest.param(
            parameters(required=False, box=parameters(required=False, w={"type": "integer"})),
            {"box": {"w": None}},
            {"box": {}},
            id="nested",
        ),
        pytest.param(
            parameters(rows={"type": "array", "items": parameters(required=False, w={"type": "integer"})}),
            {"rows": [{"w": None}, {"w": 1}]},
            {"rows": [{}, {"w": 1}]},
            id="items",
        ),
        pytest.param(
            parameters(pet={"anyOf": [CAT, DOG]}, other={"anyOf": [CAT, DOG]}),
            {"pet": {"kind": "cat", "lives": None}, "other": {"kind": "dog", "lives": None}},
            {"pet": {"kind": "cat"}, "other": {"kind": "dog", "lives": None}},
            id="alternatives",
        ),
        pytest.param(
            parameters(
                x={
                    "anyOf": [
                        {"type": "array", "items": {"type": "string"}},
                        DOG,
                        parameters(False, w={"type": "null"}),
                        CAT,
                    ]
                }
            ),
            {"x": {"kind": "cat", "lives": None}},
            {"x": {"kind": "cat"}},
            id="the-last-alternative",
        ),
        pytest.param(
            parameters(first={"$ref": "#/$defs/node"}) | {"$defs": {"node": NODE}},
            {"first": {"value": 1, "next": {"value": 2, "next": None}}},
            {"first": {"value": 1, "next": {"value": 2}}},
            id="recursive",
        ),
        pytest.param(
            parameters(required=False, e={"type": "string", "enum": ["a"]}, n={"enum": ["a", None]}),
            {"e": None, "n": None},
            {"n": None},
            id="enums",
        ),
    ],
)
def test_C49_at_any_depth(schema: dict[str, Any], given: Any, restored: Any) -> None:
    sent = export(view_of(spec_of("f", deepcopy(schema))), "openai-chat", strict=True)
    offered = sent.tools[0]["function"]
    assert offered["strict"] is True
    assert compile_parameters(offered["parameters"], "offered").errors(given) == []
    assert decoded(sent, OpenAIChatWire(), given) == restored
    assert compile_parameters(schema, "original").errors(restored) == []


def test_a_root_with_combinators_is_strict_and_restored() -> None:
    schema = parameters(ws={"type": "string"}) | {
        "oneOf": [parameters(text={"type": "string"}), parameters(url={"type": "string"})]
    }
    sent = export(view_of(spec_of("post", schema)), "openai-chat", strict=True)
    assert sent.verdicts == {"post": "lossy"}
    assert sent.tools[0]["function"]["parameters"]["required"] == ["ws", "text", "url"]
    given = decoded(sent, OpenAIChatWire(), {"ws": "1", "text": None, "url": "u"})
    assert given == {"ws": "1", "url": "u"}


@pytest.mark.parametrize(
    ("schema", "accepts"),
    [
        (True, True),
        (False, False),
        ({}, True),
        ({"type": ["integer", "null"]}, True),
        ({"const": None}, True),
        ({"const": 1}, False),
        ({"enum": [1, None]}, True),
        ({"$ref": "#/$defs/text"}, False),
        ({"allOf": [{}, {"type": "string"}]}, False),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"anyOf": [{"type": "string"}]}, False),
        ({"not": {"type": "null"}}, False),
        ({"not": {"type": "string"}}, True),
    ],
)
def test_C49_whether_null_is_accepted(schema: Any, accepts: bool) -> None:
    root = {"$defs": {"text": {"type": "string"}}}
    assert accepts_null(root, schema) is accepts
    whole = {"type": "object", "properties": {"x": schema}, "$defs": root["$defs"]}
    assert compile_parameters(whole, "x").is_valid({"x": None}) is accepts


def test_null_that_is_the_default_stands_for_leaving_out() -> None:
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert to_strict(parameters(False, x={**nullable, "default": None}), OPENAI).verdict == "lossless"
    assert to_strict(parameters(False, x=nullable), OPENAI).verdict == "lossy"
