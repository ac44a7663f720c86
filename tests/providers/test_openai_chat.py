"""What is peculiar to `openai-chat` and to the servers that speak it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.providers import (
    ArgumentsDelta,
    CallDelta,
    CallResult,
    ModelTurn,
    ResultMessage,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
    dialect,
)
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.wire import OpenAIChatWire

WIRE = OpenAIChatWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("ls", "add", "f", "g", "read"))))


def chunk(*pieces: dict[str, Any], finish: str | None = None, choice: int = 0, **delta: Any) -> dict[str, Any]:
    given = {**delta, "tool_calls": list(pieces)} if pieces else delta
    return {"choices": [{"index": choice, "delta": given, "finish_reason": finish}]}


def piece(index: int | None, name: str | None = None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    found = {**more, "function": {key: value for key, value in function.items() if value is not None}}
    return found if index is None else {**found, "index": index}


def folded(*chunks: dict[str, Any], finish: str = "tool_calls") -> ModelTurn:
    fold = WIRE.dialect.fold(EXPORT)
    for one in chunks:
        fold.feed(one)
    fold.feed(chunk(finish=finish))
    return fold.end()


def calls(turn: ModelTurn) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, call.arguments) for call in turn.calls]


@pytest.mark.parametrize("choice", [0, 1])
def test_C09_two_entries_of_one_call_in_a_chunk(choice: int) -> None:
    turn = folded(
        chunk(piece(0, "ls", id="c1", type="function"), piece(0, None, '{"p":'), choice=choice),
        chunk(piece(0, None, "1}"), choice=choice),
    )
    assert calls(turn) == [("c1", "ls", '{"p":1}')]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [chunk(piece(0, "add", '{"x":1}', id="c1"), piece(0, "add", '{"x":2}', id="c2"))],
            [("c1", "add", '{"x":1}'), ("c2", "add", '{"x":2}')],
            id="A-one-index-for-all",
        ),
        pytest.param(
            [
                chunk(piece(0, "f", "", id="c1")),
                chunk(piece(1, "g", "", id="c2")),
                chunk(piece(0, None, '{"a":1}')),
                chunk(piece(1, None, '{"b":2}', id=None)),
            ],
            [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
            id="B-interleaved",
        ),
        pytest.param(
            [chunk(piece(None, "f", "{}", id="c1"), piece(None, "g", "{}", id="c2"))],
            [("c1", "f", "{}"), ("c2", "g", "{}")],
            id="C-no-index",
        ),
        pytest.param(
            [
                chunk(piece(0, "f", "", id="c1")),
                chunk(piece(0, "g", "", id="c2")),
                chunk(piece(0, None, '{"a"', id="c1"), piece(0, None, "{", id="c2")),
                chunk(piece(0, None, ":1}", id="c1"), piece(0, None, "}", id="")),
            ],
            [("c1", "f", '{"a":1}'), ("c2", "g", "{}")],
            id="ids-with-every-piece",
        ),
        pytest.param(
            [chunk(piece(0, "f", '{"a"', id="c1")), chunk(piece(0, "f", ":1}", id="c1"))],
            [("c1", "f", '{"a":1}')],
            id="name-with-every-piece",
        ),
        pytest.param(
            [chunk(piece(0, "f", '{"a":1}')), chunk(piece(0, "f", '{"a":2}'))],
            [("", "f", '{"a":1}'), ("", "f", '{"a":2}')],
            id="no-ids-at-all",
        ),
        pytest.param(
            [chunk(piece(0, "re")), chunk(piece(0, "ad")), chunk(piece(0, None, "{}"), id="late")],
            [("", "read", "{}")],
            id="name-in-pieces",
        ),
        pytest.param(
            [chunk(piece(0, "f", "", id="c1")), chunk(piece(None, None, "{}"))], [("c1", "f", "{}")], id="index-once"
        ),
        pytest.param(
            [chunk(piece(0, "f", "{}", id="x:1")), chunk(piece(1, "f", "{}", id="x:1"))],
            [("x:1", "f", "{}"), ("x:1", "f", "{}")],
            id="C18-one-id-twice",
        ),
    ],
)
def test_C10_calls_are_told_apart(chunks: list[dict[str, Any]], expected: list[Any]) -> None:
    turn = folded(*chunks)
    assert calls(turn) == expected
    assert "index" not in str(turn.raw)


def test_a_call_is_shown_when_its_name_is_whole() -> None:
    fold = WIRE.dialect.fold(EXPORT)
    assert fold.feed(chunk(content="Hm", role="assistant")) == [TextDelta(text="Hm")]
    assert fold.feed(chunk(piece(0, "re", id="c1"))) == []
    assert fold.feed(chunk(piece(0, "ad"))) == []
    assert fold.feed(chunk(piece(0, None, "{"))) == [
        CallDelta(position=0, id="c1", name="read"),
        ArgumentsDelta(position=0, text="{"),
    ]
    rest = fold.feed(chunk(piece(0, None, "}"), piece(1, "functions.f", "", id="c2")))
    assert rest == [ArgumentsDelta(position=0, text="}")]
    assert fold.feed(chunk(finish="tool_calls")) == [CallDelta(position=1, id="c2", name="f")]


def test_usage_comes_alone_and_last() -> None:
    fold = WIRE.dialect.fold(EXPORT)
    fold.feed({**chunk(content="Hi"), "usage": None})
    fold.feed({**chunk(finish="stop"), "usage": None})
    fold.feed({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    turn = fold.end()
    assert (turn.text, turn.stop, turn.usage) == ("Hi", "stop", Usage(input_tokens=3, output_tokens=2))


def test_a_stream_that_fails_is_a_cut_answer() -> None:
    turn = folded(chunk(piece(0, "f", "{}", id="c1")), {"error": {"message": "upstream"}, "choices": []})
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", "error", True)


def test_C20_unknown_fields_are_kept_and_go_back() -> None:
    whole = {"role": "assistant", "content": "", "reasoning_content": "because"}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra": {"sig": "c2ln"}}
    response = {"choices": [{"message": {**whole, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    turn = WIRE.dialect.decode(response, EXPORT)
    streamed = folded(
        chunk(role="assistant", content="", reasoning_content="be"),
        chunk(reasoning_content="cause"),
        chunk({**piece(0, "f", "{}", id="c1"), "type": "function", "extra": {"sig": "c2ln"}}),
    )
    assert streamed.raw == turn.raw == {**whole, "tool_calls": [call]}
    request = WIRE.dialect.request([UserMessage(content="go"), turn], EXPORT)
    assert request["messages"][1] == turn.raw
    other = dialect("anthropic").request([UserMessage(content="go"), turn], dialect("anthropic").export(view_of()))
    assert "because" not in str(other)
    assert "c2ln" not in str(other)


def test_the_form_from_before_tool_calls() -> None:
    message = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}
    turn = WIRE.dialect.decode({"choices": [{"message": message, "finish_reason": "function_call"}]}, EXPORT)
    assert (calls(turn), turn.stop) == ([("", "f", '{"a":1}')], "tool_calls")
    streamed = folded(
        chunk(role="assistant", content=None, function_call={"name": "f", "arguments": ""}),
        chunk(function_call={"arguments": '{"a"'}),
        chunk(function_call={"arguments": ":1}"}),
        finish="function_call",
    )
    assert streamed == turn
    results = ResultMessage(results=(CallResult(tool_call_id="", content="r"),))
    assert WIRE.dialect.request([turn, results], EXPORT)["messages"] == [
        message,
        {"role": "function", "name": "f", "content": "r"},
    ]


@pytest.mark.parametrize(
    ("word", "has_calls", "stop"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("function_call", True, "tool_calls"),
        ("length", True, "length"),
        ("content_filter", True, "content_filter"),
        ("insufficient_system_resource", False, "resources"),
        ("insufficient_system_resource", True, "resources"),
        ("", True, "tool_calls"),
        ("eos", True, "tool_calls"),
        ("eos", False, "unknown"),
    ],
)
def test_C21_stop_reasons(word: str, has_calls: bool, stop: str) -> None:
    turn = WIRE.dialect.decode(WIRE.response("x", [WrittenCall("c1", "f")] if has_calls else [], word), EXPORT)
    assert (turn.stop, turn.raw_stop) == (stop, word)
    assert turn.truncated_call == (has_calls and stop in ("length", "resources"))
    assert ("tool_calls" in turn.raw) == has_calls


@pytest.mark.parametrize("nothing", [None, []])
def test_C21_no_key_for_no_calls(nothing: Any) -> None:
    message = {"role": "assistant", "content": "x", "tool_calls": nothing, "function_call": None, "refusal": None}
    turn = WIRE.dialect.decode({"choices": [{"message": message, "finish_reason": "tool_calls"}]}, EXPORT)
    assert (turn.stop, turn.raw) == ("stop", {"role": "assistant", "content": "x"})


def test_a_refusal() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    turn = WIRE.dialect.decode({"choices": [{"message": message, "finish_reason": "stop"}]}, EXPORT)
    assert (turn.stop, turn.refusal, turn.text) == ("refusal", "I cannot.", "")
    assert folded(chunk(role="assistant", content=None, refusal="I can"), chunk(refusal="not."), finish="stop") == turn
    assert WIRE.dialect.request([turn], EXPORT)["messages"] == [message]


@pytest.mark.parametrize("written", ["", "  \n", "null", "{}", None, "absent"])
def test_C08_arguments_that_are_none(written: str | None) -> None:
    function: dict[str, Any] = {"name": "f"} if written == "absent" else {"name": "f", "arguments": written}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}
    turn = WIRE.dialect.decode({"choices": [{"message": message, "finish_reason": "stop"}]}, EXPORT)
    assert turn.calls[0].arguments == ("{}" if written == "{}" else "")
    (call,) = WIRE.dialect.request([turn], EXPORT)["messages"][0]["tool_calls"]
    assert call == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/x')",
        "{\"on\": True, 'who': None}",
        '{"items": [{"a": true}],}',
        '{"t":"line1\nline2"}',
        "{'a','b'}",
    ],
)
def test_C52_loose_json_stays_as_it_was_written(text: str) -> None:
    turn = WIRE.dialect.decode(WIRE.response("", [WrittenCall("c1", "f", text)], "tool_calls"), EXPORT)
    assert turn.calls[0].arguments == text
    request = WIRE.dialect.request([turn], EXPORT)
    assert [call.arguments for call in WIRE.calls(request)] == [{}]
    assert text in WIRE.results(request)[0].content
    assert turn.raw["tool_calls"][0]["function"]["arguments"] == text


def test_arguments_as_an_object() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hm"}], "tool_calls": [call, None]}
    turn = WIRE.dialect.decode({"choices": [{"message": message, "finish_reason": "stop"}]}, EXPORT)
    assert (turn.text, calls(turn)) == ("Hm", [("c1", "f", {"a": 1})])
    assert [call.arguments for call in WIRE.calls(WIRE.dialect.request([turn], EXPORT))] == [{"a": 1}]


def test_what_the_api_would_refuse_is_mended_in_what_goes_back() -> None:
    written = [WrittenCall("c1", "functions.f"), WrittenCall("c1", "no such"), WrittenCall("y" * 50, "")]
    turn = WIRE.dialect.decode(WIRE.response("", written, "tool_calls"), EXPORT)
    custom = {"id": "c1", "type": "custom", "custom": {"name": "x", "input": "y"}}
    message = {"role": "assistant", "content": None, "tool_calls": [custom]}
    other = WIRE.dialect.decode({"choices": [{"message": message}]}, EXPORT)
    request = WIRE.dialect.request([turn, other], EXPORT)
    first, second = WIRE.assistants(request)
    assert [call["function"]["name"] for call in first["tool_calls"]] == ["f", "no_such", "_"]
    ids = [call["id"] for call in [*first["tool_calls"], *second["tool_calls"]]]
    assert (ids[:2], ids[3]) == (["c1", "c1_2"], "c1_3")
    assert len(ids[2]) == 40
    assert second["tool_calls"][0]["custom"] == custom["custom"]


def test_the_parts_of_a_request() -> None:
    request = WIRE.dialect.request([SystemMessage(content="Be brief."), UserMessage(content="Hi")], EXPORT)
    assert request == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "tools": EXPORT.tools,
    }
    assert "tools" not in WIRE.dialect.request([UserMessage(content="Hi")], WIRE.dialect.export(view_of()))
    turn = ModelTurn(dialect="anthropic", text="Hello", raw={"content": [{"type": "text", "text": "Hello"}]})
    assert WIRE.dialect.request([turn], EXPORT)["messages"] == [{"role": "assistant", "content": "Hello"}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.lists(
    st.builds(
        WrittenCall,
        st.sampled_from(["c1", "c2", "c3", "x:1"]),
        st.sampled_from(["f", "g", "functions.read", "ghost"]),
        st.one_of(st.dictionaries(st.text(max_size=4), JSON, max_size=3).map(json.dumps), st.text(max_size=12)),
    ),
    max_size=4,
)


@settings(max_examples=40)
@given(st.text(max_size=30), CALLS, st.data())
def test_any_cutting_gives_the_same_turn(text: str, written: list[WrittenCall], data: st.DataObject) -> None:
    def cut(whole: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=4)))
        return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]

    response = WIRE.response(text, written, "stop")
    fold = WIRE.dialect.fold(EXPORT)
    for event in WIRE.stream(response, cut):
        fold.feed(event)
    turn = fold.end()
    assert turn == WIRE.dialect.decode(response, EXPORT)
    request = WIRE.dialect.request([UserMessage(content="go"), turn, turn], EXPORT)
    sent = WIRE.calls(request)
    assert len({call.id for call in sent}) == 2 * len(written)
    assert [one.id for one in WIRE.results(request)] == [call.id for call in sent]
    assert all(isinstance(call.arguments, dict) for call in sent)
