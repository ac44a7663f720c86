"""What is peculiar to `openai-responses`, read and written by the SDK's own types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError

from surehand import ToolCall
from surehand.providers import (
    ArgumentsDelta,
    CallDelta,
    CallResult,
    Choice,
    Delta,
    Message,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
    dialect,
)
from surehand.providers.message import Media
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.test_openai_chat import CALLS
from tests.providers.wire_openai_responses import OpenAIResponsesWire

WIRE = OpenAIResponsesWire()
EXPORT = WIRE.dialect.export(view_of(*map(spec_of, ("f", "g", "read"))))
GO = UserMessage(content="go")
RESPONSE = TypeAdapter(Response)
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


REQUEST = TypeAdapter(list[ResponseCreateParamsNonStreaming], config=ConfigDict(extra="forbid"))


def accepted(request: dict[str, Any]) -> dict[str, Any]:
    """A request that the SDK's own types take, every field of it."""
    walked(REQUEST.validate_python([{"model": "gpt-test", **request}]))
    return request


def walked(value: Any) -> None:
    """Goes through what was validated: what may be any iterable is checked only then."""
    if isinstance(value, dict):
        walked(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for one in cast("Iterable[Any]", value):
            walked(one)


@pytest.mark.parametrize(
    "request_",
    [
        {"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]},
        {"input": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "more": 1}]},
        {"input": [], "tools": [{"type": "function", "name": "f", "parameters": {}}]},
        {"input": [], "more": 1},
    ],
)
def test_the_types_refuse_what_is_wrong(request_: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        accepted(request_)


def asked(*messages: Message) -> list[dict[str, Any]]:
    """The input of a request."""
    return accepted(WIRE.dialect.request(messages, EXPORT))["input"]


def results(*contents: str) -> ResultMessage:
    return ResultMessage(
        results=tuple(CallResult(tool_call_id=f"c{number}", content=text) for number, text in enumerate(contents, 1))
    )


def reasoning(id: str = "rs_1", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "reasoning", "summary": [], **more}


def spoken(text: str, id: str = "msg_1", **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part], **more}


def call(arguments: str = "{}", id: str = "fc_1", call_id: str = "c1", name: str = "f", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def answer(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """A response whose output is this; read and written again by the SDK."""
    given = {**WIRE.response("", [], status), "output": list(output), **more}
    return RESPONSE.validate_python(given).model_dump(mode="json", by_alias=True, exclude_unset=True)


def decoded(*output: dict[str, Any], **more: Any) -> ModelTurn:
    return WIRE.dialect.decode(answer(*output, **more), EXPORT)


def folded(events: list[dict[str, Any]]) -> tuple[ModelTurn, list[Delta]]:
    fold = WIRE.dialect.fold(EXPORT)
    deltas = [delta for event in events for delta in fold.feed(event)]
    return fold.end(), deltas


THOUGHT = reasoning(
    encrypted_content="gAAAAB",
    summary=[{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
)
SEARCH = {"type": "search", "query": "q"}
WHOLE = [THOUGHT, spoken("Hm.", phase="commentary"), call('{"a":1}'), call('{"b":2}', "fc_2", "c2", "g")]


# -- tools and choice ------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
def test_tools_are_flat_and_say_whether_they_are_strict(strict: bool) -> None:
    free = {"type": "object", "properties": {"x": {"type": "object"}}}
    export = WIRE.dialect.export(view_of(spec_of("read"), spec_of("any", free)), strict=strict)
    closed = {"required": [], "additionalProperties": False} if strict else {}
    assert export.tools == [
        {"type": "function", "name": "any", "description": "Does it.", "parameters": free, "strict": False},
        {
            "type": "function",
            "name": "read",
            "description": "Does it.",
            "parameters": {"type": "object", "properties": {}, **closed},
            "strict": strict,
        },
    ]
    accepted(WIRE.dialect.request([GO], export))


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(), {}),
        (Choice(mode="none"), {"tool_choice": "none"}),
        (Choice(mode="required"), {"tool_choice": "required"}),
        (Choice(mode="one", tool="read"), {"tool_choice": {"type": "function", "name": "read"}}),
        (Choice(parallel=False), {"parallel_tool_calls": False}),
    ],
)
def test_the_choice(choice: Choice, said: dict[str, Any]) -> None:
    request = accepted(WIRE.dialect.request([GO], EXPORT, choice))
    assert request == {
        "input": [{"type": "message", "role": "user", "content": "go"}],
        "tools": EXPORT.tools,
        **said,
    }
    assert WIRE.dialect.request([GO], WIRE.dialect.export(view_of())).keys() == {"input"}


# -- histories -------------------------------------------------------------------------------------


def test_a_conversation_in_neutral_terms() -> None:
    other = ModelTurn(
        dialect="anthropic", text="Hm.", calls=(ToolCall(id="c1", name="f", arguments={"a": "ü"}),), stop="tool_calls"
    )
    quiet = ModelTurn(dialect="anthropic", refusal="I cannot.", stop="refusal")
    assert asked(SystemMessage(content="Be brief."), GO, other, results("r1"), quiet) == [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": "go"},
        {"type": "message", "role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":"ü"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "r1"},
        {"type": "message", "role": "assistant", "content": "I cannot."},
    ]


def test_C18_three_turns_with_one_id_have_three() -> None:
    messages: list[Message] = [GO]
    for number in (1, 2, 3):
        turn = decoded(call(f'{{"i":{number}}}', call_id="call_0", name="f"))
        messages += [turn, ResultMessage(results=(CallResult(tool_call_id="call_0", content=f"r{number}"),))]
    items = asked(*messages)
    sent = [item for item in items if item["type"] == "function_call"]
    assert [item["arguments"] for item in sent] == ['{"i":1}', '{"i":2}', '{"i":3}']
    assert len({item["call_id"] for item in sent}) == 3
    outputs = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}
    assert [outputs[item["call_id"]] for item in sent] == ["r1", "r2", "r3"]
    assert [item.get("id") for item in sent] == ["fc_1", None, None], "ids of items are not repeated either"


