"""Coercions and defaults: the only ways in which arguments change."""

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.schema import Coercion, coerce, compile_parameters, fill_defaults
from tests.schema.test_parse import json_objects


def field(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


C14 = {
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"type": "object"}},
        "note": {"type": "string"},
        "any": {"anyOf": [{"type": "string"}, {"type": "array"}]},
    },
}


def test_c14_nested_json_text() -> None:
    before = {"files": '[{"p":"a"}]', "note": '{"x":1}', "any": "[1]"}
    original = deepcopy(before)
    after, changes = compile_parameters(C14, "c14").coerce(before)
    assert after == {"files": [{"p": "a"}], "note": '{"x":1}', "any": "[1]"}
    assert changes == (Coercion("$.files", '[{"p":"a"}]', [{"p": "a"}]),)
    assert before == original


INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}


@pytest.mark.parametrize(
    ("schema", "before", "after"),
    [
        (INTEGER, "5", 5),
        (INTEGER, "-12", -12),
        (INTEGER, "0", 0),
        (INTEGER, "1180591620717411303424", 2**70),
        (INTEGER, 5.0, 5),
        (INTEGER, -0.0, 0),
        (INTEGER, 2.0**53, 2**53),
        (NUMBER, "1.5", 1.5),
        (NUMBER, "-0.25", -0.25),
        (NUMBER, "12.50", 12.5),
        (NUMBER, "7", 7),
        (NUMBER, "7.0", 7),
        (NUMBER, 5.0, 5),
        (NUMBER, -0.0, 0),
        ({}, 5.0, 5),
        ({"type": ["integer", "string"]}, 5.0, 5),
        ({"type": "array"}, [[1.0, {"a": 2.0}]], [[1, {"a": 2}]]),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"anyOf": [INTEGER, {"type": "null"}], "default": None}, "5", 5),
        ({"oneOf": [{"type": "null"}, INTEGER]}, "5", 5),
        ({"$ref": "#/$defs/n"}, "5", 5),
        ({"allOf": [{"$ref": "#/$defs/n"}]}, "5", 5),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"type": "array", "items": INTEGER}, ["1", 2, 3.0], [1, 2, 3]),
        ({"type": "array", "items": INTEGER}, '["1"]', [1]),
        ({"type": "object", "properties": {"y": INTEGER}}, '{"y": "1"}', {"y": 1}),
        ({"type": "object", "additionalProperties": BOOLEAN}, {"y": "true"}, {"y": True}),
    ],
)
def test_exact_coercions(schema: dict[str, Any], before: Any, after: Any) -> None:
    whole = field(schema, **{"$defs": {"n": INTEGER}})
    result, changes = coerce(whole, {"x": before})
    assert json.dumps(result) == json.dumps({"x": after})
    assert changes
    assert all(change.path.startswith("$.x") for change in changes)
    assert coerce(whole, result) == (result, ())


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INTEGER, "05"),
        (INTEGER, "-0"),
        (INTEGER, "+5"),
        (INTEGER, "5.0"),
        (INTEGER, " 5"),
        (INTEGER, "\u0665"),
        (INTEGER, "1e3"),
        (INTEGER, "9" * 301),
        (INTEGER, 5.5),
        (INTEGER, 2.0**54),
        (INTEGER, True),
        (NUMBER, "0.1000000000000000055511151231257827"),
        (NUMBER, "1e3"),
        (NUMBER, "NaN"),
        (NUMBER, "1."),
        (BOOLEAN, "True"),
        (BOOLEAN, "1"),
        (BOOLEAN, 1),
        ({"type": "string"}, 5),
        ({"type": "string"}, "5"),
        ({"enum": ["1", 1]}, "1"),
        ({"type": ["integer", "string"]}, "5"),
        ({"anyOf": [INTEGER, NUMBER]}, "5"),
        ({"anyOf": [INTEGER, {"type": "string"}]}, "5"),
        ({"type": "null"}, "null"),
        ({"type": ["integer", "null"]}, "null"),
        ({}, "5"),
        (True, "5"),
        ({"type": "array"}, '{"a": 1}'),
        ({"type": "array"}, "[1,]"),
        ({"type": "array"}, ""),
        ({"type": "object"}, "[1]"),
        ({"type": "object"}, '{"a": 1}{"b": 2}'),
        ({"type": "object"}, '{"__entity": {}}'),
        ({"type": "object"}, '{"a": 1e400}'),
        ({"type": "object"}, '{"a":' * 63 + "{}" + "}" * 63),
        (
            {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": INTEGER},
            {"ab": "1"},
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": INTEGER}, ["1"]),
    ],
)
def test_what_is_not_exact_stays(schema: Any, value: Any) -> None:
    arguments = {"x": value}
    result, changes = coerce(field(schema), arguments)
    assert result is arguments
    assert not changes


