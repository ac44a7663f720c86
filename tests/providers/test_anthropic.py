"""What is peculiar to `anthropic`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.providers import (
    CallDelta,
    CallResult,
    ModelTurn,
    ResultMessage,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
)
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.test_openai_chat import CALLS
from tests.providers.wire import AnthropicWire

WIRE = AnthropicWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("now", "f", "g", "read"))))
EMPTY = WIRE.dialect.export(view_of())
END = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **given: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": given}


def json_delta(index: int, text: str) -> dict[str, Any]:
    return delta(index, type="input_json_delta", partial_json=text)


def use(index: int, call_id: str = "t1", name: str = "now") -> dict[str, Any]:
    return start(index, type="tool_use", id=call_id, name=name, input={})


def folded(*events: dict[str, Any]) -> ModelTurn:
    fold = WIRE.dialect.fold(EXPORT)
    for event in events:
        fold.feed(event)
    return fold.end()


def test_C08_the_placeholder_is_not_glued_to_the_input() -> None:
    assert folded(use(0), json_delta(0, '{"tz":"UTC"}'), END).calls[0].arguments == {"tz": "UTC"}
    assert folded(use(0), END).calls[0].arguments == {}
    assert folded(use(0), json_delta(0, ""), END).raw["content"][0]["input"] == {}


def test_thinking_goes_back_with_its_signature() -> None:
    turn = folded(
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Well, "),
        delta(0, type="thinking_delta", thinking="well."),
        delta(0, type="signature_delta", signature="c2ln"),
        {"type": "content_block_stop", "index": 0},
        start(1, type="redacted_thinking", data="xx"),
        start(2, type="text", text="", citations=None),
        delta(2, type="text_delta", text="Look"),
        delta(2, type="citations_delta", citation={"type": "char_location", "cited_text": "a"}),
        use(3),
        json_delta(3, "{}"),
        delta(9, type="text_delta", text="nowhere"),
        delta(2, type="of the future"),
        END,
    )
    content = [
        {"type": "thinking", "thinking": "Well, well.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "Look", "citations": [{"type": "char_location", "cited_text": "a"}]},
        {"type": "tool_use", "id": "t1", "name": "now", "input": {}},
    ]
    assert turn.raw == {"role": "assistant", "content": content}
    assert (turn.text, turn.stop, turn.usage) == ("Look", "tool_calls", Usage(input_tokens=5, output_tokens=9))
    assert WIRE.assistants(WIRE.dialect.request([UserMessage(content="go"), turn], EXPORT)) == [turn.raw]


def test_thinking_that_was_cut_does_not_go_back() -> None:
    turn = folded(start(0, type="thinking", thinking="", signature=""), delta(0, type="thinking_delta", thinking="W"))
    assert (turn.stop, turn.truncated_call, turn.calls) == ("length", False, ())
    request = WIRE.dialect.request([UserMessage(content="go"), turn, UserMessage(content="again")], EXPORT)
    (message,) = request["messages"]
    assert [block["text"] for block in message["content"]] == ["go", "again"]


def test_blocks_that_share_an_index() -> None:
    turn = folded(use(0, "a", "f"), json_delta(0, '{"x":1}'), use(0, "b", "g"), json_delta(0, '{"x":2}'), END)
    assert [(call.id, call.name, call.arguments) for call in turn.calls] == [("a", "f", {"x": 1}), ("b", "g", {"x": 2})]


@pytest.mark.parametrize(
    ("text", "sent"), [('{"a":', {}), ('{"a":1,"a":2}', {"a": 2}), ("[1]", {}), ('{"a":1e400}', {})]
)
def test_C56_an_input_that_is_not_one_object(text: str, sent: dict[str, Any]) -> None:
    turn = folded(use(0, name="f"), json_delta(0, text), END)
    assert turn.calls[0].arguments == text
    assert turn.raw["content"][0]["input"] == sent
    result = ResultMessage(results=(CallResult(tool_call_id="t1", content="invalid JSON", is_error=True),))
    request = WIRE.dialect.request([UserMessage(content="go"), turn, result], EXPORT)
    assert WIRE.calls(request)[0].arguments == sent
    assert (text in WIRE.results(request)[0].content) == (sent == {})
    assert request["messages"][2]["content"][0]["is_error"] is True


@pytest.mark.parametrize(("given", "arguments"), [(None, ""), ("", ""), ("null", ""), ('{"a"', '{"a"'), ([1], "[1]")])
def test_C08_a_whole_input_that_is_no_object(given: Any, arguments: str) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": given}
    turn = WIRE.dialect.decode({"content": [block], "stop_reason": "tool_use"}, EXPORT)
    assert turn.calls[0].arguments == arguments
    assert WIRE.calls(WIRE.dialect.request([turn], EXPORT))[0].arguments == {}


@pytest.mark.parametrize(
    ("word", "has_calls", "stop"),
    [
        ("end_turn", False, "stop"),
        ("end_turn", True, "tool_calls"),
        ("stop_sequence", False, "stop"),
        ("tool_use", True, "tool_calls"),
        ("tool_use", False, "stop"),
        ("max_tokens", True, "length"),
        ("model_context_window_exceeded", False, "length"),
        ("pause_turn", False, "pause"),
        ("pause_turn", True, "tool_calls"),
        ("refusal", True, "refusal"),
    ],
)
def test_C21_stop_reasons(word: str, has_calls: bool, stop: str) -> None:
    calls = [WrittenCall("t1", "f")] if has_calls else []
    turn = WIRE.dialect.decode(WIRE.response("x", calls, word), EXPORT)
    assert (turn.stop, turn.raw_stop, len(turn.calls)) == (stop, word, len(calls))


def test_a_refusal() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
    response = {"content": [], "stop_reason": "refusal", "stop_details": details}
    turn = WIRE.dialect.decode(response, EXPORT)
    assert (turn.stop, turn.refusal) == ("refusal", "It could do harm.")
    streamed = folded({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}})
    assert (streamed.stop, streamed.refusal) == ("refusal", "It could do harm.")
    told = WIRE.assistants(WIRE.dialect.request([UserMessage(content="go"), turn], EXPORT))
    assert told == [{"role": "assistant", "content": [{"type": "text", "text": "It could do harm."}]}]


def test_an_error_in_the_stream() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    turn = folded(use(0), json_delta(0, "{}"), END, error)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", "overloaded_error", True)


def test_what_is_shown() -> None:
    fold = WIRE.dialect.fold(EXPORT)
    assert fold.feed(start(0, type="text", text="A")) == [TextDelta(text="A")]
    assert fold.feed(delta(0, type="text_delta", text="B")) == [TextDelta(text="B")]
    assert fold.feed(use(1, name="functions.f")) == [CallDelta(position=0, id="t1", name="f")]
    assert fold.feed(start(2, type="server_tool_use", id="s1", name="web_search", input={})) == []
    fold.feed(json_delta(2, '{"query":"x"}'))
    turn = fold.end()
    assert (turn.text, len(turn.calls)) == ("AB", 1)
    assert turn.raw["content"][2]["input"] == {"query": "x"}


def test_roles_alternate_and_results_come_first() -> None:
    calls = [WrittenCall("t1", "f"), WrittenCall("t2", "g")]
    results = tuple(CallResult(tool_call_id=name, content=text) for name, text in (("t1", "r1"), ("t2", " ")))
    request = WIRE.dialect.request(
        [
            SystemMessage(content="Be brief."),
            UserMessage(content="go"),
            UserMessage(content="now"),
            WIRE.dialect.decode(WIRE.response("", calls, "tool_use"), EXPORT),
            SystemMessage(content="Be kind."),
            UserMessage(content="and"),
            ResultMessage(results=results),
            WIRE.dialect.decode(WIRE.response("One", [], "pause_turn"), EXPORT),
            WIRE.dialect.decode(WIRE.response("two", [], "end_turn"), EXPORT),
        ],
        EXPORT,
    )
    assert request["system"] == "Be brief.\n\nBe kind."
    assert request["tools"] == EXPORT.tools
    asked, called, answered, said = request["messages"]
    assert [block["text"] for block in asked["content"]] == ["go", "now"]
    assert [block["id"] for block in called["content"]] == ["t1", "t2"]
    assert answered == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "r1"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "(no output)"},
            {"type": "text", "text": "and"},
        ],
    }
    assert [block["text"] for block in said["content"]] == ["One", "two"]


def test_C18_ids_fit_the_pattern() -> None:
    turn = WIRE.dialect.decode(
        WIRE.response("", [WrittenCall("x:1", "f"), WrittenCall("x:1", "g")], "tool_use"), EXPORT
    )
    sent = WIRE.calls(WIRE.dialect.request([turn], EXPORT))
    assert [call.id for call in sent] == ["x_1", "x_1_2"]


def test_a_history_with_calls_needs_a_tool() -> None:
    turn = WIRE.dialect.decode(WIRE.response("", [WrittenCall("t1", "f")], "tool_use"), EXPORT)
    request = WIRE.dialect.request([UserMessage(content="go"), turn], EMPTY)
    assert request["tool_choice"] == {"type": "none"}
    assert len(request["tools"]) == 1
    assert WIRE.dialect.request([UserMessage(content="go")], EMPTY).keys() == {"messages"}


@settings(max_examples=40)
@given(st.text(max_size=30), CALLS, st.data())
def test_any_cutting_gives_the_same_turn(text: str, written: list[WrittenCall], data: st.DataObject) -> None:
    def cut(whole: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=4)))
        return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]

    objects = [
        WrittenCall(call.id, call.name, call.arguments if is_object(call.arguments) else "{}") for call in written
    ]
    response = WIRE.response(text, objects, "end_turn")
    turn = folded(*WIRE.stream(response, cut))
    assert turn == WIRE.dialect.decode(response, EXPORT)
    request = WIRE.dialect.request([UserMessage(content="go"), turn, turn], EXPORT)
    sent = WIRE.calls(request)
    assert len({call.id for call in sent}) == 2 * len(objects)
    assert [one.id for one in WIRE.results(request)] == [call.id for call in sent]


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