def test_C18_one_response_with_one_id_twice() -> None:
    turn = decoded(call('{"k":1}', call_id="x:1", name="g"), call('{"k":2}', "fc_2", call_id="x:1", name="g"))
    answered = [CallResult(tool_call_id="x:1", content=text) for text in ("one", "two")]
    items = asked(GO, turn, ResultMessage(results=tuple(answered)))
    assert [(one["call_id"], one.get("arguments") or one["output"]) for one in items[1:]] == [
        ("x:1", '{"k":1}'),
        ("x:1_2", '{"k":2}'),
        ("x:1", "one"),
        ("x:1_2", "two"),
    ]


def test_C20_reasoning_goes_back_with_its_calls_and_nowhere_else() -> None:
    turn = decoded(*WHOLE)
    stored = msgspec.json.decode(msgspec.json.encode(turn), type=ModelTurn)
    items = asked(GO, stored, results("r1", "r2"))
    assert items[1:5] == WHOLE
    assert [item["output"] for item in items[5:]] == ["r1", "r2"]
    for name in ("openai-chat", "anthropic"):
        other = dialect(name)
        request = json.dumps(other.request([GO, stored, results("r1", "r2")], other.export(view_of(spec_of("f")))))
        assert "gAAAAB" not in request
        assert "commentary" not in request
        assert "Hm." in request


def test_open_reasoning_goes_back_too() -> None:
    thought = reasoning(content=[{"type": "reasoning_text", "text": "Well."}])
    turn = decoded(thought, call())
    assert turn.reasoning == "Well."
    assert asked(GO, turn)[1:3] == [thought, call()]