C49 = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "x"},
    },
    "required": ["q"],
}


def test_c49_null_for_an_optional_is_left_out_where_it_is_refused() -> None:
    validator = compile_parameters(C49, "c49")
    before = {"q": "a", "limit": None, "tag": None}
    after, changes = validator.coerce(before)
    assert after == {"q": "a", "tag": None}
    assert changes == (Coercion("$.limit", None, msgspec.UNSET),)
    assert changes[0].kinds == ("null", "absent")
    assert validator.fill_defaults(after) == {"q": "a", "tag": None, "limit": 10}
    assert before == {"q": "a", "limit": None, "tag": None}
    assert validator.coerce(after) == (after, ())
    assert validator.coerce({"q": None}) == ({"q": None}, ())


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        (INTEGER, False),
        ({"type": "string"}, False),
        ({"enum": ["a", "b"]}, False),
        ({"const": 1}, False),
        ({"anyOf": [INTEGER, {"type": "string"}]}, False),
        ({"$ref": "#/$defs/n"}, False),
        ({"allOf": [{}, {"$ref": "#/$defs/n"}]}, False),
        ({"not": {"type": "null"}}, False),
        (False, False),
        (True, True),
        ({}, True),
        ({"type": ["integer", "null"]}, True),
        ({"enum": ["a", None]}, True),
        ({"const": None}, True),
        ({"oneOf": [INTEGER, {"type": "null"}]}, True),
        ({"not": {"type": "integer"}}, True),
        ({"not": {"type": "null", "minLength": 1, "if": True, "then": False}}, True),
    ],
)
def test_null_stays_where_the_schema_may_take_it(schema: Any, kept: bool) -> None:
    whole = field(schema, **{"$defs": {"n": INTEGER}})
    after, changes = coerce(whole, {"x": None})
    assert (after, bool(changes)) == (({"x": None}, False) if kept else ({}, True))
    if not kept:
        assert not compile_parameters(whole, "null").is_valid({"x": None})
    assert coerce({**whole, "required": ["x"]}, {"x": None}) == ({"x": None}, ())


def test_null_is_left_out_at_any_depth_but_never_of_a_list() -> None:
    inner = field(INTEGER)
    schema = {
        "type": "object",
        "properties": {"o": inner, "a": {"type": "array", "items": inner}, "n": {"type": "array", "items": INTEGER}},
        "additionalProperties": INTEGER,
    }
    before = {"o": '{"x": null}', "a": [{"x": None}, {"x": 1}], "n": [None], "other": None}
    after, changes = coerce(schema, before)
    assert after == {"o": {}, "a": [{}, {"x": 1}], "n": [None], "other": None}
    assert [change.path for change in changes] == ["$.o", "$.o.x", "$.a[0].x"]


def test_without_coercions_only_equal_numbers_get_one_form() -> None:
    before = {"q": "a", "limit": "5", "tag": None}
    validator = compile_parameters(C49, "c49")
    assert validator.coerce(before, numbers=True) == (before, ())
    after, changes = validator.coerce({"q": "a", "limit": 5.0}, numbers=True)
    assert json.dumps(after) == '{"q": "a", "limit": 5}'
    assert changes == (Coercion("$.limit", 5.0, 5),)


DEEP_DUPLICATES = [
    '{"a": 1, "a": 2}',
    '{"o": {"a": 1, "\\u0061": 1}}',
    '{"a": NaN}',
    '{"a": 1',
    "{'a': 1}",
    '{"a": 1,}',
]


@pytest.mark.parametrize("text", DEEP_DUPLICATES)
def test_json_text_in_an_argument_is_read_as_strictly(text: str) -> None:
    for schema, value in (({"type": "object"}, text), ({"type": "array"}, f"[{text}]")):
        assert coerce(field(schema), {"x": value}) == ({"x": value}, ())


