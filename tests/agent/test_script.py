"""The scripted model: what it says in each dialect, what it refuses, and its files."""

import json
import re
from pathlib import Path
from typing import Any

import anthropic.types
import msgspec
import openai.types.chat
import pytest
from pydantic import TypeAdapter

from surehand.agent.model import ModelFailure
from surehand.agent.script import Expect, ScriptedCall, ScriptedModel, ScriptError, Seen, Step
from surehand.agent.script.step import Script
from surehand.errors import ConfigError
from surehand.providers.message import Usage

DIALECTS = ("openai-chat", "anthropic")
TURN = Step(
    text="Let me look.",
    calls=[ScriptedCall("find", {"id": "ü", "n": [1]}), ScriptedCall("pay", '{ "to": "bob"}', id="c7")],
    usage=Usage(input_tokens=7, output_tokens=3),
)
OPENAI: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "pay bob"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "content": "found A1"},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "denied"}]},
    ],
    "tools": [{"type": "function", "function": {"name": name}} for name in ("find", "pay")],
}
ANTHROPIC: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "pay bob"},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "found A1"},
                {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "denied"}]},
            ],
        },
    ],
    "tools": [{"name": "find"}, {"name": "pay"}],
}
REQUESTS = {"openai-chat": OPENAI, "anthropic": ANTHROPIC}


async def streamed(model: ScriptedModel, request: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [event async for event in model.stream(request or {"messages": []})]


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_openai_chat_whole() -> None:
    answer = await ScriptedModel([TURN], name="m").complete({"messages": []})
    openai.types.chat.ChatCompletion.model_validate(answer, strict=True)
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": "Let me look.",
        "refusal": None,
        "tool_calls": [
            {"id": "call_1_1", "type": "function", "function": {"name": "find", "arguments": '{"id":"ü","n":[1]}'}},
            {"id": "c7", "type": "function", "function": {"name": "pay", "arguments": '{ "to": "bob"}'}},
        ],
    }
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert answer["model"] == "m"


async def test_openai_chat_streamed() -> None:
    chunks = await streamed(ScriptedModel([TURN], chunk_chars=4))
    for chunk in chunks:
        openai.types.chat.ChatCompletionChunk.model_validate(chunk, strict=True)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert [delta["content"] for delta in deltas if "content" in delta] == ["", "Let ", "me l", "ook."]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert [call.get("id") for call in calls if call["index"] == 1] == ["c7", None, None, None, None]
    assert "".join(call["function"]["arguments"] for call in calls if call["index"] == 1) == '{ "to": "bob"}'
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 10
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


async def test_anthropic_whole() -> None:
    answer = await ScriptedModel([TURN], dialect="anthropic", name="m").complete({"messages": []})
    anthropic.types.Message.model_validate(answer)
    assert answer["content"] == [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "call_1_1", "name": "find", "input": {"id": "ü", "n": [1]}},
        {"type": "tool_use", "id": "c7", "name": "pay", "input": {"to": "bob"}},
    ]
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"] == {"input_tokens": 7, "output_tokens": 3}


async def test_anthropic_streamed() -> None:
    events = await streamed(ScriptedModel([TURN], dialect="anthropic", chunk_chars=4))
    adapter: TypeAdapter[Any] = TypeAdapter(anthropic.types.RawMessageStreamEvent)
    for event in events:
        adapter.validate_python(event)
    assert [event["type"] for event in events[:3]] == ["message_start", "content_block_start", "content_block_delta"]
    assert events[1]["content_block"] == {"type": "text", "text": ""}
    second = [event for event in events if event.get("index") == 2]
    assert second[0]["content_block"] == {"type": "tool_use", "id": "c7", "name": "pay", "input": {}}
    assert "".join(event["delta"]["partial_json"] for event in second[1:-1]) == '{ "to": "bob"}'
    assert second[-1]["type"] == "content_block_stop"
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {"output_tokens": 3}
    assert events[-1] == {"type": "message_stop"}


@pytest.mark.parametrize(
    ("step", "openai_word", "anthropic_word"),
    [
        ({"text": "Hello"}, "stop", "end_turn"),
        ({"refusal": "No."}, "stop", "refusal"),
        ({}, "stop", "end_turn"),
        ({"text": "Hel", "finish": "cut"}, "cut", "cut"),
    ],
)
async def test_why_it_stopped(step: dict[str, Any], openai_word: str, anthropic_word: str) -> None:
    whole = await ScriptedModel([step]).complete({})
    assert whole["choices"][0]["finish_reason"] == openai_word
    assert whole["choices"][0]["message"]["refusal"] == step.get("refusal")
    whole = await ScriptedModel([step], dialect="anthropic").complete({})
    assert whole["stop_reason"] == anthropic_word
    assert [block["text"] for block in whole["content"]] == [text for key, text in step.items() if key != "finish"]