@pytest.mark.parametrize(
    ("output", "sent"),
    [
        pytest.param([reasoning(), call()], [{**call(), "id": None}], id="reasoning-that-is-kept-elsewhere"),
        pytest.param(
            [reasoning(), spoken("Hm.", phase="final_answer")],
            [{"type": "message", "role": "assistant", "content": "Hm.", "phase": "final_answer"}],
            id="message-of-such-reasoning",
        ),
        pytest.param([spoken("Hm."), THOUGHT], [spoken("Hm.")], id="reasoning-at-the-end"),
        pytest.param([THOUGHT, spoken(" \n")], [], id="reasoning-before-nothing"),
        pytest.param([THOUGHT], [], id="reasoning-alone"),
        pytest.param([spoken("Hm.", content=[])], [], id="empty"),
        pytest.param([{**THOUGHT, "status": "completed"}, call()], [THOUGHT, call()], id="status-of-reasoning"),
        pytest.param([call(status="in_progress")], [call()], id="status-of-a-call"),
        pytest.param(
            [spoken("Hm.", status="in_progress")], [spoken("Hm.", status="incomplete")], id="status-of-a-message"
        ),
        pytest.param([{**THOUGHT, "content": None}, call(namespace=None)], [THOUGHT, call()], id="nulls"),
        pytest.param(
            [{"id": "ws_1", "type": "web_search_call", "status": "completed", "action": SEARCH}],
            [{"id": "ws_1", "type": "web_search_call", "status": "completed", "action": SEARCH}],
            id="another-item",
        ),
    ],
)
def test_what_the_api_would_refuse_is_mended_in_what_goes_back(
    output: list[dict[str, Any]], sent: list[dict[str, Any]]
) -> None:
    turn = WIRE.dialect.decode({"status": "completed", "output": output}, EXPORT)
    items = asked(GO, turn, *([results("r1")] if turn.calls else []))
    expected = [{key: value for key, value in item.items() if value is not None} for item in sent]
    assert [item for item in items[1:] if item["type"] != "function_call_output"] == expected


def test_a_turn_that_is_there_twice_does_not_repeat_its_items() -> None:
    turn = decoded(*WHOLE)
    items = asked(GO, turn, results("r1", "r2"), turn, results("r1", "r2"))
    ids = [item["id"] for item in items if "id" in item]
    assert len(ids) == len(set(ids)) == 4
    assert [item["type"] for item in items[7:]] == ["message", *["function_call"] * 2, *["function_call_output"] * 2]


@pytest.mark.parametrize("written", ['{"v": ', "[1]", "{'a': 1}", '{"x":1e400}'])
def test_C56_arguments_that_are_not_one_object(written: str) -> None:
    turn = decoded(call(written))
    assert turn.calls[0].arguments == turn.raw["output"][0]["arguments"] == written
    _, sent, result = asked(GO, turn, results("invalid JSON"))
    assert sent["arguments"] == "{}"
    assert written in result["output"]


def test_arguments_as_an_object() -> None:
    turn = WIRE.dialect.decode({"output": [{**call(), "arguments": {"a": 1}}]}, EXPORT)
    assert turn.calls[0].arguments == {"a": 1}
    assert asked(turn)[0]["arguments"] == '{"a":1}'
    turn = WIRE.dialect.decode({"output": [{**call(), "arguments": {"a": float("nan")}}]}, EXPORT)
    assert turn.calls[0].arguments == '{"a":NaN}'
    assert asked(turn)[0]["arguments"] == "{}"


def test_C58_images_stand_in_the_result() -> None:
    image = Media(media_type="image/png", data=b"\x89PNG\r\n\x1a\n")
    turn = decoded(call(), call(id="fc_2", call_id="c2"))
    shot = CallResult(tool_call_id="c1", content="shot", media=(image,))
    items = asked(GO, turn, ResultMessage(results=(shot, CallResult(tool_call_id="c2", content="ok"))))
    assert items[3]["output"] == [
        {"type": "input_text", "text": "shot"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
    ]
    assert items[4]["output"] == "ok"


# -- answers ---------------------------------------------------------------------------------------


def test_all_that_an_answer_says() -> None:
    turn = decoded(*WHOLE)
    assert (turn.text, turn.reasoning, turn.refusal) == ("Hm.", "First.\n\nThen.", "")
    assert [(one.id, one.name, one.arguments) for one in turn.calls] == [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')]
    assert (turn.stop, turn.raw_stop, turn.usage) == (
        "tool_calls",
        "completed",
        Usage(input_tokens=7, output_tokens=5),
    )
    assert turn.raw == {"output": WHOLE}


def test_strict_mode_is_undone() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}}}
    export = WIRE.dialect.export(view_of(spec_of("f", {**schema, "required": ["q"]})), strict=True)
    turn = WIRE.dialect.decode(answer(call('{"q":"a","limit":null}')), export)
    assert turn.calls[0].arguments == {"q": "a"}