def test_long_chains_of_references_are_left_alone() -> None:
    definitions: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(20)}
    schema = field({"$ref": "#/$defs/d0"}, **{"$defs": definitions | {"d20": INTEGER}})
    assert compile_parameters(schema, "chain").coerce({"x": "5"}) == ({"x": "5"}, ())


def test_a_recursive_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/t"}},
        "$defs": {
            "t": {
                "type": "object",
                "properties": {"n": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
            }
        },
    }
    after, changes = compile_parameters(schema, "tree").coerce({"tree": {"kids": [{"n": "1", "kids": [{"n": "2"}]}]}})
    assert after == {"tree": {"kids": [{"n": 1, "kids": [{"n": 2}]}]}}
    assert [change.path for change in changes] == ["$.tree.kids[0].n", "$.tree.kids[0].kids[0].n"]


MIXED = {
    "type": "object",
    "properties": {
        "i": INTEGER,
        "n": NUMBER,
        "b": BOOLEAN,
        "s": {"type": "string"},
        "a": {"type": "array", "items": INTEGER},
        "o": {"type": "object", "properties": {"i": INTEGER}},
        "m": {"anyOf": [{"type": "string"}, INTEGER]},
        "z": {"type": ["integer", "null"]},
        "r": {"type": "integer"},
    },
    "required": ["r"],
}
texts = st.text() | st.integers().map(str) | st.floats().map(repr) | json_objects.map(json.dumps) | st.just("[1]")
loose = texts | st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
mixed = st.dictionaries(st.sampled_from("inbsaomzr"), loose | st.lists(loose, max_size=3))


@given(mixed)
def test_coercion_is_idempotent_records_all_and_mutates_nothing(arguments: dict[str, Any]) -> None:
    original = deepcopy(arguments)
    after, changes = coerce(MIXED, arguments)
    assert arguments == original
    assert coerce(MIXED, after) == (after, ())
    assert (after is arguments) == (not changes)
    assert all(after.get(name) == arguments.get(name) for name in "sm")


@given(mixed)
def test_coercion_never_makes_a_valid_value_invalid_nor_touches_what_is_right(arguments: dict[str, Any]) -> None:
    validator = compile_parameters(MIXED, "mixed")
    after, changes = validator.coerce(arguments)
    if validator.is_valid(arguments):
        assert validator.is_valid(after)
        assert after == arguments
        assert all(isinstance(change.before, float) for change in changes)
    for change in changes:
        if isinstance(change.after, int | float):
            assert str(change.after) == str(change.before) or float(change.after) == float(change.before)


def test_defaults() -> None:
    schema = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "kind": {"$ref": "#/$defs/kind"},
            "page": {"type": "object", "properties": {"size": {"type": "integer", "default": 5}}},
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"tags": {"type": "array", "default": []}}},
            },
            "wrong": {"type": "integer", "default": None},
        },
        "$defs": {"kind": {"enum": ["a", "b"], "default": "b"}},
    }
    validator = compile_parameters(schema, "defaults")
    arguments: dict[str, Any] = {"page": {}, "rows": [{}, {"tags": [1]}]}
    filled = validator.fill_defaults(arguments)
    assert filled == {
        "limit": 10,
        "kind": "b",
        "page": {"size": 5},
        "rows": [{"tags": []}, {"tags": [1]}],
    }
    assert arguments == {"page": {}, "rows": [{}, {"tags": [1]}]}
    wrong: dict[str, Any] = {"limit": 1, "kind": "a", "page": 5, "rows": [[], None]}
    assert validator.fill_defaults(wrong) is wrong
    assert validator.fill_defaults({}) == {"limit": 10, "kind": "b"}
    assert validator.fill_defaults(filled) is filled
    filled["rows"][0]["tags"].append(1)
    assert validator.fill_defaults({"rows": [{}]})["rows"] == [{"tags": []}]


def test_defaults_without_a_compiled_schema() -> None:
    assert fill_defaults(field({"default": 1}), {}) == {"x": 1}
    assert fill_defaults({"type": "object"}, {"y": [1]}) == {"y": [1]}


def test_defaults_have_the_same_form_as_what_is_written() -> None:
    assert json.dumps(fill_defaults(field({"type": "number", "default": 5.0}), {})) == '{"x": 5}'


def test_where_a_number_was_given_its_form() -> None:
    changes = coerce({"type": "object"}, {"a": [1.5, {"b": 2.0}], "c": 2.0**60})[1]
    assert changes == (Coercion("$.a[1].b", 2.0, 2),)
