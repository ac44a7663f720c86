"""What is peculiar to `bedrock`. botocore's service model judges every request, and parses every answer."""

from __future__ import annotations

import importlib
import json
import re
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand import ConfigError
from surehand.call import ToolCall
from surehand.providers import (
    CallDelta,
    CallResult,
    Choice,
    Delta,
    Media,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
    export,
)
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.test_anthropic import is_object
from tests.providers.test_export import C06
from tests.providers.test_openai_chat import CALLS
from tests.providers.wire_bedrock import SERVICE, BedrockWire, problems

WIRE = BedrockWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("now", "f", "g", "read"))))
EMPTY = WIRE.dialect.export(view_of())
GO = UserMessage(content="go")
END: dict[str, Any] = {"messageStop": {"stopReason": "tool_use"}}
PNG = bytes.fromhex("89504e470d0a1a0a")
_parsers: Any = importlib.import_module("botocore.parsers")


def start(index: int, call_id: str = "t1", name: str = "now", **more: Any) -> dict[str, Any]:
    use = {"toolUseId": call_id, "name": name, **more}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}


def delta(index: int, **given: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": given}}


def piece(index: int, text: str) -> dict[str, Any]:
    return delta(index, toolUse={"input": text})


def shown(*events: dict[str, Any]) -> tuple[ModelTurn, list[Delta]]:
    fold = WIRE.dialect.fold(EXPORT)
    deltas = [one for event in events for one in fold.feed(event)]
    return fold.end(), deltas


def folded(*events: dict[str, Any]) -> ModelTurn:
    return shown(*events)[0]


def parsed(body: dict[str, Any]) -> dict[str, Any]:
    """What boto3 gives for the body of an answer."""
    response = {"status_code": 200, "headers": {}, "body": json.dumps(body).encode()}
    found: dict[str, Any] = _parsers.create_parser("rest-json").parse(
        response, SERVICE.operation_model("Converse").output_shape
    )
    return found


def sent(*messages: Any) -> dict[str, Any]:
    request = WIRE.dialect.request(messages, EXPORT)
    assert problems(request) == ""
    return request


def test_C06_property_names_are_renamed_and_come_back() -> None:
    offered = export(view_of(spec_of("query", deepcopy(C06))), "bedrock")
    assert problems({"toolConfig": {"tools": offered.tools}}) == ""
    schema = offered.tools[0]["toolSpec"]["inputSchema"]["json"]
    keys = list(schema["properties"])
    assert len(set(keys)) == 8
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", key) for key in keys)
    assert set(schema["required"]) <= set(keys)
    written = dict(zip(keys[:5], [5, "7", "8", "9", "10"], strict=True))
    response = WIRE.response("", [WrittenCall("c1", "query", json.dumps(written))], "tool_use")
    (call,) = WIRE.dialect.decode(response, offered).calls
    assert call.arguments == dict(zip(list(C06["properties"])[:5], [5, "7", "8", "9", "10"], strict=True))


@pytest.mark.parametrize(("given", "arguments"), [(None, ""), ("", ""), ("null", ""), ('{"a"', '{"a"'), ([1], "[1]")])
def test_C08_an_input_that_is_no_object(given: Any, arguments: str) -> None:
    block = {"toolUse": {"toolUseId": "t1", "name": "f", "input": given}}
    answer = {"output": {"message": {"content": [block]}}, "stopReason": "tool_use"}
    turn = WIRE.dialect.decode(answer, EXPORT)
    assert turn.calls[0].arguments == arguments
    assert WIRE.calls(sent(GO, turn))[0].arguments == {}


def test_C08_nothing_streamed_is_an_empty_input() -> None:
    assert folded(start(0), piece(0, '{"tz":"UTC"}'), END).calls[0].arguments == {"tz": "UTC"}
    for none in ([], [piece(0, "")], [piece(0, " \n")], [piece(0, "null")]):
        assert folded(start(0), *none, END).raw["content"][0]["toolUse"]["input"] == {}


@pytest.mark.parametrize(
    ("text", "back"), [('{"a":', {}), ('{"a":1,"a":2}', {"a": 2}), ("[1]", {}), ('{"a":1e400}', {})]
)
def test_C56_an_input_that_is_not_one_object(text: str, back: dict[str, Any]) -> None:
    turn = folded(start(0, name="f"), piece(0, text), END)
    assert turn.calls[0].arguments == text
    result = ResultMessage(results=(CallResult(tool_call_id="t1", content="invalid JSON", is_error=True),))
    request = sent(GO, turn, result)
    assert WIRE.calls(request)[0].arguments == back
    assert (text in WIRE.results(request)[0].content) == (back == {})
    assert request["messages"][2]["content"][0]["toolResult"]["status"] == "error"


def test_C55_ids_of_others_fit() -> None:
    ids = ["call_PTabcdefgh1", "x" * 70, "a|b", "turn1:0.a-b", ""]
    turn = ModelTurn(dialect="another", calls=tuple(ToolCall(id=one, name="f") for one in ids))
    found = [call.id for call in WIRE.calls(sent(GO, turn))]
    assert all(re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", one) for one in found)
    assert len(set(found)) == 5
    assert (found[0], found[3]) == (ids[0], ids[3])


def test_C58_images_stand_in_their_result() -> None:
    turn = ModelTurn(dialect="another", calls=(ToolCall(id="a", name="f"), ToolCall(id="b", name="g")))
    media = (
        Media(media_type="image/png", data=PNG),
        Media(media_type="image/svg+xml", data=b"<svg/>"),
        Media(media_type="image/jpeg"),
    )
    results = (
        CallResult(tool_call_id="a", content="shot", media=media),
        CallResult(tool_call_id="b", content="ok"),
    )
    request = sent(GO, turn, ResultMessage(results=results))
    first, second = (block["toolResult"] for block in request["messages"][2]["content"])
    assert first["content"][1:] == [{"image": {"format": "png", "source": {"bytes": PNG}}}]
    assert first["content"][0]["text"].splitlines() == [
        "shot",
        "[There is an image here that cannot be shown to you: image/svg+xml]",
        "[There is an image here that cannot be shown to you: image/jpeg]",
    ]
    assert second == {"toolUseId": "b", "content": [{"text": "ok"}]}


def test_reasoning_goes_back_as_it_came() -> None:
    """Stored as JSON in between; what is redacted comes as bytes, and goes as bytes."""
    turn, deltas = shown(
        {"messageStart": {"role": "assistant"}},
        delta(0, reasoningContent={"text": "Well, "}),
        delta(0, reasoningContent={"text": "well."}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        delta(1, reasoningContent={"redactedContent": b"\x00\x01"}),
        delta(1, reasoningContent={"redactedContent": b"\xff"}),
        delta(2, text="Look"),
        start(3),
        piece(3, "{}"),
        {"of_tomorrow": {}},
        END,
        {"metadata": {"usage": {"inputTokens": 5, "cacheWriteInputTokens": 2, "outputTokens": 9}}},
    )
    use = {"toolUseId": "t1", "name": "now", "input": {}}
    whole = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Well, well.", "signature": "c2ln"}}},
                    {"reasoningContent": {"redactedContent": "AAH/"}},
                    {"text": "Look"},
                    {"toolUse": use},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 5, "outputTokens": 9, "totalTokens": 16, "cacheWriteInputTokens": 2},
    }
    answer = parsed(whole)
    assert answer["output"]["message"]["content"][1]["reasoningContent"] == {"redactedContent": b"\x00\x01\xff"}
    assert WIRE.dialect.decode(answer, EXPORT) == turn
    assert (turn.reasoning, turn.text, turn.stop) == ("Well, well.", "Look", "tool_calls")
    assert turn.usage == Usage(input_tokens=7, output_tokens=9)
    assert deltas == [
        ReasoningDelta(text="Well, "),
        ReasoningDelta(text="well."),
        TextDelta(text="Look"),
        CallDelta(position=0, id="t1", name="now"),
        *deltas[4:],
    ]
    stored = msgspec.json.decode(msgspec.json.encode(turn), type=ModelTurn)
    (message,) = WIRE.assistants(sent(GO, stored))
    assert message == {"role": "assistant", "content": answer["output"]["message"]["content"]}


def test_a_mark_in_arguments_is_no_bytes() -> None:
    arguments = {"$base64": "AAH/", "x": {"$base64": "AAH/"}}
    response = WIRE.response("", [WrittenCall("t1", "f", json.dumps(arguments))], "tool_use")
    turn = WIRE.dialect.decode(response, EXPORT)
    assert turn.calls[0].arguments == arguments
    assert WIRE.calls(sent(GO, turn))[0].arguments == arguments


def test_what_the_api_takes_back_of_a_turn() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "cut before its signature"}}},
        {"text": " \n"},
        {"SDK_UNKNOWN_MEMBER": {"name": "ofTomorrow"}},
        {"toolResult": {"toolUseId": "s", "content": [{"SDK_UNKNOWN_MEMBER": {"name": "x"}}]}},
        {"text": "so"},
    ]
    turn = WIRE.dialect.decode({"output": {"message": {"content": content}}, "stopReason": "end_turn"}, EXPORT)
    assert WIRE.assistants(sent(GO, turn)) == [{"role": "assistant", "content": [{"text": "so"}]}]
    only = WIRE.dialect.decode({"output": {"message": {"content": content[:4]}}}, EXPORT)
    assert sent(GO, only, UserMessage(content="again"))["messages"] == [
        {"role": "user", "content": [{"text": "go"}, {"text": "again"}]}
    ]


