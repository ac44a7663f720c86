"""What may be a schema, what a value that does not fit is told, and that neither costs much."""

import time
from typing import Any

import pytest
from hypothesis import given

from surehand.errors import SpecError
from surehand.schema import Violation, compile_parameters, compile_schema
from surehand.schema.bounds import DIALECT
from tests.schema.test_parse import json_objects, json_values


def nested_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def fan_out(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": definitions | {f"d{levels}": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "objekt"}, "not a valid JSON Schema"),
        ({"properties": {"a": {"minimum": "x"}}}, "properties/a/minimum"),
        ({"items": [{}]}, "not a valid JSON Schema"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "schemas are 2020-12"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}}, "convert the schema"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}]}, "not a valid JSON Schema"),
        (
            {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
            "schemas are 2020-12",
        ),
        ({"$schema": "http://127.0.0.1:9/evil"}, "schemas are 2020-12"),
        ({"properties": {"a": {"$schema": "http://127.0.0.1:9/evil"}}}, "schemas are 2020-12"),
        ({"$ref": "http://127.0.0.1:9/evil"}, "nothing is ever fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "properties/a"),
        ({"$ref": "#/$defs/none"}, "#/$defs/none"),
        ({"$ref": "#anchor"}, "#anchor"),
        ({"$ref": 5}, "must lead to a schema"),
        ({"prefixItems": [{}], "$ref": "#/prefixItems/1"}, "must lead to a schema"),
        ({"$dynamicRef": "#n"}, "write $ref"),
        ({"properties": {"a": {"$id": "http://x/"}}}, "remove it"),
        ({"allOf": [{"$ref": "#"}]}, "leads back to itself"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}},
            "leads back",
        ),
        (nested_schema(65), "deeper than 64"),
        ({"enum": list(range(5_000))}, "more than 5000 values"),
        ({"description": "x" * 256 * 1024}, "bytes"),
        (fan_out(22), "multiply"),
        (
            {
                "$ref": "#/$defs/d0",
                "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(200)} | {"d200": {}},
            },
            "deeper than 128",
        ),
        ({"pattern": "(a"}, "pattern"),
        ({"pattern": "(a{1000}){1000}{1000}"}, "pattern"),
        ({"default": float("nan")}, "not JSON"),
        ({"default": {1, 2}}, "not JSON"),
        ({"default": {1: 2}}, "not a string"),
        ({"default": "\ud800"}, "not JSON"),
    ],
)
def test_refused_schemas(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match="tool 't': parameters") as caught:
        compile_schema(schema, where="tool 't': parameters")
    assert why in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "schema",
    [
        nested_schema(64),
        fan_out(10),
        {"$ref": "#/$defs/d0", "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(125)} | {"d125": {}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/s"},
        {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {}}},
        {"properties": {"$ref": {"type": "string"}, "items": {"type": "integer"}, "$id": {}, "$schema": {"const": 5}}},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}},
        {"const": {"$ref": "http://127.0.0.1:9/only-data"}},
        {"format": "int32"},
        {"maximum": 2**70},
        {"items": True, "contains": False, "prefixItems": [True]},
        {"$ref": "#/prefixItems/0", "prefixItems": [True]},
    ],
)  # fmt: skip
def test_accepted_schemas(schema: dict[str, Any]) -> None:
    assert compile_schema(schema, where="s").schema == schema


def test_arguments_are_an_object() -> None:
    for schema in ({}, {"type": "array"}, {"type": ["object", "null"]}):
        with pytest.raises(SpecError, match="'type': 'object'"):
            compile_parameters(schema, "tool 't'")


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        ({}, False),
        ({"allOf": [{"properties": {"b": {}}}]}, False),
        ({"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"c": {}}}}}, False),
        ({"patternProperties": {"^b": {}}}, False),
        ({"patternProperties": {"^z": {}}}, True),
        ({"additionalProperties": True}, True),
        ({"additionalProperties": {"type": "integer"}}, True),
        ({"allOf": [{"additionalProperties": True}]}, True),
        ({"unevaluatedProperties": True}, True),
        ({"additionalProperties": False}, False),
    ],
)
def test_unknown_arguments(schema: dict[str, Any], allowed: bool) -> None:
    validator = compile_parameters({"type": "object", "properties": {"a": {}}, **schema}, "t")
    assert validator.is_valid({"zz": 1}) is allowed
    assert validator.is_valid({"a": 1})
    if not allowed:
        (violation,) = validator.errors({"zz": 1})
        assert violation.path == "$.zz"


