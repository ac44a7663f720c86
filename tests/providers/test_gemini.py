"""What is peculiar to `gemini`."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from surehand import ConfigError, ToolCall
from surehand.providers import (
    PROVIDERS,
    ArgumentsDelta,
    CallDelta,
    CallResult,
    Choice,
    Export,
    Media,
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
from surehand.providers.formats.gemini import Gemini
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.providers.test_openai_chat import CALLS
from tests.providers.wire_gemini import GeminiWire

WIRE = GeminiWire()
SPOKEN = WIRE.dialect
VIEW = view_of(*map(spec_of, ("now", "f", "g", "read")))
EXPORT = SPOKEN.export(VIEW)
GO = UserMessage(content="go")
C20 = [
    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "g", "args": {}}},
]


def answer(*parts: dict[str, Any], word: str = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": word}], **more}


def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}


def called(**call: Any) -> dict[str, Any]:
    return {"functionCall": call}


def folded(*events: dict[str, Any]) -> ModelTurn:
    fold = SPOKEN.fold(EXPORT)
    for event in events:
        fold.feed(event)
    return fold.end()


def asked(*messages: Message, export: Export = EXPORT) -> dict[str, Any]:
    """A request that the SDK's own types read without anything left over."""
    request = SPOKEN.request(messages, export)
    for content in request["contents"]:
        again = types.Content.model_validate(content).model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert again == content
    for key, kind in (("systemInstruction", types.Content), ("toolConfig", types.ToolConfig)):
        if key in request:
            kind.model_validate(request[key])
    for tool in request.get("tools", []):
        types.Tool.model_validate(tool)
    return request


def test_the_form() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    export = SPOKEN.export(view_of(spec_of("read", schema), spec_of("now")))
    parameters = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]}
    declared = [
        {"name": "now", "description": "Does it."},
        {"name": "read", "description": "Does it.", "parameters": parameters},
    ]
    assert asked(SystemMessage(content="Be brief."), GO, export=export) == {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": declared}],
    }
    assert asked(GO, export=SPOKEN.export(view_of())).keys() == {"contents"}


def test_C46_no_parameters_at_all() -> None:
    for parameters in ({"type": "object", "properties": {}}, {}, {"type": "object", "additionalProperties": False}):
        for strict in (False, True):
            (tool,) = SPOKEN.export(view_of(spec_of("now", parameters)), strict=strict)
            assert tool["functionDeclarations"] == [{"name": "now", "description": "Does it."}]


CHOICES: list[tuple[Choice, dict[str, Any]]] = [
    (Choice(), {}),
    (Choice(mode="none"), {"mode": "NONE"}),
    (Choice(mode="required"), {"mode": "ANY"}),
    (Choice(mode="one", tool="g"), {"mode": "ANY", "allowedFunctionNames": ["g"]}),
]


@pytest.mark.parametrize(("choice", "said"), CHOICES)
@pytest.mark.parametrize("strict", [False, True])
def test_tool_choice(choice: Choice, said: dict[str, Any], strict: bool) -> None:
    request = SPOKEN.request([GO], SPOKEN.export(VIEW, strict=strict), choice)
    if strict and choice.mode == "auto":
        said = {"mode": "VALIDATED"}
    assert request.get("toolConfig", {}).get("functionCallingConfig", {}) == said
    types.ToolConfig.model_validate(request.get("toolConfig", {}))


def test_one_call_at_a_time_cannot_be_told() -> None:
    with pytest.raises(ConfigError, match="gemini cannot be told: make one call at a time"):
        SPOKEN.request([GO], EXPORT, Choice(parallel=False))


def test_one_tool_that_cannot_be_strict_turns_it_off_for_all() -> None:
    free = {"type": "object", "properties": {"any": {"type": "object"}}}
    view = view_of(spec_of("free", free), spec_of("read"))
    export = SPOKEN.export(view, strict=True)
    assert export.verdicts == {"free": "unsupported", "read": "unsupported"}
    assert export.tools == SPOKEN.export(view).tools
    assert "toolConfig" not in SPOKEN.request([GO], export)
    assert export.notes[-1] == (
        "read: unsupported, sent without strict: the provider takes all tools strict or none, and free cannot be"
    )
    assert any(note.startswith("free: unsupported") and "properties/any" in note for note in export.notes)


def test_C20_signatures_stay_on_their_parts() -> None:
    turn = SPOKEN.decode(answer(*C20), EXPORT)
    stored = msgspec.json.decode(msgspec.json.encode(turn), type=ModelTurn)
    assert [call.name for call in stored.calls] == ["f", "g"]
    request = asked(GO, stored)
    assert request["contents"][1] == {"role": "model", "parts": C20}
    assert WIRE.assistants(request) == [{"role": "model", "parts": C20}]
    streamed = folded(*(chunk(part) for part in C20), chunk({"text": ""}, finishReason="STOP"))
    assert streamed == turn
    for name, other in PROVIDERS.items():
        if name != "gemini":
            sent = json.dumps(other.request([GO, stored], other.export(VIEW)))
            assert "c2ln" not in sent
            assert "houghtSignature" not in sent