def test_a_refusal() -> None:
    said = spoken("", content=[{"type": "refusal", "refusal": "I cannot."}])
    turn = decoded(said)
    assert (turn.stop, turn.refusal, turn.text) == ("refusal", "I cannot.", "")
    assert asked(GO, turn)[1] == said
    streamed, deltas = folded(WIRE.stream(answer(said), list))
    assert (streamed, deltas) == (turn, [])


@pytest.mark.parametrize(
    ("status", "more", "stop", "word", "cut"),
    [
        ("completed", {}, "tool_calls", "completed", False),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length", "max_output_tokens", True),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "content_filter", "content_filter", False),
        ("incomplete", {"incomplete_details": {"reason": "max_messages"}}, "length", "max_messages", True),
        ("incomplete", {"incomplete_details": None}, "length", "incomplete", True),
        ("failed", {"error": {"code": "server_error", "message": "no"}}, "length", "server_error", True),
        ("failed", {}, "length", "failed", True),
        ("cancelled", {}, "length", "cancelled", True),
        ("in_progress", {}, "length", "in_progress", True),
        ("queued", {}, "length", "queued", True),
    ],
)
def test_C21_stop_reasons(status: str, more: dict[str, Any], stop: str, word: str, cut: bool) -> None:
    turn = decoded(call(), status=status, **more)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == (stop, word, cut)


# -- streams ---------------------------------------------------------------------------------------