def test_the_schema_is_copied() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    validator = compile_parameters(schema, "t")
    assert "additionalProperties" not in schema
    schema["properties"]["a"]["type"] = "string"  # pyright: ignore[reportArgumentType, reportIndexIssue]
    assert validator.is_valid({"a": 1})
    assert not validator.is_valid({"a": "x"})


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"enum": ["north", "south"]},
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
        "open": {"type": "number", "exclusiveMinimum": 0},
        "step": {"multipleOf": 3},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "day": {"type": "string", "format": "date"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "maxItems": 2, "uniqueItems": True},
        "who": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/item"}, {"type": "null"}]},
        "how": {
            "oneOf": [
                {"properties": {"kind": {"const": "card"}, "pan": {"type": "string"}}, "required": ["kind", "pan"]},
                {"properties": {"kind": {"const": "cash"}, "note": {"type": "string"}}, "required": ["kind"]},
            ]
        },
        "one": {"const": 5},
        "both": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        "never": False,
        "not null": {"not": {"type": "null"}},
        "map": {"type": "object", "propertyNames": {"pattern": "^a"}, "minProperties": 1},
        "has": {"contains": {"const": 1}},
        "password": {"type": "string", "writeOnly": True, "minLength": 12},
        "flag": {"type": "boolean"},
        "tz": {"type": "string", "examples": ["Europe/Paris"]},
    },
    "$defs": {
        "item": {
            "type": "object",
            "properties": {"qty": {"type": "integer", "minimum": 1}},
            "required": ["qty"],
            "additionalProperties": False,
        }
    },
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"region": "east"}, '$.region: expected one of "north", "south", got the string "east"'),
        ({"n": 9}, "$.n: expected at most 5, got 9; an allowed value is 5"),
        ({"n": 0}, "$.n: expected at least 1, got 0; an allowed value is 1"),
        ({"n": "five"}, '$.n: expected an integer, got the string "five"; an allowed value is 1'),
        ({"open": 0}, "$.open: expected more than 0, got 0"),
        ({"step": 4}, "$.step: expected a multiple of 3, got 4; an allowed value is 3"),
        ({"code": "abc"}, '$.code: expected text that matches ^[A-Z]{3}$, got the string "abc"'),
        ({"code": "ABC\n"}, '$.code: expected text that matches ^[A-Z]{3}$, got the string "ABC\\n"'),
        ({"name": "x"}, '$.name: expected at least 2 characters, got the string "x"'),
        ({"name": "x" * 300}, "$.name: expected at most 4 characters, got the string \"" + "x" * 78 + "…"),
        (
            {"day": "31.1."},
            '$.day: expected text in the format date, got the string "31.1."; an allowed value is "2026-01-31"',
        ),
        ({"items": [{"qty": 1}, {"qty": 0}]}, "$.items[1].qty: expected at least 1, got 0; an allowed value is 1"),
        ({"items": [{}]}, "$.items[0].qty: required but missing, expected an integer; an allowed value is 1"),
        ({"items": [{"qty": 1, "qyt": 2}]}, '$.items[0].qyt: unknown; did you mean "qty"?'),
        ({"items": [{"qty": 1}, {"qty": 1}]}, "$.items: expected items that all differ, got an array of 2"),
        ({"items": [{"qty": 1}, {"qty": 2}, {"qty": 3}]}, "$.items: expected at most 2 items, got an array of 3"),
        ({"who": 5}, "$.who: expected a string or an object or null, got 5"),
        ({"who": {"qty": "x"}}, '$.who.qty: expected an integer, got the string "x"; an allowed value is 1'),
        ({"how": {"kind": "card"}}, "$.how.pan: required but missing, expected a string; an allowed value is \"text\""),
        ({"how": {"kind": "gold"}}, '$.how.kind: expected "cash", got the string "gold"'),
        ({"one": 4}, "$.one: expected 5, got 4"),
        ({"both": 1}, "$.both: expected a value that fits exactly one alternative, got 1"),
        ({"never": 1}, "$.never: expected nothing here, got 1"),
        ({"not null": None}, '$["not null"]: expected a value that the schema does not exclude, got null'),
        ({"map": {}}, "$.map: expected at least 1 properties, got an object"),
        ({"has": [2]}, "$.has: expected an item of the required kind, got an array of 1"),
        ({"password": "hunter2"}, "$.password: expected at least 12 characters, got what was sent"),
        ({"flag": "yes"}, '$.flag: expected true or false, got the string "yes"; an allowed value is true'),
        ({"tz": 5}, '$.tz: expected a string, got 5; an allowed value is "Europe/Paris"'),
        ({"regoin": "north"}, '$.regoin: unknown; did you mean "region"?'),
    ],
)  # fmt: skip
def test_wording(value: dict[str, Any], said: str) -> None:
    (violation,) = compile_parameters(SCHEMA, "t").errors(value)
    assert str(violation) == said
    assert violation.expected in violation.message or "unknown" in violation.message