def test_a_turn_of_another_model_has_the_signature_that_stands_for_none() -> None:
    foreign = ModelTurn(
        dialect="anthropic", text="Hm.", calls=(ToolCall(id="t1", name="f"), ToolCall(id="t2", name="g"))
    )
    parts = asked(GO, foreign)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, "skip_thought_signature_validator", None]
    assert [part["functionCall"]["id"] for part in parts[1:]] == ["t1", "t2"]
    plain = Gemini(replace(SPOKEN.profile, call_signature=""))
    assert "thoughtSignature" not in str(plain.request([GO, foreign], EXPORT))


def test_parts_that_only_sign_and_thoughts() -> None:
    parts = [
        {"text": "Well, ", "thought": True},
        {"text": "well.", "thought": True},
        {"text": "Look"},
        {"text": "!"},
        {"text": "", "thoughtSignature": "YQ=="},
        {"text": " And", "thoughtSignature": "Yg=="},
        {"text": " so."},
        {"executableCode": {"code": "1+1", "language": "PYTHON"}},
    ]
    whole = [
        {"text": "Well, well.", "thought": True},
        {"text": "Look!"},
        *parts[4:],
    ]
    turn = folded(*(chunk(part) for part in parts), chunk(finishReason="STOP"))
    assert turn == SPOKEN.decode(answer(*parts), EXPORT)
    assert turn.raw == {"role": "model", "parts": whole}
    assert (turn.text, turn.reasoning, turn.stop) == ("Look! And so.", "Well, well.", "stop")
    assert asked(GO, turn)["contents"][1]["parts"] == whole
    only_thoughts = SPOKEN.decode(answer({"text": "Hm", "thought": True}), EXPORT)
    assert len(asked(GO, only_thoughts)["contents"]) == 1


def test_calls_without_ids_are_paired_by_order() -> None:
    turn = SPOKEN.decode(answer(called(name="f", args={"i": 1}), called(name="f", args={"i": 2})), EXPORT)
    assert [call.id for call in turn.calls] == ["", ""]
    results = tuple(CallResult(tool_call_id="", content=f"r{i}") for i in (1, 2))
    request = asked(GO, turn, ResultMessage(results=results), UserMessage(content="and now?"))
    assert WIRE.calls(request)[0].id == ""
    assert "'id'" not in str(request["contents"])
    assert request["contents"][2:] == [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "r1"}}},
                {"functionResponse": {"name": "f", "response": {"output": "r2"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]


def test_C18_an_id_that_is_repeated_is_told_apart() -> None:
    turn = SPOKEN.decode(answer(called(id="x", name="f", args={}), called(id="x", name="g", args={})), EXPORT)
    assert [call.id for call in WIRE.calls(asked(GO, turn))] == ["x", "x_2"]
    assert [result.id for result in WIRE.results(asked(GO, turn))] == ["x", "x_2"]


def test_results_say_whether_they_went_wrong() -> None:
    turn = SPOKEN.decode(answer(called(id="a", name="f"), called(id="b", name="g", args=None)), EXPORT)
    results = (CallResult(tool_call_id="a", content="denied", is_error=True), CallResult(tool_call_id="b", content=" "))
    request = asked(GO, turn, ResultMessage(results=results))
    sent = [part["functionResponse"]["response"] for part in request["contents"][2]["parts"]]
    assert sent == [{"error": "denied"}, {"output": "(no output)"}]
    assert [call.arguments for call in WIRE.calls(request)] == [{}, {}]


def test_images_of_results() -> None:
    turn = SPOKEN.decode(answer(called(id="a", name="f", args={})), EXPORT)
    image = Media(media_type="image/png", data=b"\x89PNG")
    message = ResultMessage(results=(CallResult(tool_call_id="a", content="Here.", media=(image,)),))
    data = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(image.data).decode()}}
    result = {"id": "a", "name": "f", "response": {"output": "Here."}}
    sent = asked(GO, turn, message)["contents"][2:]
    assert sent == [{"role": "user", "parts": [{"functionResponse": {**result, "parts": [data]}}]}]
    older = Gemini(replace(SPOKEN.profile, images="user"))
    assert older.request([GO, turn, message], EXPORT)["contents"][2:] == [
        {"role": "user", "parts": [{"functionResponse": result}]},
        {"role": "user", "parts": [{"text": "The images of the results above:"}, data]},
    ]


