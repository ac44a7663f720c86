"""What is peculiar to `cohere`."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cohere.types.chat_message_v2 import ChatMessageV2
from cohere.types.tool_v2 import ToolV2
from cohere.v2.types.v2chat_response import V2ChatResponse
from cohere.v2.types.v2chat_stream_response import V2ChatStreamResponse
from pydantic import TypeAdapter

from surehand import ConfigError
from surehand.call import ToolCall
from surehand.providers import (
    CallResult,
    Choice,
    Export,
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
from tests.providers.wire_cohere import CohereWire

WIRE = CohereWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("f", "g", "now"))))
MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatMessageV2)
STREAMED: TypeAdapter[Any] = TypeAdapter(V2ChatStreamResponse)
GO = UserMessage(content="go")
ONE: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"type": kind, "delta": {"message": message}}
    return given if index is None else {**given, "index": index}


def end(word: str = "COMPLETE", **more: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": word, "usage": {"tokens": {"input_tokens": 3.0}}, **more}}


def folded(*events: dict[str, Any]) -> ModelTurn:
    fold = WIRE.dialect.fold(EXPORT)
    for one in events:
        fold.feed(one)
    return fold.end()


def strict_export(*schemas: dict[str, Any]) -> Export:
    specs = [spec_of(name, schema) for name, schema in zip("abc", schemas, strict=False)]
    return WIRE.dialect.export(view_of(*specs), strict=True)


def test_thinking_plan_and_citations_are_kept_and_go_back() -> None:
    citation = {"start": 0, "end": 2, "text": "Hm", "sources": [{"type": "tool", "id": "f:0"}]}
    shown: list[Any] = []
    fold = WIRE.dialect.fold(EXPORT)
    for one in (
        event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[], citations=[]),
        event("content-start", 0, content={"type": "thinking", "thinking": ""}),
        event("content-delta", 0, content={"thinking": "Well."}),
        event("content-start", 1, content={"type": "text"}),
        event("content-delta", 1, content={"text": "Hm"}),
        event("content-delta", 9, content={"text": "nowhere"}),
        event("citation-start", 0, citations=citation),
        {"type": "citation-end", "index": 0},
        {"type": "of-tomorrow"},
        end(),
    ):
        shown.extend(fold.feed(one))
    turn = fold.end()
    assert shown == [ReasoningDelta(text="Well."), TextDelta(text="Hm")]
    content = [{"type": "thinking", "thinking": "Well."}, {"type": "text", "text": "Hm"}]
    assert turn.raw == {"role": "assistant", "content": content, "citations": [citation]}
    whole = WIRE.dialect.decode(
        {"message": {**turn.raw, "tool_calls": [], "tool_plan": ""}, "finish_reason": "COMPLETE"}, EXPORT
    )
    assert whole.raw == turn.raw
    assert (turn.text, turn.reasoning, turn.usage) == ("Hm", "Well.", Usage(input_tokens=3))
    assert WIRE.assistants(WIRE.dialect.request([GO, turn], EXPORT)) == [turn.raw]
    other = dialect("openai-chat")
    assert "Well." not in str(other.request([GO, turn], other.export(view_of())))


def test_what_is_said_beside_calls_is_their_plan() -> None:
    turn = ModelTurn(dialect="another", text="I look.", calls=(ToolCall(id="c1", name="f"),))
    (message,) = WIRE.assistants(WIRE.dialect.request([GO, turn], EXPORT))
    assert (message["tool_plan"], "content" in message) == ("I look.", False)
    spoken = ModelTurn(dialect="another", text="Hello.")
    assert WIRE.assistants(WIRE.dialect.request([GO, spoken], EXPORT)) == [{"role": "assistant", "content": "Hello."}]


def test_thinking_alone_does_not_go_back() -> None:
    turn = folded(event("content-start", 0, content={"type": "thinking", "thinking": "W"}))
    assert (turn.stop, turn.calls) == ("length", ())
    assert WIRE.assistants(WIRE.dialect.request([GO, turn, GO], EXPORT)) == []


@pytest.mark.parametrize(
    ("word", "stop", "truncated"),
    [
        ("STOP_SEQUENCE", "tool_calls", False),
        ("MAX_TOKENS", "length", True),
        ("ERROR", "length", True),
        ("TIMEOUT", "resources", True),
    ],
)
def test_words_for_the_end(word: str, stop: str, truncated: bool) -> None:
    turn = WIRE.dialect.decode(WIRE.response("", [WrittenCall("c1", "f")], word), EXPORT)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == (stop, word, truncated)


def test_an_error_ends_the_answer() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = folded(event("tool-call-start", 0, tool_calls=call), end(error="it broke"))
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", "ERROR", True)


@pytest.mark.parametrize("given", ["", "  \n", "null", "{}", None, ...])
def test_C08_no_arguments(given: Any) -> None:
    function = {"name": "now"} if given is ... else {"name": "now", "arguments": given}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    turn = WIRE.dialect.decode({"message": message, "finish_reason": "TOOL_CALL"}, EXPORT)
    assert parse_arguments(turn.calls[0].arguments) == {}
    sent = WIRE.dialect.request([GO, turn], EXPORT)["messages"][1]["tool_calls"][0]
    assert sent["function"] == {"name": "now", "arguments": given if given == "{}" else "{}"}


def test_one_tool_that_cannot_be_strict_decides_for_all() -> None:
    free: dict[str, Any] = {"type": "object", "properties": {"m": {"type": "object"}}, "required": ["m"]}
    export = strict_export(ONE, free, ONE)
    assert set(export.verdicts.values()) == {"unsupported"}
    assert "strict_tools" not in WIRE.dialect.request([GO], export)
    reason = "unsupported, sent without strict: the provider takes all tools strict or none, and b cannot be"
    first, second, third = export.notes
    assert (first, third) == (f"a: {reason}", f"c: {reason}")
    assert second.startswith("b: unsupported, sent without strict: an object with any properties at ")
    assert [tool["function"]["parameters"] for tool in export] == [ONE, free, ONE]
    agreed = strict_export(ONE, ONE)
    assert WIRE.dialect.request([GO], agreed)["strict_tools"] is True
    assert set(agreed.verdicts.values()) == {"lossless"}
    assert "strict_tools" not in WIRE.dialect.request([GO], WIRE.dialect.export(view_of(spec_of("a", ONE))))


def test_what_strict_mode_needs_and_does_not_take() -> None:
    optional = {"type": "object", "properties": {"a": {"type": "string"}}}
    (note,) = strict_export(optional).notes
    assert "an object without a required property" in note
    limited = {"type": "string", "maxLength": 9, "pattern": "^x$", "format": "uuid"}
    export = strict_export({**ONE, "properties": {"a": limited}})
    (tool,) = WIRE.tools(export)
    assert (tool.strict, export.verdicts) == (True, {"a": "lossy"})
    said = tool.parameters["properties"]["a"]
    assert (said["type"], said["format"], said.keys()) == ("string", "uuid", {"type", "format", "description"})
    many = {f"p{number}": {"type": "string"} for number in range(101)}
    wide = {"type": "object", "properties": many, "required": ["p0"]}
    export = strict_export(wide, wide)
    assert export.verdicts == {"a": "unsupported", "b": "unsupported"}
    assert "more than 200 properties in one request" in export.notes[1]
    assert strict_export(wide).verdicts == {"a": "lossless"}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(), None),
        (Choice(mode="none"), "NONE"),
        (Choice(mode="required"), "REQUIRED"),
        (Choice(mode="one", tool="f"), ConfigError),
        (Choice(parallel=False), ConfigError),
    ],
)
def test_a_choice_is_said_or_refused(choice: Choice, said: Any) -> None:
    if said is ConfigError:
        with pytest.raises(ConfigError, match="cohere cannot be told"):
            WIRE.dialect.request([GO], EXPORT, choice)
    else:
        assert WIRE.dialect.request([GO], EXPORT, choice).get("tool_choice") == said


def test_the_sdk_reads_what_is_written_and_writes_what_is_read() -> None:
    response = WIRE.response("I look.", [WrittenCall("c1", "f", '{"a":1}'), WrittenCall("c2", "g")], "TOOL_CALL")
    parsed: Any = V2ChatResponse.model_validate(response)
    turn = WIRE.dialect.decode(parsed.model_dump(exclude_unset=True), EXPORT)
    assert turn == WIRE.dialect.decode(response, EXPORT)
    events: list[Any] = [STREAMED.validate_python(one) for one in WIRE.stream(response, list)]
    assert folded(*(one.model_dump(exclude_unset=True) for one in events)) == turn
    image = Media(media_type="image/png", data=b"\x89PNG")
    results = ResultMessage(
        results=(
            CallResult(tool_call_id="c1", content="seen", media=(image,)),
            CallResult(tool_call_id="c2", content="no", is_error=True),
        )
    )
    request = WIRE.dialect.request([GO, turn, results], EXPORT)
    for message in request["messages"]:
        accepted: Any = MESSAGE.validate_python(message)
        assert accepted.model_dump(exclude_none=True) == message
    url = request["messages"][-1]["content"][1]["image_url"]["url"]
    assert url == "data:image/png;base64," + base64.b64encode(image.data).decode()
    for tool in request["tools"]:
        assert ToolV2.model_validate(tool).model_dump(exclude_none=True) == tool
