"""What is peculiar to `ollama`."""

from __future__ import annotations

import base64
import json
from typing import Any

import ollama
import pytest
from ollama._types import ChatRequest

from surehand import ConfigError
from surehand.call import ToolCall
from surehand.providers import (
    ArgumentsDelta,
    CallDelta,
    CallResult,
    Choice,
    Media,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    TextDelta,
    Usage,
    UserMessage,
    dialect,
)
from surehand.schema import parse_arguments
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.wire_ollama import OllamaWire

WIRE = OllamaWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("f", "g", "now"))))
GO = UserMessage(content="go")


def chunk(done: bool = False, **message: Any) -> dict[str, Any]:
    end = {"done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5} if done else {}
    return {"message": {"role": "assistant", "content": "", **message}, "done": done, **end}


def call(name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


def folded(*chunks: dict[str, Any]) -> ModelTurn:
    fold = WIRE.dialect.fold(EXPORT)
    for one in chunks:
        fold.feed(one)
    return fold.end()


def answered(*calls: dict[str, Any], **more: Any) -> ModelTurn:
    message = {"role": "assistant", "content": "", "tool_calls": list(calls), **more}
    return WIRE.dialect.decode({"message": message, "done": True, "done_reason": "stop"}, EXPORT)


def test_calls_without_ids_are_paired_by_their_places() -> None:
    turn = answered(call("f", {"a": 1}), call("f", {"a": 2}))
    assert [one.id for one in turn.calls] == ["", ""]
    results = tuple(CallResult(tool_call_id="", content=f"r{number}") for number in (1, 2))
    request = WIRE.dialect.request([GO, turn, ResultMessage(results=results)], EXPORT)
    assert request["messages"][1:] == [
        turn.raw,
        {"role": "tool", "tool_name": "f", "content": "r1"},
        {"role": "tool", "tool_name": "f", "content": "r2"},
    ]


def test_thinking_is_shown_and_goes_back_to_ollama_only() -> None:
    fold = WIRE.dialect.fold(EXPORT)
    assert fold.feed(chunk(thinking="Well, ")) == [ReasoningDelta(text="Well, ")]
    assert fold.feed(chunk(thinking="well.", content="Hm")) == [ReasoningDelta(text="well."), TextDelta(text="Hm")]
    assert fold.feed(chunk(tool_calls=[call("functions.f", {"a": "ü"}, id="c1")])) == [
        CallDelta(position=0, id="c1", name="f"),
        ArgumentsDelta(position=0, text='{"a": "ü"}'),
    ]
    assert fold.feed(chunk(tool_calls=[call("g", {}, id="c2")]))[0] == CallDelta(position=1, id="c2", name="g")
    fold.feed(chunk(done=True))
    turn = fold.end()
    assert (turn.reasoning, turn.text, turn.stop) == ("Well, well.", "Hm", "tool_calls")
    assert turn.usage == Usage(input_tokens=7, output_tokens=5)
    assert WIRE.assistants(WIRE.dialect.request([GO, turn], EXPORT))[0]["thinking"] == "Well, well."
    other = dialect("openai-chat")
    assert "well" not in str(other.request([GO, turn], other.export(view_of())))


def test_an_error_ends_the_answer() -> None:
    turn = folded(chunk(tool_calls=[call("f", {}, id="c1")]), {"error": "out of memory"})
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", "error", True)


def test_an_older_server_gives_no_reason() -> None:
    assert WIRE.dialect.decode({"message": {"role": "assistant", "content": "Hi"}, "done": True}, EXPORT).stop == "stop"
    assert folded({"message": {"content": "Hi"}, "done": True}).stop == "stop"


@pytest.mark.parametrize("given", ["", "  \n", "null", "{}", None, {}])
def test_C08_no_arguments(given: Any) -> None:
    turn = answered(call("now", given))
    assert parse_arguments(turn.calls[0].arguments) == {}
    assert WIRE.dialect.request([GO, turn], EXPORT)["messages"][1]["tool_calls"][0]["function"]["arguments"] == {}
    absent = answered({"function": {"name": "now"}})
    assert parse_arguments(absent.calls[0].arguments) == {}


@pytest.mark.parametrize("given", ['{"v": ', [1], 5, {"x": float("nan")}, {"x": [float("inf")]}])
def test_C56_what_is_no_object_goes_back_as_an_empty_one(given: Any) -> None:
    turn = answered(call("f", given, id="c1"))
    assert isinstance(turn.calls[0].arguments, str)
    assert not isinstance(parse_arguments(turn.calls[0].arguments), dict)
    result = ResultMessage(results=(CallResult(tool_call_id="c1", content="invalid JSON", is_error=True),))
    request = WIRE.dialect.request([GO, turn, result], EXPORT)
    assert json.loads(json.dumps(request, allow_nan=False)) == request
    assert WIRE.calls(request)[0].arguments == {}
    assert turn.calls[0].arguments in WIRE.results(request)[0].content


def test_an_object_as_text_is_sent_as_an_object() -> None:
    turn = answered(call("f", '{"a": 1}', id="c1"))
    assert WIRE.calls(WIRE.dialect.request([GO, turn], EXPORT))[0].arguments == {"a": 1}


def test_images_come_after_the_results() -> None:
    turn = ModelTurn(dialect="another", calls=(ToolCall(id="c1", name="f"), ToolCall(id="c2", name="g")))
    media = (Media(media_type="image/png", data=b"\x89PNG"), Media(media_type="image/png", artifact_id="a9"))
    results = (CallResult(tool_call_id="c1", content="seen", media=media), CallResult(tool_call_id="c2", content="ok"))
    request = WIRE.dialect.request([GO, turn, ResultMessage(results=results)], EXPORT)
    first, second, images = request["messages"][2:]
    assert "a9" in first["content"]
    assert (first["tool_name"], second["content"]) == ("f", "ok")
    assert (images["role"], images["images"]) == ("user", [base64.b64encode(b"\x89PNG").decode()])
    sent = ChatRequest.model_validate({"model": "m", **request}).model_dump(exclude_none=True)
    assert sent["messages"][-1] == images


@pytest.mark.parametrize(
    "choice", [Choice(mode="none"), Choice(mode="required"), Choice(mode="one", tool="f"), Choice(parallel=False)]
)
def test_what_the_model_may_do_cannot_be_said(choice: Choice) -> None:
    with pytest.raises(ConfigError, match="ollama cannot be told"):
        WIRE.dialect.request([GO], EXPORT, choice)


def test_the_sdk_reads_what_is_written_and_writes_what_is_read() -> None:
    """As far as its types go: they have no ids, see the test of the client."""
    response = WIRE.response("Hm.", [WrittenCall("", "f", '{"a":1}')], "stop")
    parsed = ollama.ChatResponse.model_validate(response).model_dump(exclude_unset=True)
    turn = WIRE.dialect.decode(parsed, EXPORT)
    assert [(one.name, one.arguments) for one in turn.calls] == [("f", {"a": 1})]
    results = ResultMessage(results=(CallResult(tool_call_id="", content="done"),))
    request = WIRE.dialect.request([GO, turn, results], EXPORT)
    sent = ChatRequest.model_validate({"model": "m", **request}).model_dump(exclude_none=True)
    assert sent["messages"] == request["messages"]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["f", "g", "now"]
