"""Stage 2: what a model wrote becomes an object, or a failure that says why. Named by the cases of the collection."""

import json
import time
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.errors import Code
from surehand.schema import ArgumentLimits, ParseFailure, parse_arguments
from surehand.schema.parse import FORBIDDEN_KEYS


def failure(arguments: Any, limits: ArgumentLimits | None = None) -> ParseFailure:
    parsed = parse_arguments(arguments, limits=limits or ArgumentLimits())
    assert isinstance(parsed, ParseFailure), parsed
    assert parsed.code in get_args(Code)
    return parsed


@pytest.mark.parametrize("arguments", ["", "  \n", "null", " null\n", "{}", None, {}])
def test_c08_no_arguments(arguments: Any) -> None:
    assert parse_arguments(arguments) == {}


def test_c08_a_glued_placeholder_is_not_taken_for_the_arguments() -> None:
    assert failure('{}{"tz":"UTC"}').code == "ARGUMENTS_NOT_JSON"


@pytest.mark.parametrize(
    "text", ['{"e":"X","r":1}{"e":"X","r":2}', '{"a":1}{"a":', '{"a":1}\n\n{"b":2}', '{"a":1} [2]']
)
def test_c12_several_values(text: str) -> None:
    refused = failure(text)
    assert refused.code == "ARGUMENTS_NOT_JSON"
    assert "several JSON values were found" in refused.message
    assert "one call for each object" in refused.message


def test_c12_braces_in_a_string() -> None:
    assert parse_arguments('{"s":"a}{b"}') == {"s": "a}{b"}


@pytest.mark.parametrize("text", ['{"a":1}```', '```json\n{"a":1}\n```', '{"a":1} done'])
def test_c12_text_around_the_object(text: str) -> None:
    refused = failure(text)
    assert refused.code == "ARGUMENTS_NOT_JSON"
    assert "several" not in refused.message


@pytest.mark.parametrize(
    "text",
    ['{"path":"x","body":"ab', '{"a":', '{"a"', "{", '{"a":[1,', '{"a":12', '{"a":tr', '{"a":"\\', '["a', '"abc'],
)
def test_c13_cut_text(text: str) -> None:
    refused = failure(text)
    assert refused.code == "ARGUMENTS_TRUNCATED"
    assert "smaller payload" in refused.message


@pytest.mark.parametrize(
    "text", ['{"x":NaN}', '{"x":1e400}', '{"x":-Infinity}', '{"x":[[-1e999]]}', '{"x":{"y":1e400}}']
)
def test_c51_not_finite(text: str) -> None:
    assert failure(text).code in ("ARGUMENTS_NOT_JSON", "TOOL_ARGUMENT_INVALID")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_c51_not_finite_in_an_object(value: float) -> None:
    assert failure({"x": [value]}).code == "TOOL_ARGUMENT_INVALID"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/x')",
        "{\"on\": True, 'who': None}",
        '{"items": [{"a": true}],}',
        '{"t":"line1\nline2"}',
        "{'a','b'}",
        "{a: 1}",
        '{"a": 01}',
        '{"a": 1 /* one */}',
        '\ufeff{"a": 1}',
        '{"a": undefined}',
        "tru",
    ],
)
def test_c52_loose_json_is_never_repaired(text: str) -> None:
    refused = failure(text)
    assert refused.code == "ARGUMENTS_NOT_JSON"
    assert "at character" in refused.message


@pytest.mark.parametrize("text", ["[1]", "5", '"text"', "true"])
def test_only_an_object(text: str) -> None:
    assert failure(text).code == "TOOL_ARGUMENT_INVALID"


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"o":{"a":1,"a":2}}', '{"\\u0061":1,"a":2}'])
def test_duplicate_keys(text: str) -> None:
    assert failure(text).code == "ARGUMENTS_NOT_JSON"


@pytest.mark.parametrize("key", ["__entity", "__extn"])
def test_keys_that_forge_entities(key: str) -> None:
    for arguments in ({key: 1}, {"a": {key: {}}}, {"a": [[{key: 1}]]}):
        assert "reserved" in failure(arguments).message
        assert "reserved" in failure(json.dumps(arguments)).message
    assert "reserved" in failure('{"\\u005f_entity": 1}').message


