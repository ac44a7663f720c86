"""What is peculiar to `mistral`. Its SDK's types read every request and every answer."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistralai.client.models import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk

from surehand.call import ToolCall
from surehand.providers import (
    CallResult,
    Choice,
    Delta,
    Media,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    SystemMessage,
    TextDelta,
    UserMessage,
    export,
)
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.test_export import C06
from tests.providers.test_openai_chat import CALLS
from tests.providers.wire_mistral import BRIDGE, MistralWire

WIRE = MistralWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("now", "f", "g", "read"))))
GO = UserMessage(content="go")
ID = re.compile(r"[a-zA-Z0-9]{9}")
FOLLOWS: dict[str | None, set[str]] = {
    None: {"system", "user", "assistant"},
    "system": {"system", "user", "assistant"},
    "user": {"system", "user", "assistant"},
    "assistant": {"user", "assistant", "tool"},
    "tool": {"assistant", "tool"},
}
"""Which roles may follow which, as the validator of mistral-common has it."""


def sent(*messages: Any, choice: Choice | None = None) -> dict[str, Any]:
    """A request that the SDK's own types read without loss, in an order that the API takes."""
    request = WIRE.dialect.request(messages, EXPORT, choice or Choice())
    read = ChatCompletionRequest.model_validate({"model": "m", **request})
    written = read.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    assert written == {"model": "m", **request}
    before = None
    for message in request["messages"]:
        assert message["role"] in FOLLOWS[before]
        assert message["role"] != "assistant" or message.get("content") or message.get("tool_calls")
        before = message["role"]
    assert before != "assistant" or request["messages"][-1]["prefix"] is True
    assert all(ID.fullmatch(one.id) for one in WIRE.calls(request))
    assert [one.id for one in WIRE.results(request)] == [one.id for one in WIRE.calls(request)]
    return request


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """An event, as the SDK reads it and gives it on."""
    written = {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    read = CompletionChunk.model_validate(written).model_dump(
        mode="json", by_alias=True, exclude_unset=True, warnings=False
    )
    assert read == written
    return read


def whole(message: dict[str, Any], finish: str) -> dict[str, Any]:
    """An answer, as the SDK reads it and gives it on."""
    written = {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "created": 1,
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    read = ChatCompletionResponse.model_validate(written).model_dump(
        mode="json", by_alias=True, exclude_unset=True, warnings=False
    )
    assert read == written
    return read


def shown(*chunks: dict[str, Any]) -> tuple[ModelTurn, list[Delta]]:
    fold = WIRE.dialect.fold(EXPORT)
    deltas = [one for event in chunks for one in fold.feed(event)]
    return fold.end(), deltas


def call(call_id: str, arguments: Any, name: str = "f", index: int = 0) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, "index": index}


def thinking(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_C55_ids_have_nine_characters() -> None:
    ids = ["call_PTabcdefgh1", "call_PTabcdefgh2", "toolu_01", "turn1_0", "abcDEF123"]
    turn = ModelTurn(dialect="another", calls=tuple(ToolCall(id=one, name="f") for one in ids))
    results = ResultMessage(results=tuple(CallResult(tool_call_id=one, content=f"of {one}") for one in ids))
    request = sent(GO, turn, results)
    found = [one.id for one in WIRE.calls(request)]
    assert all(ID.fullmatch(one) for one in found)
    assert len(set(found)) == 5
    assert found[4] == "abcDEF123"
    assert [one.content for one in WIRE.results(request)] == [f"of {one}" for one in ids]
    assert [one.id for one in WIRE.calls(sent(GO, turn, results, turn, results))][:5] == found
    assert [one.id for one in turn.calls] == ids


def test_C06_property_names_go_as_they_are() -> None:
    schema: dict[str, Any] = deepcopy(C06)
    offered = export(view_of(spec_of("query", schema)), "mistral")
    assert offered.tools[0]["function"]["parameters"]["properties"].keys() == schema["properties"].keys()
    written = dict.fromkeys(schema["properties"], 1)
    turn = WIRE.dialect.decode(WIRE.response("", [WrittenCall("c1", "query", json.dumps(written))], "stop"), offered)
    assert json.loads(str(turn.calls[0].arguments)) == written


@pytest.mark.parametrize("written", ["", "  \n", "null", "{}", {}])
def test_C08_no_arguments(written: Any) -> None:
    turn = WIRE.dialect.decode(
        whole({"role": "assistant", "tool_calls": [call("a23456789", written)]}, "tool_calls"), EXPORT
    )
    assert turn.calls[0].arguments in ("", "{}", {})
    assert WIRE.calls(sent(GO, turn))[0].arguments == {}


def test_C56_arguments_as_text_and_as_an_object() -> None:
    """Both are Mistral's; what is no object is told in the result."""
    calls = [call("a23456789", '{"a":1}'), call("b23456789", {"a": [2]}, index=1), call("c23456789", '{"v": ', index=2)]
    turn = WIRE.dialect.decode(whole({"role": "assistant", "content": "", "tool_calls": calls}, "tool_calls"), EXPORT)
    assert [one.arguments for one in turn.calls] == ['{"a":1}', {"a": [2]}, '{"v": ']
    streamed, _ = shown(chunk(role="assistant", content=""), chunk("tool_calls", tool_calls=calls))
    assert [one.arguments for one in streamed.calls] == [one.arguments for one in turn.calls]
    result = CallResult(tool_call_id="c23456789", content="invalid JSON", is_error=True)
    request = sent(GO, turn, ResultMessage(results=(result,)))
    assert [one.arguments for one in WIRE.calls(request)] == [{"a": 1}, {"a": [2]}, {}]
    assert '{"v": ' in WIRE.results(request)[2].content


def test_C58_images_come_after_the_results_and_an_answer() -> None:
    """A user message may not follow a result, so the model is taken to have read them."""
    turn = ModelTurn(dialect="another", calls=(ToolCall(id="a", name="f"), ToolCall(id="b", name="g")))
    results = (
        CallResult(tool_call_id="a", content="shot", media=(Media(media_type="image/png", data=b"\x89PNG"),)),
        CallResult(tool_call_id="b", content="ok"),
    )
    request = sent(GO, turn, ResultMessage(results=results), UserMessage(content="and?"))
    roles = [message["role"] for message in request["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user", "user"]
    assert request["messages"][4] == BRIDGE
    assert request["messages"][5]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw=="},
    }


def test_the_order_of_roles() -> None:
    turn = ModelTurn(dialect="another", calls=(ToolCall(id="a", name="f"),))
    said = ModelTurn(dialect="another", text="Done.")
    request = sent(GO, turn, UserMessage(content="stop"), said, SystemMessage(content="Be kind."), GO)
    assert [message["role"] for message in request["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "user", "assistant", "user")
    ]
    assert request["messages"][4] == BRIDGE
    assert sent(GO, said)["messages"][-1] == {"role": "assistant", "content": "Done.", "prefix": True}
    assert "prefix" not in sent(GO, said, GO)["messages"][1]


def test_thoughts_go_back_as_they_came() -> None:
    """However they are streamed: as parts, then as text."""
    content = [thinking("Well, well.", signature="s1"), thinking("More."), words("So it is.")]
    calls = [{"id": "a23456789", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    turn = WIRE.dialect.decode(
        whole({"role": "assistant", "content": content, "tool_calls": calls}, "tool_calls"), EXPORT
    )
    assert (turn.reasoning, turn.text) == ("Well, well.More.", "So it is.")
    streamed, deltas = shown(
        chunk(role="assistant", content=""),
        chunk(content=[thinking("Well, ")]),
        chunk(content=[thinking("well."), thinking("", signature="s1")]),
        chunk(content=[thinking("More.")]),
        chunk(content=[words("So")]),
        chunk(content=" it is."),
        chunk("tool_calls", content="", tool_calls=calls),
    )
    assert streamed.raw == turn.raw
    assert (streamed.text, streamed.reasoning, streamed.calls) == (turn.text, turn.reasoning, turn.calls)
    assert [one.text for one in deltas if isinstance(one, ReasoningDelta)] == ["Well, ", "well.", "More."]
    assert [one.text for one in deltas if isinstance(one, TextDelta)] == ["So", " it is."]
    stored = msgspec.json.decode(msgspec.json.encode(streamed), type=ModelTurn)
    assert WIRE.assistants(sent(GO, stored)) == [turn.raw]
    other = export(view_of(spec_of("f")), "openai-chat")
    assert other.dialect != turn.dialect
    assert "Well" not in json.dumps(sent(GO, msgspec.structs.replace(turn, dialect="openai-chat")))


def test_parts_that_nobody_knows_are_kept() -> None:
    content: list[dict[str, Any]] = [words("a"), {"type": "reference", "reference_ids": [1]}, words("b")]
    streamed, _ = shown(*(chunk(content=[part]) for part in content), chunk("stop"))
    assert (streamed.raw["content"], streamed.text) == (content, "ab")
    assert WIRE.assistants(sent(GO, streamed, GO)) == [streamed.raw]


@pytest.mark.parametrize(
    ("word", "has_calls", "stop"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", True, "tool_calls"),
        ("length", True, "length"),
        ("model_length", True, "length"),
        ("error", True, "length"),
        ("of tomorrow", False, "unknown"),
    ],
)
def test_C21_finish_reasons(word: str, has_calls: bool, stop: str) -> None:
    calls = [WrittenCall("a23456789", "f")] if has_calls else []
    turn = WIRE.dialect.decode(WIRE.response("x", calls, word), EXPORT)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == (stop, word, has_calls and stop == "length")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(), {}),
        (Choice(mode="none"), {"tool_choice": "none"}),
        (Choice(mode="required"), {"tool_choice": "any"}),
        (
            Choice(mode="one", tool="f", parallel=False),
            {"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": False},
        ),
    ],
)
def test_a_choice(choice: Choice, said: dict[str, Any]) -> None:
    request = sent(GO, choice=choice)
    assert {key: value for key, value in request.items() if key not in ("messages", "tools")} == said


def test_strict_closes_what_it_can() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9}, "tree": {"$ref": "#/$defs/t"}},
        "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}},
    }
    flat = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}
    offered = export(view_of(spec_of("flat", flat), spec_of("tree", schema)), "mistral", strict=True)
    assert offered.verdicts == {"flat": "lossy", "tree": "unsupported"}
    first, second = (tool["function"] for tool in offered.tools)
    assert (first["strict"], first["parameters"]["additionalProperties"]) == (True, False)
    assert "maximum" not in json.dumps(first["parameters"])
    assert second["strict"] is False
    ChatCompletionRequest.model_validate({"model": "m", "messages": [], "tools": offered.tools})


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["system", "user", "said", "called", "asked"]), max_size=8), CALLS)
def test_any_conversation_has_an_order_that_is_taken(kinds: list[str], written: list[WrittenCall]) -> None:
    calls = tuple(ToolCall(id=one.id, name=one.name, arguments=one.arguments) for one in written)
    makes: dict[str, list[Any]] = {
        "system": [SystemMessage(content="s")],
        "user": [GO],
        "said": [ModelTurn(dialect="another", text="t")],
        "called": [ModelTurn(dialect="another", calls=calls)],
        "asked": [ModelTurn(dialect="another", text="t", calls=calls), ResultMessage(results=())],
    }
    sent(*(message for kind in kinds for message in makes[kind]))