def test_allowed_values() -> None:
    validator = compile_parameters(SCHEMA, "t")
    allowed = {
        violation.path: violation.allowed for violation in validator.errors({"region": "e", "n": 9, "one": 1, "m": 1})
    }
    assert allowed == {
        "$.region": ["north", "south"],
        "$.n": 5,
        "$.one": [5],
        "$.m": list(SCHEMA["properties"]),
    }


def test_long_enums_are_cut() -> None:
    (violation,) = compile_schema({"enum": [f"v{n}" for n in range(100)]}, where="s").errors("x")
    assert "and 90 more" in violation.message
    assert len(violation.allowed) == 10


def test_c08_a_missing_argument_is_named() -> None:
    validator = compile_parameters(
        {"type": "object", "properties": {"tz": {"type": "string"}}, "required": ["tz"]}, "now"
    )
    (violation,) = validator.errors({})
    assert violation == Violation(
        path="$.tz",
        message='required but missing, expected a string; an allowed value is "text"',
        expected="a string",
        allowed="text",
    )


def test_a_missing_argument_behind_a_reference() -> None:
    schema = {
        "type": "object",
        "properties": {"day": {"$ref": "#/$defs/d"}},
        "required": ["day", "more"],
        "$defs": {"d": {"type": "string", "format": "date"}},
    }
    assert [str(v) for v in compile_parameters(schema, "t").errors({})] == [
        '$.day: required but missing, expected a string; an allowed value is "2026-01-31"',
        "$.more: required but missing, expected a value",
    ]


def test_violations_are_bounded() -> None:
    validator = compile_parameters({"type": "object", "properties": {"a": {"items": {"type": "integer"}}}}, "t")
    assert len(validator.errors({"a": ["x"] * 1_000})) == 5
    assert len(validator.errors({f"x{n}": 1 for n in range(1_000)})) == 5


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"a": {1}}, {"a": b"x"}, {1: 2}, {"a": object()}])
def test_what_is_not_json_is_a_violation(value: Any) -> None:
    validator = compile_schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}, where="s")
    assert not validator.is_valid(value)
    (violation,) = validator.errors(value)
    assert violation.path == "$"


def deep(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = {"x": leaf}
    return leaf


BRANCHING = {
    "$ref": "#/$defs/A",
    "$defs": {
        "A": {
            "type": "object",
            "properties": {
                "x": {"anyOf": [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}, {"type": "object"}]}]}
            },
        }
    },
}


def test_errors_of_a_branching_recursive_schema_take_no_exponential_time() -> None:
    validator = compile_schema(BRANCHING, where="s")
    started = time.perf_counter()
    assert validator.is_valid(deep(60, {}))
    for levels in range(1, 61):
        assert validator.errors(deep(levels, 5))
    assert time.perf_counter() - started < 2
    assert validator.errors(deep(1, 5))[0].path == "$.x"
    assert validator.errors(deep(60, 5))[0].path == "$.x"
    assert validator.errors([deep(60, 5)])[0].path == "$"


