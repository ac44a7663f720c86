"""Lenient reading: loose spelling is read, everything else stays refused."""

import ast
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surehand.schema import ArgumentLimits, ParseFailure, parse_arguments, parse_lenient
from surehand.schema.loose import BREAKS, COMMAS, ESCAPES, QUOTES, WORDS, tighten
from tests.schema.test_parse import json_objects


def refused(text: Any) -> ParseFailure:
    read, liberties = parse_lenient(text)
    assert isinstance(read, ParseFailure), read
    assert liberties == ()
    return read


@pytest.mark.parametrize(
    ("text", "read", "liberties"),
    [
        ("{\"on\": True, 'who': None, 'off': False}", {"on": True, "who": None, "off": False}, (WORDS, QUOTES)),
        ('{"items": [{"a": true}],}', {"items": [{"a": True}]}, (COMMAS,)),
        ('{"a": [1, 2 ,\n ] , }', {"a": [1, 2]}, (COMMAS,)),
        ('{"t":"line1\nline2\r\n\tend"}', {"t": "line1\nline2\r\n\tend"}, (BREAKS,)),
        ("{'a': 'say \"it\\'s\"'}", {"a": 'say "it\'s"'}, (ESCAPES, QUOTES)),
        ('{"a": "it\\\'s"}', {"a": "it's"}, (ESCAPES,)),
        ("{'a': '\\x1b\\x22\\u00e9\\U0001f600\\U00000022\\n\\\\x41'}", {"a": '\x1b"é😀"\n\\x41'}, (ESCAPES, QUOTES)),
        ("{'a': '\\\"'}", {"a": '"'}, (QUOTES,)),
        ("{'a': \"\\ud83d\\ude00\\/\"}", {"a": "😀/"}, (QUOTES,)),
        ("{'a': 'True, None,]', \"b\": \"'None',}\"}", {"a": "True, None,]", "b": "'None',}"}, (QUOTES,)),
        ("{'n': 1180591620717411303424}", {"n": 2**70}, (QUOTES,)),
        ("{'': {},}", {"": {}}, (QUOTES, COMMAS)),
    ],
)
def test_what_is_read(text: str, read: Any, liberties: tuple[str, ...]) -> None:
    assert isinstance(parse_arguments(text), ParseFailure)
    assert parse_lenient(text) == (read, tuple(sorted(liberties)))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/x')",
        "{'a': __import__('os')}",
        "{'a','b'}",
        "{a: 1}",
        "{1: 2}",
        "{None: 1}",
        "{'a': (1, 2)}",
        "{'a': 'x' 'y'}",
        "{'a': '''x'''}",
        "{'a': b'x'}",
        "{'a': r'x'}",
        "{'a': 1 + 2j}",
        "{'a': 1_000}",
        "{'a': 0x10}",
        "{'a': .5}",
        "{'a': +1}",
        "{'a': -True}",
        "{'a': 1True}",
        "{'a': Nonesuch}",
        "{'a': undefined}",
        "{'a': 1} # done",
        "{'a': 1 /* one */}",
        "```{'a': 1}```",
        "dict(a=1)",
        "{,}",
        "{'a': [,]}",
        "{'a': [1,,]}",
        "{'a':,}",
        "{'a': 1},",
        "{'a': 1,]",
        "{'a': 'http:\\/\\/x'}",
        "{'a': '\\0'}",
        "{'a': 'x\\\ny'}",
        "{'a': '\\U00110000'}",
        "{'a': '\\U0000d800'}",
        "{'a': '\\ud800'}",
        "{'a': '\ud800'}",
        "{'a': '\0'}",
        "\ufeff{'a': 1}",
    ],
)
def test_what_stays_refused(text: str) -> None:
    assert refused(text).code == "ARGUMENTS_NOT_JSON"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("{'a': 1, 'a': 1}", "ARGUMENTS_NOT_JSON", "uplicate"),
        ("{'a': 1, \"\\u0061\": 1}", "ARGUMENTS_NOT_JSON", "uplicate"),
        ("{'o': {'a': 1, '\\x61': 1}}", "ARGUMENTS_NOT_JSON", "uplicate"),
        ("{'a': 1}{'b': 2}", "ARGUMENTS_NOT_JSON", "several JSON values"),
        ("{'a': 1}{'b':", "ARGUMENTS_NOT_JSON", "several JSON values"),
        ("{'a': 'b", "ARGUMENTS_TRUNCATED", "smaller payload"),
        ("{'a': [True, None,", "ARGUMENTS_TRUNCATED", "smaller payload"),
        ("{'a': 'b\\", "ARGUMENTS_TRUNCATED", "smaller payload"),
        ("{'__entity': {}}", "TOOL_ARGUMENT_INVALID", "reserved"),
        ("{'a': [{'\\x5f_extn': 1}]}", "TOOL_ARGUMENT_INVALID", "reserved"),
        ("{'x': NaN}", "ARGUMENTS_NOT_JSON", ""),
        ("{'x': -Infinity}", "ARGUMENTS_NOT_JSON", ""),
        ("{'x': inf}", "ARGUMENTS_NOT_JSON", ""),
        ("{'x': 1e400}", "TOOL_ARGUMENT_INVALID", "finite"),
        ("None", "TOOL_ARGUMENT_INVALID", "one JSON object"),
        ("['a']", "TOOL_ARGUMENT_INVALID", "one JSON object"),
        ("{'a': " * 65 + "1" + "}" * 65, "TOOL_ARGUMENT_INVALID", "flatter"),
        ("{'a': " * 5_000 + "1" + "}" * 5_000, "TOOL_ARGUMENT_INVALID", "flatter"),
    ],
)
def test_every_other_rule_still_holds(text: str, code: str, says: str) -> None:
    failure = refused(text)
    assert failure.code == code
    assert says in failure.message