def test_a_call_of_the_providers_own_server_is_not_ours() -> None:
    turn = folded(
        start(0, "s1", "web_search", type="server_tool_use"),
        piece(0, '{"q":1}'),
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "s1", "type": "x"}}}},
        delta(1, toolResult=[{"text": "fo"}]),
        delta(1, toolResult=[{"text": "und"}, {"json": {"a": 1}}]),
        start(2, "t1", "f"),
        piece(2, "{}"),
        END,
    )
    assert [call.id for call in turn.calls] == ["t1"]
    assert turn.raw["content"][:2] == [
        {"toolUse": {"toolUseId": "s1", "name": "web_search", "type": "server_tool_use", "input": {"q": 1}}},
        {"toolResult": {"toolUseId": "s1", "type": "x", "content": [{"text": "found"}, {"json": {"a": 1}}]}},
    ]
    assert sent(GO, turn)["messages"][1]["content"] == turn.raw["content"]


def test_citations_and_images_in_a_stream() -> None:
    turn = folded(
        delta(0, text="So "),
        delta(0, citation={"title": "a"}),
        delta(0, text="it is."),
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"image": {"format": "png"}}}},
        delta(1, image={"source": {"bytes": PNG[:3]}}),
        delta(1, image={"source": {"bytes": PNG[3:]}}),
        {"messageStop": {"stopReason": "end_turn"}},
    )
    assert turn.text == "So it is."
    cited = {"content": [{"text": "So it is."}], "citations": [{"title": "a"}]}
    assert sent(GO, turn)["messages"][1]["content"] == [
        {"citationsContent": cited},
        {"image": {"format": "png", "source": {"bytes": PNG}}},
    ]


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
        ("guardrail_intervened", True, "content_filter"),
        ("content_filtered", False, "content_filter"),
        ("malformed_model_output", False, "length"),
        ("malformed_tool_use", True, "length"),
    ],
)
def test_C21_stop_reasons(word: str, has_calls: bool, stop: str) -> None:
    known = SERVICE.shape_for("StopReason").enum
    assert word in known
    calls = [WrittenCall("t1", "f")] if has_calls else []
    turn = WIRE.dialect.decode(WIRE.response("x", calls, word), EXPORT)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == (stop, word, has_calls and stop == "length")