def test_what_is_wrong_beside_a_deep_value_is_told() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "j": {"$ref": "#/$defs/j"}},
        "required": ["n", "j"],
    }
    validator = compile_parameters({**schema, "$defs": ANYTHING["$defs"]}, "t")
    assert validator.is_valid({"n": 1, "j": deep(60, [])})
    assert [violation.path for violation in validator.errors({"j": deep(60, []), "k": 1})] == ["$.n", "$.k"]


def test_a_plain_tree_is_told_apart_at_any_depth() -> None:
    tree = {
        "type": "object",
        "properties": {"x": {"$ref": "#"}, "n": {"type": "integer"}},
        "additionalProperties": False,
    }
    (violation,) = compile_schema(tree, where="s").errors(deep(60, {"n": "1"}))
    assert violation.path == "$" + ".x" * 60 + ".n"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=a)(a+)+$", r"^(a+)+\1$"])
def test_patterns_take_no_exponential_time(pattern: str) -> None:
    validator = compile_schema({"type": "string", "pattern": pattern}, where="s")
    started = time.perf_counter()
    assert not validator.is_valid("a" * 50_000 + "!")
    assert validator.errors("a" * 30 + "!")
    assert time.perf_counter() - started < 1


def test_a_large_hostile_schema_is_checked_quickly() -> None:
    definitions = {
        f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{n - 1}"}, "b": {"$ref": "#/$defs/d0"}}}
        for n in range(1, 500)
    }
    schema = {"$ref": "#/$defs/d499", "$defs": definitions | {"d0": {"items": {"$ref": "#/$defs/d250"}}}}
    started = time.perf_counter()
    with pytest.raises(SpecError):
        compile_schema(schema, where="s")
    assert time.perf_counter() - started < 1


def test_schemas_that_refer_to_each_other() -> None:
    definitions: dict[str, Any] = {
        "expression": {"oneOf": [{"$ref": "#/$defs/sum"}, {"$ref": "#/$defs/negation"}, {"type": "number"}]},
        "sum": {
            "type": "object",
            "properties": {"of": {"type": "array", "items": {"$ref": "#/$defs/expression"}}},
            "required": ["of"],
        },
        "negation": {"type": "object", "properties": {"not": {"$ref": "#/$defs/expression"}}, "required": ["not"]},
    }
    validator = compile_schema({"$ref": "#/$defs/expression", "$defs": definitions}, where="s")
    assert validator.is_valid({"of": [1, {"not": {"of": [2]}}]})
    assert validator.errors({"of": [1, {"not": {"of": ["2"]}}]})
    assert not validator.is_valid({"of": [1], "not": 2})


ANYTHING: dict[str, Any] = {
    "$ref": "#/$defs/j",
    "$defs": {
        "j": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/j"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/j"}},
            ]
        }
    },
}


@given(json_values)
def test_valid_if_and_only_if_without_violations(value: Any) -> None:
    anything = compile_schema(ANYTHING, where="s")
    assert anything.is_valid(value)
    assert anything.errors(value) == []
    validator = compile_schema({"type": "object", "minProperties": 1}, where="s")
    assert validator.is_valid(value) == (validator.errors(value) == [])


@given(json_objects)
def test_errors_never_raise_and_stay_short(value: dict[str, Any]) -> None:
    for violation in compile_parameters(SCHEMA, "t").errors(value):
        assert violation.path.startswith("$")
        assert len(violation.message) < 1_500