def test_roles_alternate() -> None:
    request = asked(
        SystemMessage(content="One."),
        SystemMessage(content="Two."),
        GO,
        UserMessage(content="now"),
        SPOKEN.decode(answer({"text": "A"}), EXPORT),
        SPOKEN.decode(answer({"text": "B"}, called(name="f", args={})), EXPORT),
    )
    assert request["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}
    first, second, third = request["contents"]
    assert [part["text"] for part in first["parts"]] == ["go", "now"]
    assert [part.get("text") for part in second["parts"]] == ["A", "B", None]
    assert third["parts"][0]["functionResponse"]["response"] == {"error": "not executed"}


def test_C08_arguments_of_other_kinds() -> None:
    for args, arguments in (
        (None, ""),
        ("", ""),
        ('{"a"', '{"a"'),
        ([1], "[1]"),
        ({"x": float("inf")}, '{"x":Infinity}'),
    ):
        turn = SPOKEN.decode(answer(called(id="a", name="f", args=args)), EXPORT)
        assert turn.calls[0].arguments == arguments
        assert WIRE.calls(asked(GO, turn))[0].arguments == {}
    big = SPOKEN.decode(answer(called(id="a", name="f", args={"n": 2**70})), EXPORT)
    assert WIRE.calls(asked(GO, big))[0].arguments == {"n": 2**70}


FILTERED = [
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ESCALATION"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "PUP_LIMITED_DISABLED"),
]
UNKNOWN = [
    *("FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_OTHER", "NO_IMAGE", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"),
    "MISSING_THOUGHT_SIGNATURE",
]
STOPS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "MALFORMED_FUNCTION_CALL": "stop",
    "UNEXPECTED_TOOL_CALL": "stop",
    **dict.fromkeys(FILTERED, "content_filter"),
    **dict.fromkeys(UNKNOWN, "unknown"),
}


@pytest.mark.parametrize("word", list(types.FinishReason.__members__))
def test_C21_every_word_of_the_sdk(word: str) -> None:
    turn = SPOKEN.decode(answer(word=word), EXPORT)
    assert (turn.stop, turn.raw_stop) == (STOPS[word], word)
    assert folded(answer(word=word)) == turn


@pytest.mark.parametrize("reason", list(types.BlockedReason.__members__))
def test_a_prompt_that_was_blocked(reason: str) -> None:
    response = {"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 3}}
    turn = SPOKEN.decode(response, EXPORT)
    assert (turn.stop, turn.raw_stop, turn.text, turn.usage.input_tokens) == ("content_filter", reason, "", 3)
    assert folded(response) == turn


def test_what_the_sdk_read_is_read_again() -> None:
    response = types.GenerateContentResponse(
        candidates=[
            types.Candidate(
                content=types.Content(
                    role="model",
                    parts=[
                        types.Part(text="Hm", thought=True),
                        types.Part(
                            function_call=types.FunctionCall(id="c1", name="f", args={"a": [1, None]}),
                            thought_signature=b"sig\xfb\xff",
                        ),
                    ],
                ),
                finish_reason=types.FinishReason.STOP,
            )
        ],
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=7, tool_use_prompt_token_count=1, candidates_token_count=5, thoughts_token_count=2
        ),
    )
    for unset in (False, True):
        given = response.model_dump(mode="json", by_alias=True, exclude_unset=unset)
        turn = SPOKEN.decode(given, EXPORT)
        assert turn.calls == (ToolCall(id="c1", name="f", arguments={"a": [1, None]}),)
        assert (turn.stop, turn.reasoning) == ("tool_calls", "Hm")
        assert turn.usage == Usage(input_tokens=8, output_tokens=7)
        sent = asked(GO, turn)["contents"][1]["parts"][1]
        assert types.Part.model_validate(sent).thought_signature == b"sig\xfb\xff"
        assert folded(given) == turn


def test_the_candidate_that_calls_a_tool() -> None:
    two = [
        {"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP"},
        {"content": {"parts": [called(name="f", args={})]}, "finishReason": "STOP", "index": 1},
    ]
    turn = SPOKEN.decode({"candidates": two}, EXPORT)
    assert (turn.text, len(turn.calls)) == ("", 1)
    assert folded({"candidates": two}) == turn


PIECES = [
    called(id="c1", name="functions.f", willContinue=True),
    called(partialArgs=[{"jsonPath": "$.place", "stringValue": "New ", "willContinue": True}], willContinue=True),
    called(partialArgs=[{"jsonPath": "$.place", "stringValue": "New "}], willContinue=True),
    called(partialArgs=[{"jsonPath": "$.days[0].no", "numberValue": 5}], willContinue=True),
    called(partialArgs=[{"jsonPath": "$.days[1]", "nullValue": "NULL_VALUE"}], willContinue=True),
    called(partialArgs=[{"jsonPath": "$['a \\'b\\''].c", "boolValue": True}], willContinue=True),
    called(),
]


def test_arguments_in_pieces() -> None:
    fold = SPOKEN.fold(EXPORT)
    deltas = [delta for piece in PIECES for delta in fold.feed(chunk(piece))]
    fold.feed(chunk(called(name="g", args={}), finishReason="STOP"))
    turn = fold.end()
    arguments = {"place": "New New ", "days": [{"no": 5}, None], "a 'b'": {"c": True}}
    assert deltas == [
        CallDelta(position=0, id="c1", name="f"),
        ArgumentsDelta(position=0, text=json.dumps(arguments, separators=(",", ":"))),
    ]
    assert [call.arguments for call in turn.calls] == [arguments, {}]
    assert (turn.stop, turn.wire_names) == ("tool_calls", ("functions.f", "g"))
    assert WIRE.calls(asked(GO, turn))[0].arguments == arguments


@pytest.mark.parametrize(
    "piece",
    [
        {"jsonPath": "$", "stringValue": "x"},
        {"jsonPath": "$.a[7]", "stringValue": "x"},
        {"jsonPath": "$.place.x", "stringValue": "x"},
        {"jsonPath": "$.place", "numberValue": 1},
        {"jsonPath": "$.a"},
        {},
    ],
)
def test_a_piece_without_a_place_spoils_its_call(piece: dict[str, Any]) -> None:
    pieces = [*PIECES[:2], called(partialArgs=[piece], willContinue=True), PIECES[2], called()]
    turn = folded(*map(chunk, pieces), chunk(finishReason="STOP"))
    assert isinstance(turn.calls[0].arguments, str)
    assert WIRE.calls(asked(GO, turn))[0].arguments == {}


@pytest.mark.parametrize("word", [{}, {"finishReason": "STOP"}])
def test_a_call_that_never_ended_is_cut(word: dict[str, str]) -> None:
    turn = folded(*map(chunk, PIECES[:-1]), chunk(**word))
    assert (turn.stop, turn.truncated_call, len(turn.calls)) == ("length", True, 1)


def test_an_error_in_the_stream() -> None:
    error = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}
    turn = folded(chunk(called(name="f", args={}), finishReason="STOP"), error)
    assert (turn.stop, turn.raw_stop, turn.truncated_call) == ("length", "UNAVAILABLE", True)


