"""Names, limits, descriptions and notes of an export."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from surehand import ConfigError
from surehand.providers import PROVIDERS, Choice, UserMessage, dialect, export, register_provider, registered
from surehand.providers.offering.names import wire_names
from surehand.providers.offering.root import plain_root
from surehand.providers.offering.words import cut
from surehand.providers.profile import Ability
from surehand.schema import compile_parameters
from surehand.testing.dialect_wire import EITHER, WrittenCall, spec_of, view_of
from tests.providers.wire import AnthropicWire

PATTERN = "[a-zA-Z0-9_-]+"
OPTIONAL = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(10)}}


def test_a_dialect_that_does_not_exist() -> None:
    for name, meant in (
        ("openai", "; did you mean 'openai-chat'?"),
        ("google", "; did you mean 'gemini'?"),
        ("Antropic", "; did you mean 'anthropic'?"),
        ("qqq", ", zhipu"),
    ):
        with pytest.raises(ConfigError, match=rf"no provider '{name}'; choose one of anthropic, .*{re.escape(meant)}$"):
            dialect(name)
    assert all(name == one.profile.name for name, one in PROVIDERS.items())


def test_a_provider_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_known", dict(PROVIDERS))  # other tests are spared from it
    own = replace(dialect("openai-chat").profile, tools_max=1, abilities=frozenset[Ability]())
    register_provider("my-vllm", "openai-chat", own)
    spoken = dialect("my-vllm")
    one = view_of(spec_of("read"))
    assert spoken.export(one).dialect == "my-vllm"
    with pytest.raises(ConfigError, match="my-vllm takes at most 1 tools"):
        spoken.export(view_of(spec_of("read"), spec_of("write")))
    with pytest.raises(ConfigError, match="my-vllm cannot be told: tool choice 'required'"):
        spoken.request([], spoken.export(one), Choice(mode="required"))
    for alias, form, why in (
        ("my-vllm", "openai-chat", "there is a provider 'my-vllm' already"),
        ("", "openai-chat", "a provider needs a name"),
        ("other", "morse", "there is no format 'morse'; choose one of"),
    ):
        with pytest.raises(ConfigError, match=why):
            register_provider(alias, form, own)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"name_pattern": "["}, "name_pattern is no pattern: unterminated"),
        ({"name_start": "("}, "name_start is no pattern"),
        ({"id_pattern": "("}, "id_pattern is no pattern"),
        ({"property_pattern": "("}, "property_pattern is no pattern"),
        ({"name_pattern": "[g-z]+"}, "name_pattern must match `_`, digits"),
        ({"name_max": -1}, "name_max is -1, and must be at least 16"),
        ({"name_min": 100}, "name_min is 100, more than name_max, which is 64"),
        ({"property_max": 0}, "property_max is 0"),
        ({"id_max": 0}, "id_max is 0, and must be at least 16"),
        ({"id_length": 0}, "id_length is 0, and must be at least 1"),
        ({"id_length": 65}, "id_length is 65, and must be at most 64"),
        ({"tools_max": -1}, "tools_max is -1"),
        ({"description_max": -5}, "description_max is -5"),
        ({"optional_max": -1}, "optional_max is -1"),
    ],
)
def test_a_provider_that_nothing_could_be_sent_to(facts: dict[str, Any], why: str) -> None:
    own = replace(dialect("openai-chat").profile, **facts)
    with pytest.raises(ConfigError, match=f"the provider 'own' cannot be: {why}"):
        register_provider("own", "openai-chat", own)
    assert "own" not in PROVIDERS


def test_all_providers_have_facts_that_can_be_kept_to() -> None:
    assert {name: one.profile.problem() for name, one in PROVIDERS.items()} == dict.fromkeys(PROVIDERS, "")


ROOTS: list[tuple[dict[str, Any], set[str], set[str]]] = [
    (
        {
            "$ref": "#/$defs/B",
            "properties": {"x": {"type": "integer"}},
            "required": ["x"],
            "$defs": {"B": {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}},
        },
        {"x", "y"},
        {"x", "y"},
    ),
    ({"type": ["object", "null"], "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"x"}, {"x"}),
]
"""A root, and the properties that it has and requires."""


@pytest.mark.parametrize(("root", "properties", "required"), ROOTS, ids=["a reference and more", "an object or null"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("provider", ["openai-chat", "anthropic", "cohere", "gemini"])
def test_roots_that_say_more(
    provider: str, strict: bool, root: dict[str, Any], properties: set[str], required: set[str]
) -> None:
    (tool,) = dialect(provider).export(view_of(spec_of("f", root)), strict=strict).tools
    given = tool.get("function") or tool.get("functionDeclarations", [tool])[0]
    told = given.get("parameters") or given["input_schema"]
    assert (told["type"].lower(), set(told["properties"]), set(told["required"])) == ("object", properties, required)


CHOICES = [
    ("openai-chat", Choice(), {}),
    ("openai-chat", Choice(mode="none"), {"tool_choice": "none"}),
    ("openai-chat", Choice(mode="required"), {"tool_choice": "required"}),
    (
        "openai-chat",
        Choice(mode="one", tool="a.b"),
        {"tool_choice": {"type": "function", "function": {"name": "a_b"}}},
    ),
    ("openai-chat", Choice(parallel=False), {"parallel_tool_calls": False}),
    ("anthropic", Choice(), {}),
    ("anthropic", Choice(mode="none", parallel=False), {"tool_choice": {"type": "none"}}),
    ("anthropic", Choice(mode="required"), {"tool_choice": {"type": "any"}}),
    ("anthropic", Choice(mode="one", tool="a.b"), {"tool_choice": {"type": "tool", "name": "a_b"}}),
    ("anthropic", Choice(parallel=False), {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
]


@pytest.mark.parametrize(("name", "choice", "said"), CHOICES)
def test_tool_choice(name: str, choice: Choice, said: dict[str, object]) -> None:
    spoken = dialect(name)
    tools = spoken.export(view_of(spec_of("a.b")))
    request = spoken.request([UserMessage(content="go")], tools, choice)
    assert {key: request[key] for key in ("tool_choice", "parallel_tool_calls") if key in request} == said


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (Choice(mode="one"), "names a tool if its mode is 'one'"),
        (Choice(tool="read"), "names a tool if its mode is 'one'"),
        (Choice(mode="one", tool="write"), "cannot be told to call 'write': it is not among the tools"),
        (Choice(mode="required"), "cannot be told to call a tool: the request has none"),
    ],
)
def test_a_choice_that_cannot_be(choice: Choice, why: str) -> None:
    names = () if choice.mode == "required" else ("read",)
    for name in ("openai-chat", "anthropic"):
        spoken = dialect(name)
        with pytest.raises(ConfigError, match=why):
            spoken.request([UserMessage(content="go")], spoken.export(view_of(*map(spec_of, names))), choice)


def test_the_forms() -> None:
    view = view_of(spec_of("read", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}))
    schema = view.tools[0].spec.parameters
    assert export(view, "openai-chat").tools == [
        {"type": "function", "function": {"name": "read", "description": "Does it.", "parameters": schema}}
    ]
    assert export(view, "anthropic").tools == [{"name": "read", "description": "Does it.", "input_schema": schema}]
    closed = {**schema, "additionalProperties": False}
    assert export(view, "anthropic", strict=True).tools == [
        {"name": "read", "description": "Does it.", "input_schema": closed, "strict": True}
    ]
    assert export(view, "openai-chat", strict=True).tools[0]["function"]["strict"] is True


@given(st.sets(st.text("ab.-_é ", min_size=1, max_size=80), max_size=12), st.randoms())
def test_wire_names_are_a_bijection_in_any_order(names: set[str], source: Any) -> None:
    table = wire_names(names, PATTERN, 64)
    shuffled = sorted(names)
    source.shuffle(shuffled)
    assert wire_names(shuffled, PATTERN, 64) == table
    assert len(set(table.values())) == len(names)
    for name, wire in table.items():
        assert re.fullmatch(PATTERN, wire)
        assert len(wire) <= 64
        assert wire == name or not (re.fullmatch(PATTERN, name) and len(name) <= 64)


def test_a_name_made_to_collide_with_a_hash() -> None:
    first = wire_names(["a.b", "a_b"], PATTERN, 64)["a.b"]
    table = wire_names(["a.b", "a_b", first], PATTERN, 64)
    assert table[first] == first
    assert table["a.b"].startswith(first)
    assert len(set(table.values())) == 3


def test_exports_are_kept() -> None:
    view = view_of(spec_of("read"))
    assert export(view, "anthropic") is export(view, "anthropic")
    assert export(view, "anthropic") is not export(view, "anthropic", strict=True)
    for number in range(200):
        export(view_of(spec_of(f"read{number}")), "anthropic")
    assert export(view, "anthropic").tools[0]["name"] == "read"


def test_more_tools_than_openai_takes() -> None:
    view = view_of(*(spec_of(f"t{i:03}") for i in range(129)))
    with pytest.raises(ConfigError, match="at most 128 tools in one request, and this view has 129"):
        export(view, "openai-chat")
    assert len(export(view, "anthropic")) == 129


def test_strict_limits_of_a_request_fall_back_tool_by_tool() -> None:
    many = export(view_of(*(spec_of(f"t{i:02}") for i in range(25))), "anthropic", strict=True)
    assert [tool["strict"] for tool in many] == [True] * 20 + [False] * 5
    assert len(many.notes) == 5
    assert many.notes[0] == "t20: unsupported, sent without strict: more than 20 strict tools in one request"
    optional = [spec_of(name, deepcopy(OPTIONAL)) for name in ("a", "b", "c")]
    wide = export(view_of(*optional, spec_of("d")), "anthropic", strict=True)
    assert [tool["strict"] for tool in wide] == [True, True, False, True]
    assert wide.tools[2]["input_schema"] == OPTIONAL
    union = {"type": "object", "properties": {"p": {"type": ["string", "null"]}}, "required": ["p"]}
    unions = export(view_of(*(spec_of(f"u{i:02}", deepcopy(union)) for i in range(17))), "anthropic", strict=True)
    assert [tool["strict"] for tool in unions] == [True] * 16 + [False]


def test_long_descriptions_are_cut_at_a_sentence() -> None:
    long = "One sentence. " * 100
    sent = export(view_of(spec_of("read", description=long)), "openai-chat")
    description = sent.tools[0]["function"]["description"]
    assert len(description) <= 1024
    assert description.endswith("One sentence.")
    assert sent.notes == ("read: description cut to 1024 characters",)
    assert export(view_of(spec_of("read", description=long)), "anthropic").tools[0]["description"] == long
    ruled = export(view_of(spec_of("post", deepcopy(EITHER), description=long)), "openai-chat")
    described = ruled.tools[0]["function"]["description"]
    assert len(described) <= 1024
    assert described.endswith("At least one of these holds: given `text`; given `url`.")


@given(st.text(max_size=300), st.text(max_size=300), st.integers(20, 200))
def test_a_cut_description_always_fits(description: str, rules: str, length_max: int) -> None:
    assert len(cut(description, rules, length_max)) <= length_max
    assert cut(description, "", None) == description


C06 = {
    "type": "object",
    "properties": {
        "$top": {"type": "integer"},
        "filter[id]": {"type": "string"},
        "filter_id": {"type": "string"},
        "Account Number": {"type": "string"},
        "k" * 70: {"type": "string"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"@id": {"type": "string"}}}},
        "free": {"type": "object", "additionalProperties": {"type": "string"}},
        "again": {"$ref": "#/properties/$top"},
    },
    "required": ["filter[id]"],
    "dependentRequired": {"$top": ["Account Number"]},
}


def test_C06_property_names_are_renamed_and_come_back() -> None:
    sent = export(view_of(spec_of("query", deepcopy(C06))), "anthropic")
    schema = sent.tools[0]["input_schema"]
    keys = list(schema["properties"])
    assert len(set(keys)) == 8
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in keys)
    assert set(schema["required"]) <= set(keys)
    compile_parameters(schema, "exported")
    assert "`$top` to `_top`" in sent.notes[0]
    top, filters, plain, account, long = keys[:5]
    assert plain == "filter_id"
    (item_id,) = schema["properties"]["rows"]["items"]["properties"]
    written = {top: 5, filters: "7", plain: "8", account: "9", long: "10", "rows": [{item_id: "r"}], "free": {top: "x"}}
    wire = AnthropicWire()
    response = wire.response("", [WrittenCall("c1", "query", json.dumps(written))], "tool_use")
    (call,) = wire.dialect.decode(response, sent).calls
    assert call.arguments == {
        "$top": 5,
        "filter[id]": "7",
        "filter_id": "8",
        "Account Number": "9",
        "k" * 70: "10",
        "rows": [{"@id": "r"}],
        "free": {top: "x"},
    }


def test_C06_the_rules_of_the_root_use_the_names_on_the_wire() -> None:
    schema = {"type": "object", "anyOf": [{"properties": {"a b": {"type": "null"}}, "required": ["a b"]}]}
    (tool,) = export(view_of(spec_of("f", schema)), "anthropic")
    assert list(tool["input_schema"]["properties"]) == ["a_b"]
    assert "given `a_b`" in tool["description"]


def test_C06_under_strict_and_in_alternatives() -> None:
    one = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]}
    two = {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]}
    schema = {"type": "object", "properties": {"x": {"anyOf": [one, two]}}, "required": ["x"]}
    sent = export(view_of(spec_of("f", schema)), "anthropic", strict=True)
    assert sent.tools[0]["strict"] is True
    first, second = (list(one["properties"]) for one in sent.tools[0]["input_schema"]["properties"]["x"]["anyOf"])
    assert first != second
    wire = AnthropicWire()
    for (key,), real in ((first, "a b"), (second, "a/b")):
        response = wire.response("", [WrittenCall("c1", "f", json.dumps({"x": {key: 1}}))], "tool_use")
        assert wire.dialect.decode(response, sent).calls[0].arguments == {"x": {real: 1}}


def test_C05_the_root() -> None:
    schema, rules = plain_root(EITHER, frozenset({"anyOf"}))
    assert schema == {
        "type": "object",
        "properties": {"ws": {"type": "string"}, "text": {"type": "string"}, "url": {"type": "string"}},
        "required": ["ws"],
    }
    assert rules == ["At least one of these holds: given `text`; given `url`."]
    assert "anyOf" in EITHER
    original = compile_parameters(EITHER, "original")
    assert original.errors({"ws": "1"})
    assert not original.errors({"ws": "1", "url": "u"})


def test_other_combinators_at_the_root() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "allOf": [{"$ref": "#/$defs/b"}, {"anyOf": [{"required": ["a"]}, {"required": ["c"]}]}],
        "oneOf": [{"properties": {"k": {"const": 1}}}, {"properties": {"k": {"const": 2}}}],
        "not": {"required": ["z"]},
        "$defs": {"b": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}},
    }
    plain, rules = plain_root(schema, frozenset({"allOf", "oneOf", "not"}))
    assert plain["properties"]["b"] == {"type": "integer"}
    assert plain["properties"]["k"] == {"anyOf": [{"const": 1}, {"const": 2}]}
    assert plain["required"] == ["b"]
    assert plain.keys() == {"type", "properties", "required", "$defs"}
    assert rules == [
        'All of these hold: {"$ref":"#/$defs/b"}; {"anyOf":[{"required":["a"]},{"required":["c"]}]}.',
        'The arguments also satisfy {"not":{"required":["z"]}}.',
        'Exactly one of these holds: {"properties":{"k":{"const":1}}}; {"properties":{"k":{"const":2}}}.',
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_a_root_that_is_a_reference_is_entered(strict: bool) -> None:
    item = {"type": "object", "properties": {"next": {"$ref": "#/$defs/item"}, "n": {"type": "integer"}}}
    schema = {"$ref": "#/$defs/again", "$defs": {"again": {"$ref": "#/$defs/item"}, "item": item}}
    sent = export(view_of(spec_of("f", schema)), "openai-chat", strict=strict)
    parameters = sent.tools[0]["function"]["parameters"]
    assert (parameters["type"], parameters["properties"].keys()) == ("object", {"next", "n"})
    assert "$ref" not in parameters
    call = {"id": "c1", "function": {"name": "f", "arguments": '{"n":1,"next":null}'}}
    turn = dialect("openai-chat").decode({"choices": [{"message": {"tool_calls": [call]}}]}, sent)
    assert turn.calls[0].arguments == ({"n": 1} if strict else '{"n":1,"next":null}')
    endless = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert plain_root(endless, frozenset())[0]["properties"] == {}


def test_a_closed_root_gets_no_more_properties() -> None:
    schema = EITHER | {"additionalProperties": False}
    assert plain_root(schema, frozenset({"anyOf"}))[0]["properties"].keys() == {"ws"}


def test_a_schema_beyond_all_bounds_is_left_out_with_a_note() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(40):
        deep = {"type": "object", "properties": {"x": deep}}
    sent = export(view_of(spec_of("bad", deep), spec_of("good")), "anthropic")
    assert [tool["name"] for tool in sent] == ["good"]
    assert sent.notes[0].startswith("bad: left out: ")


def test_the_order_of_properties_is_that_of_the_contract() -> None:
    """Whatever was exported before: equal contracts have one digest."""
    a, b = {"type": "string"}, {"type": "integer"}
    for properties in ({"a": a, "b": b}, {"b": b, "a": a}):
        view = view_of(spec_of("f", {"type": "object", "properties": properties}))
        (tool,) = export(view, "anthropic").tools
        assert list(tool["input_schema"]["properties"]) == list(properties)
        assert export(view, "anthropic") is export(view, "anthropic")
