"""How JSON values reach Cedar: exactly, or not at all."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.policy.argument_types import Attribute, CedarType, RecordOf, SetOf, argument_types
from surehand.policy.values import UnreadableError, cache_key, looks_at, projected, wanted
from tests.policy.samples import ALICE, NOON_NS, load, short, tool

PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
PERSON_TYPE = RecordOf({"name": Attribute("String", required=True)})


@pytest.mark.parametrize(
    ("schema", "type_", "required"),
    [
        ({"type": "integer"}, "Long", True),
        ({"type": "number"}, "decimal", True),
        ({"type": "string", "format": "date"}, "String", True),
        ({"type": "boolean"}, "Boolean", True),
        ({"enum": ["a", "b"]}, "String", True),
        ({"enum": ["a", None]}, "String", False),
        ({"const": "a"}, "String", True),
        ({"enum": [1, 2]}, "Long", True),
        ({"enum": [1, "a"]}, None, True),
        ({"enum": [1, True]}, None, True),
        ({"type": ["string", "null"]}, "String", False),
        ({"anyOf": [{"type": "string"}, {"type": "null", "title": "None"}]}, "String", False),
        ({"anyOf": [{"type": "string"}, {"type": "string", "format": "date"}]}, "String", True),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, None, True),
        ({"type": ["integer", "string"]}, None, True),
        ({"allOf": [{"type": "string"}]}, "String", True),
        ({}, None, False),
        ({"type": "array", "items": {"type": "integer"}}, SetOf("Long"), True),
        ({"type": "array"}, None, True),
        ({"type": "array", "items": {"type": "string"}, "prefixItems": [{}]}, None, True),
        ({"type": "array", "items": PERSON}, SetOf(PERSON_TYPE), True),
        ({"$ref": "#/$defs/Person"}, PERSON_TYPE, True),
        ({"$ref": "#/$defs/Maybe"}, "String", False),
        ({"$ref": "#/$defs/a~1b"}, "Long", True),
        ({"$ref": "#/$defs/Missing"}, None, False),
        ({"$ref": "https://elsewhere.example/x"}, None, False),
        ({"$ref": "#/$defs/Person/type/x"}, None, False),
        ({"type": "object"}, RecordOf({}), True),
        ({"type": "object", "properties": {"__entity": {"type": "string"}}}, RecordOf({}), True),
    ],
)
def test_a_schema_has_one_cedar_type_or_none(schema: dict[str, Any], type_: CedarType | None, required: bool) -> None:
    parameters = {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "$defs": {
            "Person": PERSON,
            "Maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "a/b": {"type": "integer"},
        },
    }
    assert argument_types(tool("t", parameters=parameters)).attributes["x"] == Attribute(type_, required)


def test_a_type_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"v": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
    parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    inner = RecordOf({"v": Attribute("String", required=False), "next": Attribute(None, required=False)})
    assert argument_types(tool("t", parameters=parameters)).attributes["x"].type == inner


def test_a_schema_that_is_one_reference_is_followed() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    spec = tool("t", parameters={"type": "object", "$ref": "#/$defs/All", "$defs": {"All": inner}})
    assert argument_types(spec) == RecordOf({"x": Attribute("Long", required=True)})
    text = '@id("f") forbid (principal, action == Action::"call/t", resource) when { context.arguments.x > 1 };'
    assert short(load(text, tools=[spec]).authorize(ALICE, spec, {"x": 2}, now_ns=NOON_NS)) == "deny f"


def test_injected_objects_are_no_data() -> None:
    spec = tool("t", injected={"who": "caller.id", "say": "progress"})
    assert argument_types(spec).attributes == {"who": Attribute("String", required=True)}


def exact(type_: CedarType | None, value: Any) -> Any:
    record = RecordOf({"x": Attribute(type_, required=False)})
    return projected(wanted([("x",)], []), record, {"x": value}).get("x")


def decimal(text: str) -> dict[str, Any]:
    return {"__extn": {"fn": "decimal", "arg": text}}


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("Long", 5, 5),
        ("Long", 5.0, 5),
        ("Long", 2**63 - 1, 2**63 - 1),
        ("Long", -(2**63), -(2**63)),
        ("decimal", 5, decimal("5.0000")),
        ("decimal", 0.1, decimal("0.1000")),
        ("decimal", -0.0001, decimal("-0.0001")),
        ("decimal", -0.0, decimal("0.0000")),
        ("decimal", 1e3, decimal("1000.0000")),
        ("decimal", 129.95, decimal("129.9500")),
        ("decimal", 922337203685477, decimal("922337203685477.0000")),
        ("String", "ä", "ä"),
        ("Boolean", False, False),
        ("String", None, None),
        (SetOf("Long"), [1, 1], [1, 1]),
        (SetOf("Long"), [], []),
        (PERSON_TYPE, {"name": "x"}, {"name": "x"}),
        (PERSON_TYPE, {"name": None}, {}),
    ],
)
def test_a_value_is_mapped_by_its_schema(type_: CedarType, value: Any, expected: Any) -> None:
    assert exact(type_, value) == expected


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        ("Long", 2**63, "does not fit 64 bits"),
        ("Long", -(2**63) - 1, "does not fit 64 bits"),
        ("Long", 1e300, "does not fit 64 bits"),
        ("Long", 5.5, "has another type"),
        ("Long", True, "has another type"),
        ("Long", "5", "has another type"),
        ("decimal", 0.00001, "has more than 4 digits"),
        ("decimal", 1 / 3, "has more than 4 digits"),
        ("decimal", 922337203685478, "out of the range"),
        pytest.param("decimal", 10**5000, "out of the range", id="huge"),
        ("decimal", 1e300, "out of the range"),
        ("decimal", math.inf, "out of the range"),
        ("decimal", math.nan, "out of the range"),
        ("decimal", True, "has another type"),
        ("String", "\ud800", "is not valid text"),
        ("String", 5, "has another type"),
        ("Boolean", 1, "has another type"),
        (SetOf("Long"), [1, None], "has another type"),
        (SetOf("Long"), "ab", "is not an array"),
        (PERSON_TYPE, "x", "is not an object"),
        (PERSON_TYPE, {"name": "x", "extra": None}, "is not in the tool's schema"),
        (None, 5, "has no single type"),
    ],
)
def test_what_is_not_exact_is_unreadable(type_: CedarType | None, value: Any, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        exact(type_, value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_decimal_is_written_exactly(units: int) -> None:
    value = units / 10_000
    if abs(units) < 2**50:
        text = exact("decimal", value)["__extn"]["arg"]
        whole, fraction = text.split(".")
        assert int(whole + fraction) == units


NESTED = RecordOf({"a": Attribute(RecordOf({"b": Attribute("decimal", False), "c": Attribute(None, False)}), False)})


@pytest.mark.parametrize(
    ("values", "presence", "arguments", "expected"),
    [
        ([], [], {"a": {"b": 1}}, {}),
        ([("a", "b")], [], {"a": {"b": 1, "c": 2}}, {"a": {"b": decimal("1.0000")}}),
        ([("a", "b")], [], {}, {}),
        ([("a", "b")], [], {"a": None}, {}),
        ([("a", "b")], [], {"a": {}}, {"a": {}}),
        ([], [("a",)], {"a": {"b": 1}}, {"a": True}),
        ([], [("a", "b")], {"a": {"b": 0.000001}}, {"a": {"b": True}}),
        ([], [("a", "c")], {"a": {"c": object()}}, {"a": {"c": True}}),
        ([("a", "b")], [("a",)], {"a": {"b": 1}}, {"a": {"b": decimal("1.0000")}}),
    ],
)
def test_only_what_policies_look_at_is_passed(
    values: list[tuple[str, ...]], presence: list[tuple[str, ...]], arguments: Mapping[str, Any], expected: Any
) -> None:
    assert projected(wanted(values, presence), NESTED, arguments) == expected


def test_a_part_of_something_without_parts_is_unreadable() -> None:
    with pytest.raises(UnreadableError, match="no object with known properties"):
        projected(wanted([("a", "b")], []), NESTED, {"a": "text"})


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.5, "allow surehand.scopes"), (0.75, "deny f"), (0.51, "deny f"), (None, "allow surehand.scopes")],
)
def test_a_policy_compares_numbers_as_decimals(rate: float | None, expected: str) -> None:
    spec = tool("t", {"rate": {"type": ["number", "null"]}, "n": {"type": "integer"}})
    text = (
        '@id("f") forbid (principal, action == Action::"call/t", resource)'
        'when { context.arguments has rate && context.arguments.rate.greaterThan(decimal("0.5")) };'
    )
    policies = load(text, tools=[spec])
    assert short(policies.authorize(ALICE, spec, {"rate": rate}, now_ns=NOON_NS)) == expected
    odd = policies.authorize(ALICE, spec, {"rate": 0.123456}, now_ns=NOON_NS)
    assert odd.reasons == ("policy \"f\" reads the argument 'rate', which has more than 4 digits after the point",)
    unread = policies.authorize(ALICE, spec, {"n": 2**70}, now_ns=NOON_NS)
    assert short(unread) == "allow surehand.scopes"


SAME = object()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"x": 1}, {"x": 1}, True),
        ({"x": 1}, {"x": True}, False),
        ({"x": 1}, {"x": 1.0}, False),
        ({"x": 1}, {"x": "1"}, False),
        ({"x": 0}, {"x": False}, False),
        ({"x": 0}, {}, False),
        ({"x": ""}, {}, False),
        ({"x": None}, {}, True),
        ({"x": [1]}, {"x": [True]}, False),
        ({"x": [1]}, {"x": [1.0]}, False),
        ({"x": [1]}, {"x": "[1]"}, False),
        ({"x": {"a": 1, "b": 2}}, {"x": {"b": 2, "a": 1}}, True),
        ({"x": 1, "y": 1}, {"x": 1, "y": 2}, True),
        ({"x": 1, "p": 1}, {"x": 1, "p": 2}, True),
        ({"x": 1, "p": 1}, {"x": 1}, False),
    ],
)
def test_the_cache_key_tells_apart_what_a_policy_can(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    keys = [cache_key(looks_at([("x",)], [("p",)], RecordOf({})), arguments) for arguments in (one, other)]
    assert None not in keys
    assert (keys[0] == keys[1]) is same


@pytest.mark.parametrize("arguments", [{"x": object()}, {"x": ["\ud800"]}, {"x": [10**5000]}, {"n": "text"}])
def test_what_has_no_key_is_not_cached(arguments: dict[str, Any]) -> None:
    assert cache_key(looks_at([("x",), ("n", "m")], [], RecordOf({})), arguments) is None


def test_without_reads_the_key_is_empty() -> None:
    assert cache_key(looks_at([], [], RecordOf({})), {"x": SAME}) == ()


def test_only_arguments_that_can_hold_no_keys_are_plain() -> None:
    spec = tool(
        "t",
        {
            "n": {"type": "integer"},
            "s": {"type": ["string", "null"]},
            "l": {"type": "array", "items": {"type": "string"}},
            "o": {"type": "object"},
            "u": {},
            "a": {"type": "array"},
            "lo": {"type": "array", "items": {"type": "object"}},
            "e": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            "__entity": {"type": "string"},
        },
    )
    assert looks_at([], [], argument_types(spec)).plain == {"n", "s", "l"}