def test_what_is_shown() -> None:
    fold = SPOKEN.fold(EXPORT)
    assert fold.feed(chunk({"text": "Hm", "thought": True})) == [ReasoningDelta(text="Hm")]
    assert fold.feed(chunk({"text": "A"}, {"text": "B"})) == [TextDelta(text="A"), TextDelta(text="B")]
    assert fold.feed(chunk(called(id="c1", name="f", args={"a": 1}), called(name=""))) == [
        CallDelta(position=0, id="c1", name="f"),
        ArgumentsDelta(position=0, text='{"a":1}'),
    ]
    assert fold.feed({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1}}) == []
    assert fold.feed(chunk(finishReason="STOP") | {"usageMetadata": {"candidatesTokenCount": 4}}) == []
    assert fold.end().usage == Usage(input_tokens=5, output_tokens=4)


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], [1], {"content": 1}, {"content": {"parts": [1, {"functionCall": 2}]}}]
)
def test_nothing_of_an_answer_is_expected(value: Any) -> None:
    turn = SPOKEN.decode({"candidates": [value], "usageMetadata": value, "promptFeedback": value}, EXPORT)
    assert turn.text == ""
    assert folded({"candidates": [value]}).text == ""
    asked(GO, turn)


@settings(max_examples=40)
@given(st.text(max_size=30), CALLS, st.data())
def test_any_cutting_gives_the_same_turn(text: str, written: list[WrittenCall], data: st.DataObject) -> None:
    def cut(whole: str) -> list[str]:
        places = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=4)))
        return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]

    response = WIRE.response(text, written, "STOP")
    turn = folded(*WIRE.stream(response, cut))
    assert turn == SPOKEN.decode(response, EXPORT)
    request = SPOKEN.request([GO, turn, turn], EXPORT)
    sent = WIRE.calls(request)
    assert len({call.id for call in sent if call.id}) == len([call for call in sent if call.id])
    assert len(WIRE.results(request)) == 2 * len(written)


def test_names() -> None:
    export = dialect("gemini").export(view_of(*map(spec_of, ("a.b", "x" * 100))))
    assert export.names["a.b"] == "a_b"
    assert all(len(name) <= 64 for name in export.wire_names)