def test_size_is_that_of_what_was_written() -> None:
    limits = ArgumentLimits(max_bytes=40)
    assert parse_lenient('{\'a\': \'""""""""""""""""""""\'}', limits=limits)[0] == {"a": '"' * 20}
    read, _ = parse_lenient("{'a': '" + "x" * 40 + "'}", limits=limits)
    assert isinstance(read, ParseFailure)
    assert read.code == "TOOL_ARGUMENT_INVALID"


def test_positions_are_those_of_what_was_written() -> None:
    text = "{'a': 'it\\'s \"x\"\n', 'b': \"\\x41\", 'c': oops}"
    message = refused(text).message
    assert f"at character {text.index('oops')}:" in message
    tight = tighten(text)
    assert tight.origin(0) == 0
    assert tight.origin(tight.text.index("oops")) == text.index("oops")
    assert tight.origin(tight.text.index("x") + 2) == text.index("'it")


@pytest.mark.parametrize("arguments", ["", " \n", "null", None, {}])
def test_nothing_means_no_arguments_as_ever(arguments: Any) -> None:
    assert parse_lenient(arguments) == ({}, ())


def test_an_object_is_no_text() -> None:
    assert parse_lenient({"a": "'x'"}) == ({"a": "'x'"}, ())
    assert refused({"a": float("nan")}).code == "TOOL_ARGUMENT_INVALID"


@given(json_objects, st.booleans())
def test_what_strict_reads_lenient_reads_alike(value: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert tighten(text).text == text
    assert parse_lenient(text) == (parse_arguments(text), ())
    assert json.dumps(parse_lenient(text)[0]) == json.dumps(value)


@given(json_objects)
def test_what_python_writes_is_read(value: dict[str, Any]) -> None:
    read, _ = parse_lenient(repr(value))
    assert json.dumps(read) == json.dumps(value)


def loose(value: Any, random: Any) -> str:
    """A JSON value, spelled in one of the ways that are read."""
    if isinstance(value, dict):
        inner = [f"{loose(name, random)}:{loose(item, random)}" for name, item in value.items()]
        return "{" + ",\n".join(inner) + ("," if inner and random.random() < 0.5 else "") + "}"
    if isinstance(value, list):
        inner = [loose(item, random) for item in value]
        return "[" + " , ".join(inner) + (" , " if inner and random.random() < 0.5 else "") + "]"
    text = random.choice([repr, json.dumps, lambda one: json.dumps(one, ensure_ascii=False)])(value)
    return text.replace("\\n", "\n") if "\\\\" not in text and random.random() < 0.5 else text


@given(json_objects, st.randoms(use_true_random=False))
def test_spellings_may_be_mixed(value: dict[str, Any], random: Any) -> None:
    assert json.dumps(parse_lenient(loose(value, random))[0]) == json.dumps(value)


@given(json_objects, st.randoms(use_true_random=False), st.data())
def test_no_prefix_of_an_object_is_read(value: dict[str, Any], random: Any, data: st.DataObject) -> None:
    for text in (json.dumps(value), repr(value), loose(value, random)):
        cut = data.draw(st.integers(1, len(text) - 1))
        assert refused(text[:cut]).code in ("ARGUMENTS_TRUNCATED", "ARGUMENTS_NOT_JSON")


@given(json_objects, json_objects, st.sampled_from(["", " ", ",", "\n"]))
def test_two_objects_never_become_one(one: dict[str, Any], other: dict[str, Any], between: str) -> None:
    for write in (json.dumps, repr):
        refused(f"{write(one)}{between}{write(other)}")


@given(st.text() | st.text("{}[]'\",:\\ \nabxuU0TrueNone1-.e"))
@example("{'\\U00000022':1,'\\U00000022':2}")
def test_any_text_gives_an_object_or_a_failure(text: str) -> None:
    read, liberties = parse_lenient(text)
    assert isinstance(read, dict | ParseFailure)
    assert bool(liberties) <= isinstance(read, dict)


@given(st.lists(st.sampled_from([*"{}[]:,", "'a'", '"a"', "'\\x41'", "None", "True", "1", " ", "''"]), max_size=14))
def test_what_python_reads_too_is_the_same(tokens: list[str]) -> None:
    text = "{" + "".join(tokens) + "}"
    read, liberties = parse_lenient(text)
    if isinstance(read, dict) and liberties:
        assert read == ast.literal_eval(text)