def without(*kinds: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda events: [event for event in events if not event["type"].endswith(kinds)]


def emptied(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*events[:-1], {**events[-1], "response": {**events[-1]["response"], "output": []}}]


def other_ids(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each event with an id of its own for its item, as some gateways send them."""
    changed = deepcopy(events)
    for number, event in enumerate(changed[:-1]):
        if "item_id" in event:
            event["item_id"] = f"other_{number}"
        if event["type"] == "response.output_item.added":
            event["item"]["id"] = f"other_{number}"
    return changed


def no_places(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in event.items() if key != "output_index"} for event in events]


def one_place(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "output_index": 0} if "output_index" in event else event for event in events]


def said_twice(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for event in events for one in [event] * (1 + event["type"].endswith("output_item.done"))]


@pytest.mark.parametrize(
    "served",
    [
        pytest.param(lambda events: events, id="as-documented"),
        pytest.param(emptied, id="nothing-at-the-end"),
        pytest.param(lambda events: emptied(without(".delta")(events)), id="no-pieces"),
        pytest.param(without(".done"), id="no-ends"),
        pytest.param(lambda events: emptied(without("part.added", "part.done")(events)), id="no-parts"),
        pytest.param(lambda events: emptied(without("item.added")(events)), id="no-beginnings"),
        pytest.param(lambda events: emptied(other_ids(events)), id="other-ids"),
        pytest.param(lambda events: emptied(no_places(events)), id="no-places"),
        pytest.param(lambda events: emptied(one_place(events)), id="one-place"),
        pytest.param(lambda events: emptied(said_twice(events)), id="said-twice"),
    ],
)
def test_servers_stream_the_same_answer_in_many_ways(
    served: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
) -> None:
    events = WIRE.stream(answer(*WHOLE), list)
    for event in events:
        EVENT.validate_python(event)
    turn, deltas = folded(served(events))
    assert turn == decoded(*WHOLE)
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == "Hm."
    assert [(one.position, one.id, one.name) for one in deltas if isinstance(one, CallDelta)] == [
        (0, "c1", "f"),
        (1, "c2", "g"),
    ]
    for position, arguments in enumerate(('{"a":1}', '{"b":2}')):
        pieces = [one.text for one in deltas if isinstance(one, ArgumentsDelta) and one.position == position]
        assert "".join(pieces) == arguments
    assert "".join(one.text for one in deltas if isinstance(one, ReasoningDelta)) == "First.Then."


def test_a_name_is_told_when_it_is_whole() -> None:
    events = WIRE.stream(answer(call('{"a":1}')), list)
    for event in events:
        if event["type"] == "response.output_item.added":
            event["item"] = {**event["item"], "name": ""}
    _, deltas = folded(events)
    assert deltas == [CallDelta(position=0, id="c1", name="f"), ArgumentsDelta(position=0, text='{"a":1}')]


def test_calls_whose_pieces_alternate() -> None:
    first, second = WHOLE[2:]
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": place, "item": {**one, "arguments": ""}}
        for place, one in enumerate((first, second))
    ]
    for pair in zip(first["arguments"], second["arguments"], strict=True):
        events += [
            {"type": "response.function_call_arguments.delta", "output_index": place, "delta": piece}
            for place, piece in enumerate(pair)
        ]
    turn, _ = folded(events)
    assert [one.arguments for one in turn.calls] == ['{"a":1}', '{"b":2}']
    assert (turn.stop, turn.truncated_call) == ("length", True)


def test_reasoning_that_was_cut_does_not_go_back() -> None:
    """Its encrypted content may not be all there before the item is done."""
    begun = {"type": "response.output_item.added", "output_index": 0, "item": {**THOUGHT, "summary": []}}
    part = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "First"}
    added = {"type": "response.output_item.added", "output_index": 1, "item": call()}
    turn, _ = folded([begun, part, added])
    assert turn.raw["output"][0] == reasoning(summary=[{"type": "summary_text", "text": "First"}])
    assert turn.reasoning == "First"
    assert [item.get("id") for item in asked(GO, turn, results("r1"))] == [None] * 3


@pytest.mark.parametrize(
    ("event", "word"),
    [
        ({"type": "error", "code": "server_error", "message": "no", "param": None}, "server_error"),
        ({"type": "error", "code": None, "message": "no", "param": None}, "error"),
        ({"type": "error", "error": {"code": "rate_limit_exceeded"}}, "rate_limit_exceeded"),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "server_error"}, "output": []},
            },
            "server_error",
        ),
    ],
)
def test_an_error_ends_the_answer(event: dict[str, Any], word: str) -> None:
    whole = WIRE.stream(answer(*WHOLE), list)
    turn, _ = folded([*whole[:-1], event])
    assert (turn.text, len(turn.calls)) == ("Hm.", 2)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", word, True)


def test_events_that_make_no_sense_are_passed_over() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"type": "keepalive"},
        {"type": "response.output_text.delta", "output_index": 7, "delta": "x"},
        {"type": "response.output_item.added", "output_index": 0, "item": spoken("", content=[])},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": -1, "delta": "H"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": "a", "delta": "m"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": None},
        {"type": "response.of_tomorrow", "output_index": 0},
        {"type": "response.function_call_arguments.delta", "output_index": 7, "delta": "{"},
    ]
    turn, deltas = folded(odd)
    assert (turn.text, "".join(one.text for one in deltas if isinstance(one, TextDelta))) == ("Hm", "Hm")
    for value in (None, "x", [None], [1]):
        assert WIRE.dialect.decode({"output": value, "usage": value, "error": value}, EXPORT).calls == ()


@settings(max_examples=40)
@given(st.text(max_size=30), CALLS, st.booleans(), st.data())
def test_any_cutting_gives_the_same_turn(
    text: str, written: list[WrittenCall], is_empty: bool, data: st.DataObject
) -> None:
    def cut(whole: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=4)))
        return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]

    response = WIRE.response(text, written, "completed")
    events = WIRE.stream(response, cut)
    turn, _ = folded(emptied(events) if is_empty else events)
    assert turn == WIRE.dialect.decode(response, EXPORT)
    request = accepted(WIRE.dialect.request([GO, turn, turn], EXPORT))
    sent = WIRE.calls(request)
    assert len({one.id for one in sent}) == 2 * len(written)
    assert sorted(one.id for one in WIRE.results(request)) == sorted(one.id for one in sent)
    assert all(isinstance(one.arguments, dict) for one in sent)