def test_every_stop_reason_of_the_service_is_known() -> None:
    for word in SERVICE.shape_for("StopReason").enum:
        assert WIRE.dialect.decode(WIRE.response("x", [], word), EXPORT).stop != "unknown"


@pytest.mark.parametrize("kind", ["throttlingException", "modelStreamErrorException", "internalServerException"])
def test_an_error_in_the_stream(kind: str) -> None:
    assert kind in SERVICE.shape_for("ConverseStreamOutput").members
    turn = folded(start(0), piece(0, "{}"), END, {kind: {"message": "sorry"}})
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", kind, True)


def test_an_input_that_nothing_announced() -> None:
    """A call without a name: the engine answers it as one that nobody knows."""
    turn = folded(piece(3, '{"a":1}'), END)
    assert [(call.id, call.name, call.arguments) for call in turn.calls] == [("", "", {"a": 1})]
    assert [call.name for call in WIRE.calls(sent(GO, turn))] == ["_"]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(), None),
        (Choice(mode="required"), {"any": {}}),
        (Choice(mode="one", tool="f"), {"tool": {"name": "f"}}),
    ],
)
def test_a_choice(choice: Choice, said: dict[str, Any] | None) -> None:
    request = WIRE.dialect.request([GO], EXPORT, choice)
    assert request["toolConfig"].get("toolChoice") == said
    assert problems(request) == ""


@pytest.mark.parametrize("choice", [Choice(mode="none"), Choice(parallel=False)])
def test_a_choice_that_converse_has_no_word_for(choice: Choice) -> None:
    with pytest.raises(ConfigError, match="bedrock cannot be told"):
        WIRE.dialect.request([GO], EXPORT, choice)
    assert set(SERVICE.shape_for("ToolChoice").members) == {"auto", "any", "tool"}


def test_a_history_with_calls_needs_tools() -> None:
    turn = ModelTurn(dialect="another", calls=(ToolCall(id="t1", name="f"),))
    request = WIRE.dialect.request([GO, turn], EMPTY)
    assert problems(request) == ""
    assert [tool["toolSpec"]["name"] for tool in request["toolConfig"]["tools"]] == ["no_tool_available"]
    assert "toolConfig" not in WIRE.dialect.request([GO], EMPTY)


def test_the_edges_of_a_conversation() -> None:
    turn = ModelTurn(dialect="another", text="Hello.")
    request = sent(SystemMessage(content="Be kind."), SystemMessage(content=" "), turn, GO)
    assert request["system"] == [{"text": "Be kind."}]
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]


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
    request = sent(GO, turn, turn)
    calls = WIRE.calls(request)
    assert len({call.id for call in calls}) == 2 * len(objects)
    assert [one.id for one in WIRE.results(request)] == [call.id for call in calls]
    assert all(re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", call.id) for call in calls)