PASSWORD = {"type": "string", "format": "password", "maxLength": 2}
SECRETS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "password": PASSWORD,
        "beside": {"allOf": [{"type": "string", "maxLength": 2}, {"writeOnly": True}]},
        "referred": {"$ref": "#/$defs/p"},
        "either": {"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]},
        "one": {"enum": ["x"], "oneOf": [{"format": "password"}]},
        "login": {
            "type": "object",
            "writeOnly": True,
            "properties": {"pin": {"type": "integer"}},
            "additionalProperties": False,
        },
        "pin": {"type": "integer", "writeOnly": True},
        "map": {"type": "object", "patternProperties": {"^p": {"type": "integer", "writeOnly": True}}},
    },
    "$defs": {"p": PASSWORD},
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": "hunter2"},
        {"beside": "hunter2"},
        {"referred": "hunter2"},
        {"either": "hunter2"},
        {"one": "hunter2"},
        {"login": {"hunter2": 1}},
        {"login": {"pin": "hunter2"}},
        {"pin": "hunter2"},
        {"map": {"p": "hunter2"}},
    ],
    ids=str,
)
def test_no_violation_tells_of_a_secret(arguments: dict[str, Any]) -> None:
    found = compile_parameters(SECRETS, "secrets").errors(arguments)
    assert found
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("arguments", "shown"), [({"password": 731_731}, "731731"), ({"pin": 1e20}, "1e+20"), ({"either": 731_731}, "731")]
)
def test_no_violation_tells_of_a_secret_number(arguments: dict[str, Any], shown: str) -> None:
    found = compile_parameters(SECRETS, "secrets").errors(arguments)
    assert found
    assert shown not in repr(found)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {"^t": {}}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "allOf": [{"additionalProperties": True}]},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "unevaluatedProperties": {}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"required": ["tenant_id"]}},
    ],
    ids=str,
)
def test_a_forbidden_argument_is_unknown_whatever_the_schema_says(schema: dict[str, Any]) -> None:
    validator = compile_parameters(schema, "t", forbidden=frozenset({"tenant_id"}))
    assert validator.is_valid({"a": 1})
    assert not validator.is_valid({"a": 1, "tenant_id": "acme"})
    assert [str(found) for found in validator.errors({"a": 1, "tenant_id": "acme"})] == [
        '$.tenant_id: unknown; known: "a"'
    ]
    both = validator.errors({"a": "x", "tenant_id": "acme"})
    assert [found.path for found in both] == ["$.tenant_id", "$.a"]
    # As any other name that does not exist.
    other = compile_parameters({**schema, "additionalProperties": False, "not": False}, "t").errors({"a": 1, "zzz": 1})
    assert [found.message for found in other][:1] == ['unknown; known: "a"']


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"tenant_id": {}}},
        {"allOf": [{"properties": {"tenant_id": {}}}]},
        {"anyOf": [{"required": ["tenant_id"]}, {}]},
        {"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"tenant_id": {}}}}},
    ],
)
def test_a_schema_may_not_name_what_is_forbidden(schema: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="'tenant_id' is injected"):
        compile_parameters({"type": "object", **schema}, "t", forbidden=["tenant_id"])


@pytest.mark.parametrize(
    ("schema", "valid"),
    [
        ({"type": "integer"}, False),
        ({"type": ["integer", "null"]}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, False),
        ({"$ref": "#/$defs/n"}, False),
        ({"type": "number"}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, True),
        ({}, True),
    ],
    ids=str,
)
def test_a_float_that_may_be_several_integers_is_none(schema: dict[str, Any], valid: bool) -> None:
    whole = {
        "type": "object",
        "properties": {"x": schema, "n": {"type": "array", "items": schema}},
        "$defs": {"n": {"type": "integer"}},
    }
    validator = compile_parameters(whole, "t")
    for value in (1e17, 1e20, -1e300):
        for arguments in ({"x": value}, {"n": [1, value]}):
            assert validator.is_valid(arguments) is valid
            assert (validator.errors(arguments) == []) is valid
    assert validator.is_valid({"x": 10**20})
    if not valid:
        assert "written in digits" in str(validator.errors({"x": 1e20})[0])


def test_where_defaults_do_not_fit() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "default": "x"}, "b": {"type": "integer", "default": 1}},
    }
    assert compile_parameters(schema, "t").unfit_defaults == ("properties/a",)


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", DIALECT, f"{DIALECT}#"])
def test_an_older_dialect_that_means_the_same_is_taken(dialect: str) -> None:
    schema = {"$schema": dialect, "type": "object", "properties": {"a": {"$ref": "#/definitions/n"}}}
    validator = compile_parameters({**schema, "definitions": {"n": {"type": "integer"}}}, "t")
    assert [validator.is_valid(one) for one in ({"a": 1}, {"a": "x"}, {"b": 1})] == [True, False, False]