async def test_arguments_need_not_be_json() -> None:
    step = {"calls": [{"name": "pay", "arguments": '{"to": "b', "id": ""}], "finish": "length"}
    whole = await ScriptedModel([step]).complete({})
    assert whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"to": "b'
    events = await streamed(ScriptedModel([step], dialect="anthropic"))
    assert "".join(event["delta"].get("partial_json", "") for event in events if "delta" in event) == '{"to": "b'
    with pytest.raises(ScriptError, match="that is not streamed holds arguments as an object"):
        await ScriptedModel([step], dialect="anthropic").complete({})
    empty = await ScriptedModel([{"calls": [{"name": "pay"}]}], dialect="anthropic").complete({})
    assert empty["content"][0]["input"] == {}


async def test_a_raw_answer_is_given_as_it_is() -> None:
    message = {"role": "assistant", "content": "hi there", "reasoning_content": "hm, well", "annotations": [1]}
    raw: dict[str, Any] = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    model = ScriptedModel([{"raw": raw}, {"raw": raw}])
    assert await model.complete({}) == raw
    deltas = [choice["delta"] for chunk in await streamed(model) for choice in chunk["choices"]]
    for field in ("content", "reasoning_content"):
        assert "".join(delta.get(field, "") for delta in deltas) == message[field]
    assert {"annotations": [1]} in deltas


async def test_a_raw_answer_of_anthropic_is_streamed_in_its_own_way() -> None:
    thought = {"type": "thinking", "thinking": "hm, well", "signature": "sig"}
    other = {"type": "redacted_thinking", "data": "???"}
    raw: dict[str, Any] = {"id": "x", "content": [thought, other], "stop_reason": "pause_turn"}
    model = ScriptedModel([{"raw": raw}, {"raw": raw}], dialect="anthropic")
    assert await model.complete({}) == raw
    events = await streamed(model)
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("thinking", "") for delta in deltas) == "hm, well"
    assert deltas[-1] == {"type": "signature_delta", "signature": "sig"}
    assert {"type": "content_block_start", "index": 1, "content_block": other} in events
    assert events[-2]["delta"]["stop_reason"] == "pause_turn"


@pytest.mark.parametrize(
    ("fail", "retryable"),
    [(500, True), (529, True), (429, True), (400, False), ("timeout", True), ("connection", True)],
)
async def test_failures_count_as_steps(dialect: str, fail: int | str, retryable: bool) -> None:
    model = ScriptedModel([{"fail": fail}, {"fail": fail}, "At last."], dialect=dialect)
    with pytest.raises(ModelFailure, match=f"{fail}") as raised:
        await model.complete({})
    assert raised.value.retryable is retryable
    with pytest.raises(ModelFailure):
        await streamed(model)
    assert await model.complete({})
    model.assert_done()


async def test_an_answer_can_break_off(dialect: str) -> None:
    model = ScriptedModel([{"text": "A long story", "break_after": 3}] * 2, dialect=dialect)
    heard: list[Any] = []

    async def listen() -> None:
        async for event in model.stream({}):
            heard.append(event)

    with pytest.raises(ModelFailure) as raised:
        await listen()
    assert raised.value.retryable
    assert len(heard) == 3
    with pytest.raises(ModelFailure):
        await model.complete({})


async def test_what_is_expected_is_there(dialect: str) -> None:
    expect = Expect(
        user="bob",
        results=["A1", "denied"],
        tools=["pay", "find"],
        has_tools=["pay"],
        lacks_tools=["refund"],
        messages=len(REQUESTS[dialect]["messages"]),
    )
    model = ScriptedModel([Step(text="1", expect=expect), Step(expect=Expect(results="denied"))], dialect=dialect)
    await model.complete(REQUESTS[dialect])
    await streamed(model, REQUESTS[dialect])
    model.assert_done()
    assert model.requests == [REQUESTS[dialect]] * 2


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ({"user": "alice"}, "the last user message must hold 'alice', and is 'pay bob'"),
        ({"results": ["A1"]}, r"the results must hold, one by one, \['A1'\]; they are \['found A1', 'denied'\]"),
        ({"results": ["denied", "A1"]}, "the results must hold, one by one"),
        ({"results": "paid"}, r"a result must hold 'paid'; they are"),
        ({"tools": ["pay"]}, r"the tools offered must be \['pay'\], and are \['find', 'pay'\]"),
        ({"has_tools": ["refund"]}, "refund must be offered"),
        ({"lacks_tools": ["find"]}, "find must not be offered"),
        ({"messages": 9}, "there must be 9 messages"),
    ],
)
async def test_what_is_expected_is_missing(dialect: str, expect: dict[str, Any], problem: str) -> None:
    model = ScriptedModel(["One.", {"expect": expect, "text": "Two."}], dialect=dialect)
    await model.complete(REQUESTS[dialect])
    with pytest.raises(ScriptError, match=f"script, step 2: {problem}"):
        await model.complete(REQUESTS[dialect])
    for again in (streamed(model, REQUESTS[dialect]), model.complete({})):
        with pytest.raises(ScriptError, match=problem):
            await again
    with pytest.raises(AssertionError, match=problem):
        model.assert_done()


async def test_a_request_after_the_end(dialect: str) -> None:
    model = ScriptedModel(["One."], dialect=dialect)
    await model.complete({})
    model.assert_done()
    with pytest.raises(ScriptError, match=r"ended after 1 steps, but the model was asked again.* 'denied'"):
        await model.complete(REQUESTS[dialect])
    with pytest.raises(ScriptError, match="asked again"):
        model.assert_done()