@pytest.mark.parametrize("arguments", ['{"a":"\\ud800"}', '{"a":"\ud800"}', {"a": "\ud800"}, {"\udfff": 1}])
def test_lone_surrogates(arguments: Any) -> None:
    failure(arguments)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def test_depth() -> None:
    assert parse_arguments(nested(64)) == parse_arguments(json.dumps(nested(64))) == nested(64)
    for deep in (nested(65), json.dumps(nested(65)), '{"a":' + "[" * 100_000, {"a": nested(500)}):
        assert "flatter" in failure(deep).message or "inside a value" in failure(deep).message
    assert parse_arguments(nested(3), limits=ArgumentLimits(max_depth=3)) == nested(3)
    failure(nested(4), ArgumentLimits(max_depth=3))


@pytest.mark.parametrize("character", ["a", "é"])
def test_size(character: str) -> None:
    limits = ArgumentLimits(max_bytes=100)
    fits = {"a": character * (92 // len(character.encode()))}
    text = json.dumps(fits, ensure_ascii=False, separators=(",", ":"))
    assert parse_arguments(text, limits=limits) == parse_arguments(fits, limits=limits) == fits
    for large in (text.replace("}", " " * 9 + "}"), {"a": character * 100}, character * 101):
        assert "smaller payload" in failure(large, limits).message


@pytest.mark.parametrize("value", [{1}, b"x", (1, 2), object(), {1: 2}, 1j, type("Text", (str,), {})("x")])
def test_objects_hold_json_only(value: Any) -> None:
    assert failure({"a": value}).code == "TOOL_ARGUMENT_INVALID"


@pytest.mark.parametrize("arguments", [[1], 5, b""])
def test_objects_only(arguments: Any) -> None:
    assert failure(arguments).code == "TOOL_ARGUMENT_INVALID"


def test_an_object_is_copied() -> None:
    given_object = {"a": [{"b": 1}]}
    parsed = parse_arguments(given_object)
    given_object["a"][0]["b"] = 2
    assert parsed == {"a": [{"b": 1}]}


def test_large_integers_are_exact() -> None:
    assert parse_arguments('{"n":1180591620717411303424}') == {"n": 2**70} == parse_arguments({"n": 2**70})


def test_positions_count_characters() -> None:
    message = failure('{"a":"éé",\n "b": x}').message
    assert "at character 17" in message
    assert '"b": x' in message


def test_excerpts_are_short() -> None:
    assert len(failure('{"a":"' + "x" * 10_000 + '", }').message) < 400


unicode = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: text not in FORBIDDEN_KEYS)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | unicode
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(unicode, inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(unicode, json_values, max_size=5)


@given(json_objects)
def test_parse_reads_back_what_was_written(value: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(value)) == parse_arguments(value) == value
    assert parse_arguments(json.dumps(value, ensure_ascii=False)) == value


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_text_gives_an_object_or_a_failure(text: str) -> None:
    parsed = parse_arguments(text)
    assert isinstance(parsed, dict | ParseFailure)


@given(json_objects, st.data())
def test_no_prefix_of_an_object_is_read(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert failure(text[:cut]).code == "ARGUMENTS_TRUNCATED"


def test_one_object_in_many_places_is_not_copied_without_end() -> None:
    nested: Any = 1
    for _ in range(60):
        nested = [nested, nested]
    started = time.monotonic()
    failure = parse_arguments({"a": nested})
    assert time.monotonic() - started < 2
    assert isinstance(failure, ParseFailure)
    assert "more than 262144 bytes" in failure.message
    long = "a" * 200_000
    assert isinstance(parse_arguments({"a": [long] * 1_000}), ParseFailure)
    assert parse_arguments({"a": long}) == {"a": long}
    assert isinstance(parse_arguments({long: 1, long + "b": 2}), ParseFailure)


def test_integers_that_nobody_can_write() -> None:
    failure = parse_arguments({"a": 10**5000})
    assert isinstance(failure, ParseFailure)
    assert "too large" in failure.message
    assert parse_arguments({"a": 2**70}) == {"a": 2**70}
