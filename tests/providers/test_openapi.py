"""Schemas as the OpenAPI subset of `gemini`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand import SpecError
from surehand.providers import dialect
from surehand.providers.formats.gemini import Gemini
from surehand.providers.offering.openapi import OpenApiSchema, to_openapi
from surehand.schema import compile_parameters, compile_schema
from surehand.testing.dialect_wire import spec_of, view_of

SPOKEN = dialect("gemini")

# The facts that the API holds a declaration to; (S) google-genai 3.6.1, (E) the text of errors of the API.
FIELDS = {  # (S) Schema, but those that are not for `parameters`
    *("type", "nullable", "required", "format", "description", "properties", "items", "enum", "anyOf", "minItems"),
    *("maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minimum", "maximum", "pattern"),
}
OF_TYPE = {
    "STRING": {"format", "enum", "minLength", "maxLength", "pattern"},
    "INTEGER": {"format", "minimum", "maximum"},
    "NUMBER": {"format", "minimum", "maximum"},
    "BOOLEAN": set[str](),
    "ARRAY": {"items", "minItems", "maxItems"},
    "OBJECT": {"properties", "required", "minProperties", "maxProperties"},
}
FORMATS = {
    "STRING": {"enum", "date-time"},
    "INTEGER": {"int32", "int64"},
    "NUMBER": {"float", "double"},
}
PROPERTY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


def check(schema: dict[str, Any], level: int = 1) -> None:
    """Refuses what the API would."""
    assert level <= 32
    assert schema.keys() <= FIELDS
    if "anyOf" in schema:
        assert schema.keys() == {"anyOf"}
        assert len(schema["anyOf"]) > 1
        for branch in schema["anyOf"]:
            assert "anyOf" not in branch
            check(branch, level)
        return
    kind = schema["type"]
    assert schema.keys() <= OF_TYPE[kind] | {"type", "nullable", "description"}
    assert schema.get("format", "") in FORMATS.get(kind, set()) | {""}
    assert all(isinstance(one, str) and one for one in schema.get("enum", ["x"]))
    if kind == "ARRAY":
        check(schema["items"], level + 1)
    if "properties" in schema:
        assert schema["properties"]
        assert all(PROPERTY.fullmatch(name) for name in schema["properties"])
        for inner in schema["properties"].values():
            check(inner, level + 1)
    assert set(schema.get("required", [])) <= schema.get("properties", {}).keys()


def check_declaration(declaration: dict[str, Any]) -> None:
    assert declaration.keys() <= {"name", "description", "parameters"}
    assert NAME.fullmatch(declaration["name"])
    types.FunctionDeclaration.model_validate(declaration)
    if "parameters" in declaration:
        assert declaration["parameters"]["type"] == "OBJECT"
        assert declaration["parameters"]["properties"]
        check(declaration["parameters"])


def made(properties: dict[str, Any], **more: Any) -> OpenApiSchema:
    found = to_openapi({"type": "object", "properties": properties, **more})
    if found.schema:
        check(found.schema)
    return found


def one(schema: Any, **more: Any) -> dict[str, Any]:
    """What becomes of a property."""
    return made({"p": schema}, **more).schema["properties"]["p"]


C02: dict[str, Any] = {
    "type": "object",
    "properties": {
        "root": {"$ref": "#/$defs/Node"},
        "hdr": {"type": "object"},
        "alt": {"type": "array", "items": {"$ref": "#/properties/hdr"}},
    },
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}
PING = {"type": "object", "properties": {"host": {"type": "string"}}}


def test_C02_a_cycle_is_cut() -> None:
    began = time.perf_counter()
    export = SPOKEN.export(view_of(spec_of("tree_add", C02), spec_of("ping", PING)))
    assert time.perf_counter() - began < 1
    ping, tree = export.tools[0]["functionDeclarations"]
    assert [ping] == SPOKEN.export(view_of(spec_of("ping", PING))).tools[0]["functionDeclarations"]
    check_declaration(tree)
    assert "$" not in json.dumps(tree)
    parameters = tree["parameters"]["properties"]
    assert parameters["alt"]["items"] == {"type": "OBJECT"}
    kids = parameters["root"]["properties"]["kids"]["items"]["properties"]["kids"]["items"]
    assert kids == {"type": "OBJECT", "description": "more of the same, not written out here"}
    assert export.notes == ("tree_add: `#/$defs/Node` inside itself, written out twice",)
    uncut = compile_parameters(C02, "tree_add")
    deep: dict[str, Any] = {"v": 1}
    for _ in range(4):
        deep = {"kids": [deep]}
    assert uncut.errors({"root": deep})


def test_C03_null_is_said_by_nullable() -> None:
    found = made(
        {
            "a": {
                "type": ["object", "null"],
                "description": "d",
                "properties": {"x": {"type": "string"}},
                "required": ["x"],
                "additionalProperties": False,
            },
            "b": {"anyOf": [{"type": "number"}, {"type": "null"}], "description": "d", "default": None},
            "c": {"type": ["array", "null"], "items": {"type": "string"}},
            "e": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "d"},
        }
    )
    assert found.losses == ()
    assert found.schema["properties"] == {
        "a": {
            "type": "OBJECT",
            "properties": {"x": {"type": "STRING"}},
            "required": ["x"],
            "description": "d",
            "nullable": True,
        },
        "b": {"type": "NUMBER", "description": "d", "nullable": True},
        "c": {"type": "ARRAY", "items": {"type": "STRING"}, "nullable": True},
        "e": {"anyOf": [{"type": "STRING", "description": "d", "nullable": True}, {"type": "INTEGER"}]},
    }


def test_C47_tuples() -> None:
    integers = [{"type": "integer"}] * 4
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}
    found = made(
        {
            "box": {"type": "array", "prefixItems": integers, "minItems": 4, "maxItems": 4},
            "pair": pair,
            "bare": {"type": "array"},
            "none": {"type": "array", "items": False},
            "short": {"prefixItems": [{"type": "boolean"}], "items": False},
        }
    )
    properties = found.schema["properties"]
    assert "prefixItems" not in properties["pair"]
    assert properties["box"] == {"type": "ARRAY", "minItems": 4, "maxItems": 4, "items": {"type": "INTEGER"}}
    described = properties["pair"].pop("description")
    kinds = {"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]}
    assert properties["pair"] == {"type": "ARRAY", "minItems": 2, "maxItems": 2, "items": kinds}
    assert described == '(satisfies {"prefixItems":[{"type":"integer"},{"type":"string"}]})'
    assert len(properties["bare"]["items"]["anyOf"]) == 5
    assert properties["none"]["maxItems"] == 0
    assert properties["short"] == {"type": "ARRAY", "items": {"type": "BOOLEAN"}, "maxItems": 1}
    assert found.losses == (
        "`prefixItems`, said in the description at properties/pair",
        "any value at properties/bare/items",
    )
    original = compile_parameters({"type": "object", "properties": {"pair": pair}}, "pair")
    assert original.errors({"pair": ["a", 1]})
    assert not original.errors({"pair": [1, "a"]})


ROWS: list[tuple[Any, dict[str, Any]]] = [
    ({"type": "string", "const": "x"}, {"type": "STRING", "format": "enum", "enum": ["x"]}),
    ({"const": 3}, {"type": "INTEGER", "description": "(always 3)"}),
    ({"enum": ["a", "b", None]}, {"type": "STRING", "format": "enum", "enum": ["a", "b"], "nullable": True}),
    ({"enum": ["", "a"]}, {"type": "STRING", "description": '(one of "","a")'}),
    ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER", "description": "(one of 1,2)"}),
    (
        {"enum": ["a", 1, True]},
        {
            "anyOf": [
                {"type": "STRING", "format": "enum", "enum": ["a"]},
                {"type": "INTEGER", "description": "(always 1)"},
                {"type": "BOOLEAN", "description": "(always true)"},
            ]
        },
    ),
    ({"type": "null"}, {"type": "STRING", "description": "always null", "nullable": True}),
    ({"type": ["integer", "number"]}, {"type": "NUMBER"}),
    ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
    ({"type": "string", "format": "email"}, {"type": "STRING", "description": "(format email)"}),
    ({"type": "integer", "format": "int64"}, {"type": "INTEGER", "format": "int64"}),
    ({"type": "string", "pattern": "^a+$"}, {"type": "STRING", "pattern": "^a+$"}),
    ({"type": "string", "pattern": "(?=a)"}, {"type": "STRING", "description": "(matches (?=a))"}),
    (
        {"type": "string", "minLength": 1.0, "default": "x"},
        {"type": "STRING", "minLength": 1, "description": '(default "x")'},
    ),
    ({"type": "string", "maxLength": 10**30}, {"type": "STRING", "description": f"(at most {10**30} characters)"}),
    (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 2},
        {"type": "NUMBER", "maximum": 2, "description": "(more than 0)"},
    ),
    ({"type": "number", "maximum": 10**400}, {"type": "NUMBER", "description": f"(at most {10**400})"}),
    (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "ARRAY", "items": {"type": "STRING"}, "description": "(items all differ)"},
    ),
    (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "OBJECT", "description": '(any other property satisfies {"type":"integer"})'},
    ),
    ({"type": "object", "properties": {"a": False}, "required": ["a"]}, {"type": "OBJECT"}),
    ({"oneOf": [{"type": "string"}, False]}, {"type": "STRING"}),
    ({"anyOf": [False]}, {"type": "STRING", "description": "always null"}),
    (
        {"type": "string", "description": "d", "examples": ["a"], "title": "T"},
        {"type": "STRING", "description": 'd (for example "a")'},
    ),
    ({"type": "string", "not": {"const": "x"}}, {"type": "STRING", "description": '(satisfies {"not":{"const":"x"}})'}),
    (
        {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "type": ["number", "null"]}]},
        {"type": "INTEGER", "minimum": 3},
    ),
    (
        {"type": "string", "allOf": [{"type": "integer"}]},
        {"type": "STRING", "description": '(satisfies {"type":"integer"})'},
    ),
]


@pytest.mark.parametrize(("schema", "expected"), ROWS)
def test_rows(schema: Any, expected: dict[str, Any]) -> None:
    assert one(schema) == expected


def test_what_is_beside_an_alternative_goes_into_its_branches() -> None:
    found = one(
        {
            "type": "object",
            "description": "d",
            "properties": {"k": {"type": "string"}},
            "anyOf": [{"required": ["k"]}, {"properties": {"z": {"type": "integer"}}, "required": ["z"]}],
        }
    )
    k, z = {"type": "STRING"}, {"type": "INTEGER"}
    assert found == {
        "anyOf": [
            {"type": "OBJECT", "properties": {"k": k}, "required": ["k"], "description": "d"},
            {"type": "OBJECT", "properties": {"z": z, "k": k}, "required": ["z"]},
        ]
    }


def test_references_and_what_is_beside_them() -> None:
    given = {"type": "object", "description": "A.", "properties": {"x": {"$ref": "#/$defs/B"}}}
    definitions = {"A": given, "B": {"type": "integer"}}
    found = one({"$ref": "#/$defs/A", "description": "own", "required": ["x", "y"]}, **{"$defs": definitions})
    anything = [{"type": "STRING", "nullable": True}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}]
    listed = {"type": "ARRAY", "items": {"type": "STRING"}}
    assert found == {
        "type": "OBJECT",
        "description": "own",
        "properties": {"x": {"type": "INTEGER"}, "y": {"anyOf": [*anything, listed]}},
        "required": ["x", "y"],
    }


def test_the_root_stays_an_object() -> None:
    either = {"anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]}
    found = made({"a": {"type": "string"}}, allOf=[{"$ref": "#/$defs/E"}], **{"$defs": {"E": either}})
    assert found.schema["properties"] == {"a": {"type": "STRING"}, "b": {"type": "INTEGER"}}
    assert found.rules == ("At least one of these holds: given `a`; given `b`.",)
    told = made({"a": {"type": "string"}}, minProperties=1, **{"not": {"required": ["z"]}})
    assert told.schema["minProperties"] == 1
    assert told.rules == ('(satisfies {"not":{"required":["z"]}})',)
    assert told.losses == ("`not` at the root",)
    export = SPOKEN.export(view_of(spec_of("f", {"type": "object", "properties": {"a": {}}, "if": {}, "then": {}})))
    (declared,) = export.tools[0]["functionDeclarations"]
    assert declared["description"] == 'Does it.\n\n(satisfies {"if":{},"then":{}})'


def test_what_contradicts_itself_is_noted() -> None:
    empty = to_openapi({"type": "object", "minProperties": 1})
    assert (empty.schema, empty.rules) == ({}, ("at least 1 properties",))
    assert made({"a": {"type": "string", "enum": [None]}}).losses == ("no value at properties/a",)
    assert to_openapi({"type": "object", "enum": [1]}).rules == ("(always 1)",)


def test_references_that_multiply_end() -> None:
    node = {"type": "object", "properties": {f"p{i}": {"$ref": f"#/$defs/D{i}"} for i in range(8)}}
    schema = {"type": "object", "properties": {"r": {"$ref": "#/$defs/D0"}}, "$defs": {f"D{i}": node for i in range(8)}}
    found = to_openapi(schema)
    check(found.schema)
    assert "what goes too deep" in found.losses
    assert len(json.dumps(found.schema)) < 1_000_000
    deep: dict[str, Any] = {"type": "array"}
    for _ in range(40):
        deep = {"type": "array", "items": deep}
    assert "what goes too deep" in made({"p": deep}).losses
    circle = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    assert "anyOf" in one({"$ref": "#/$defs/A"}, **circle)


def test_strict_says_what_is_lost() -> None:
    rows: list[tuple[Any, str]] = [
        ({"type": "string"}, "lossless"),
        ({"type": "integer", "minimum": 1}, "lossless"),
        ({"type": "string", "enum": ["a"]}, "lossless"),
        ({"type": "integer", "enum": [1]}, "lossy"),
        ({"type": "string", "format": "email"}, "lossy"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "lossy"),
        ({"type": "object"}, "unsupported"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "unsupported"),
    ]
    for schema, verdict in rows:
        parameters = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
        export = SPOKEN.export(view_of(spec_of("f", parameters)), strict=True)
        assert export.verdicts == {"f": verdict}
        assert bool(export.notes) is (verdict != "lossless")
        check_declaration(export.tools[0]["functionDeclarations"][0])


# -- any schema ------------------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "c d", "$x", "é"])
REFS = st.sampled_from(["#/$defs/A", "#/$defs/B", "#", "#/properties/a"])
VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y", 1.5, [1], {"k": 1}])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    count, bound = st.integers(0, 5), st.integers(-9, 9) | st.sampled_from([0.5, 10**400])
    named = st.dictionaries(WORDS, inner, max_size=3)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "const": VALUES,
        "properties": named,
        "required": st.lists(WORDS, max_size=3, unique=True),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.just("^p"), inner, max_size=1),
        "items": inner,
        "prefixItems": several,
        "contains": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "$ref": REFS,
        "dependentRequired": st.dictionaries(WORDS, st.lists(WORDS, max_size=1), max_size=1),
        "format": st.sampled_from(["date-time", "email", "int64"]),
        "pattern": st.sampled_from(["^a$", "(?=a)"]),
        "uniqueItems": st.booleans(),
        "multipleOf": st.integers(1, 4),
        "description": st.sampled_from(["", "d"]),
        "default": VALUES,
        "examples": st.lists(VALUES, max_size=2),
        "title": st.just("T"),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), count),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bound),
    }
    picked = st.sets(st.sampled_from(sorted(optional)), max_size=5)
    return picked.flatmap(lambda names: st.fixed_dictionaries({name: optional[name] for name in sorted(names)}))


SCHEMAS = st.recursive(st.booleans() | st.just({}), keywords, max_leaves=8)
DOCUMENTS = st.builds(
    lambda root, a, b, p: (
        {**root, "type": "object", "properties": {"a": p, **root.get("properties", {})}} | {"$defs": {"A": a, "B": b}}
    ),
    keywords(SCHEMAS),
    SCHEMAS,
    SCHEMAS,
    SCHEMAS,
)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_any_schema_is_accepted(document: dict[str, Any]) -> None:
    before = json.dumps(document)
    view = view_of(spec_of("f", document), spec_of("g"))
    for strict in (False, True):
        export = SPOKEN.export(view, strict=strict)
        first, second = declared(export.tools)
        check_declaration(first)
        assert second == {"name": "g", "description": "Does it."}
        same = view_of(spec_of("g"), spec_of("f", json.loads(before)))
        again = Gemini(SPOKEN.profile).export(same, strict=strict)
        assert json.dumps(again.tools) == json.dumps(export.tools)
        assert (again.notes, again.verdicts) == (export.notes, export.verdicts)
    assert json.dumps(document) == before


def declared(tools: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for tool in tools:
        yield from tool["functionDeclarations"]


ANY_VALUE = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)


def as_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """What an export says, its objects closed: a model gives what it was told of."""
    if "anyOf" in schema:
        return {"anyOf": [as_json_schema(branch) for branch in schema["anyOf"]]}
    said = {key: value for key, value in schema.items() if key not in ("nullable", "format", "description")}
    said["type"] = schema["type"].lower()
    if "items" in said:
        said["items"] = as_json_schema(said["items"])
    if said["type"] == "object":
        said["properties"] = {name: as_json_schema(one) for name, one in said.get("properties", {}).items()}
        said["additionalProperties"] = False
    null: list[dict[str, Any]] = [{"type": "null"}] if schema.get("nullable") else []
    return {"anyOf": [said, *null]} if null else said


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, st.lists(st.dictionaries(WORDS, ANY_VALUE, max_size=3), min_size=5, max_size=5))
def test_what_is_lost_is_noted(document: dict[str, Any], values: list[dict[str, Any]]) -> None:
    """Without a note, what an export lets through satisfies the original."""
    root = {key: value for key, value in document.items() if key not in ("anyOf", "oneOf")}
    try:
        original = compile_parameters(root, "original")
    except SpecError:
        return
    found = to_openapi(root)
    if found.losses or found.rules:
        return
    exported = compile_schema(
        {"type": "object", **as_json_schema(found.schema or {"type": "OBJECT"})}, where="exported"
    )
    for value in values:
        if exported.is_valid(value):
            assert original.is_valid(value), (found.schema, value)