async def test_steps_that_were_not_played(dialect: str) -> None:
    steps = ["One.", {"fail": 500}, {"text": "Two", "calls": [{"name": "pay"}]}, {}, {"finish": "length"}]
    model = ScriptedModel([*steps, lambda seen: "Six."], dialect=dialect)
    await model.complete({})
    with pytest.raises(
        ScriptError, match="5 of 6 steps were not played: fail 500; 'Two', pay; an empty answer; length; a function"
    ):
        model.assert_done()


async def test_a_step_can_depend_on_the_request(dialect: str) -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        assert seen.turns == 1
        assert seen.request is REQUESTS[dialect]
        return {"text": f"{seen.user}: {', '.join(seen.results)}; {', '.join(seen.tools)}"}

    model = ScriptedModel([answer], dialect=dialect)
    assert "pay bob: found A1, denied; find, pay" in json.dumps(await model.complete(REQUESTS[dialect]))


async def test_a_step_that_objects(dialect: str) -> None:
    def answer(seen: Seen) -> str:
        raise ValueError(f"what is {seen.user}?")

    model = ScriptedModel([answer], dialect=dialect)
    with pytest.raises(ValueError, match="what is pay bob"):
        await model.complete(REQUESTS[dialect])
    with pytest.raises(ScriptError, match=r"script, step 1: what is pay bob\?"):
        model.assert_done()


async def test_another_process_goes_on_where_the_conversation_is(dialect: str) -> None:
    steps = [{"fail": 500}, {}, "One.", {"fail": 429}, {"calls": [{"name": "pay"}]}, "Three."]
    model = ScriptedModel(steps, dialect=dialect, catch_up=True)
    with pytest.raises(ModelFailure, match="429"):
        await model.complete(REQUESTS[dialect])
    assert "call_5_1" in json.dumps(await model.complete(REQUESTS[dialect]))
    assert "Three." in json.dumps(await model.complete({}))
    model.assert_done()


FILE = {
    "dialect": "anthropic",
    "name": "desk",
    "steps": [
        {
            "expect": {"user": "bob", "results": "A1"},
            "text": "Let me look.",
            "calls": [{"name": "find", "arguments": '{"id": "A1', "id": "c7"}],
            "finish": "max_tokens",
            "usage": {"input_tokens": 120, "output_tokens": 30},
        },
        {"fail": "timeout"},
    ],
}


async def test_a_script_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    model = ScriptedModel.from_file(path)
    assert (model.dialect, model.name, repr(model)) == ("anthropic", "desk", "ScriptedModel('desk', step 0 of 2)")
    assert (await streamed(model, ANTHROPIC))[-2]["delta"]["stop_reason"] == "max_tokens"
    other = ScriptedModel.from_file(path, dialect="openai-chat")
    assert (await other.complete(OPENAI))["choices"][0]["finish_reason"] == "max_tokens"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "script .*script.json: Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"steps": [{"txt": "hi"}]}', r"unknown field `txt` - at `\$\.steps\[0\]`; there are text, calls, refusal, "),
        ('{"stps": []}', r"unknown field `stps`; there are steps, dialect, name$"),
        ('{"steps": [{"expect": {"usr": "x"}}]}', r"`usr` - at `\$\.steps\[0\]\.expect`; there are user, results, "),
        ('{"steps": [{"calls": [{"nme": "x"}]}]}', r"`nme` - at .*; there are name, arguments, id$"),
        ('{"steps": [{"calls": [{"arguments": {}}]}]}', r"required field `name` - at `\$\.steps\[0\]\.calls\[0\]`"),
        ('{"steps": [{"fail": 200}]}', r"`fail` must be an HTTP status from 400 to 599, not 200 - at `\$\.steps"),
        ('{"steps": [{"fail": "no"}]}', "Invalid enum value 'no'"),
        ('{"steps": [{"fail": 500, "text": "hi"}]}', "a step is an answer, or `raw`, or `fail`"),
        ('{"steps": [], "dialect": "french"}', "a script speaks openai-chat or anthropic, not 'french'"),
    ],
)
def test_a_script_file_that_is_wrong(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        ScriptedModel.from_file(path)


def test_a_script_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"script .*none\.json: No such file"):
        ScriptedModel.from_file(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="step 2: Object contains unknown field `txt`; there are text, calls"):
        ScriptedModel(["hi", {"txt": "hi"}])
    wrong: Any = 7
    with pytest.raises(ConfigError, match="step 1: 'int' object is not iterable"):
        ScriptedModel([wrong])
    with pytest.raises(ConfigError, match="chunk_chars must be at least 1"):
        ScriptedModel([], chunk_chars=0)


def test_the_guide_names_every_field_of_a_script() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text(encoding="utf-8")
    rows = "".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
    fields = {*Script.__struct_fields__, *Step.__struct_fields__, *Expect.__struct_fields__}
    assert set(re.findall(r"`(\w+)`", rows)) == fields
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert len(msgspec.json.decode(example, type=Script).steps) == 3
