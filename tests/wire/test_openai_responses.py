"""Reasoning of OpenAI's Responses, over a real connection; and where the stand-in differs from the API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest
from openai.types.responses import Response
from pydantic import TypeAdapter, ValidationError

from surehand.agent.clients import OpenAIResponsesModel
from surehand.providers import CallResult, Message, ResultMessage, UserMessage, dialect
from surehand.testing.dialect_wire import spec_of, view_of
from tests.wire.aimock import Aimock
from tests.wire.conftest import KEY
from tests.wire.test_sdks import ask

SPOKEN = dialect("openai-responses")
EXPORT = SPOKEN.export(view_of(spec_of("find_order"), spec_of("pay")))


@pytest.fixture
async def model(aimock: Aimock, request: pytest.FixtureRequest) -> AsyncGenerator[OpenAIResponsesModel]:
    """One that reasons: the stand-in goes by its name."""
    headers = {"x-test-id": request.node.name}
    async with openai.AsyncOpenAI(base_url=f"{aimock.url}/v1", api_key=KEY, default_headers=headers) as client:
        yield OpenAIResponsesModel("gpt-5", client)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_reasoning_comes_encrypted_and_goes_back(
    model: OpenAIResponsesModel, aimock: Aimock, request: pytest.FixtureRequest, stream: bool
) -> None:
    messages: list[Message] = [UserMessage(content="please pay bob")]
    turn = await ask(model, messages, EXPORT, stream=stream)
    kinds = [item["type"] for item in turn.raw["output"]]
    assert kinds == ["reasoning", "message", "function_call", "function_call"]
    assert turn.raw["output"][0]["encrypted_content"]
    messages += [turn, ResultMessage(results=tuple(CallResult(tool_call_id=c.id, content="ok") for c in turn.calls))]
    sent = SPOKEN.request(messages, EXPORT)["input"]
    assert sent[1:5] == [
        {key: value for key, value in item.items() if key != "status" or item["type"] == "message"}
        for item in turn.raw["output"]
    ]
    turn = await ask(model, messages, EXPORT, stream=stream)
    assert (turn.text, turn.stop) == ("Order A1 is found, and Bob is paid.", "stop")
    # The stand-in keeps requests in the words of Chat Completions, which have none for reasoning and strict tools: that
    # they are sent is tested on what the client sends, in tests/agent/test_openai_responses.py.
    _, second = aimock.journal(request.node.name)
    assert [said["role"] for said in second["body"]["messages"]] == ["user", *["assistant"] * 3, "tool", "tool"]
    assert "encrypted_content" not in str(second["body"])
    assert all("strict" not in tool["function"] for tool in second["body"]["tools"])


async def test_the_stand_in_leaves_out_what_the_api_always_says(model: OpenAIResponsesModel) -> None:
    """Its answers do not satisfy the SDK's own types, which the SDK itself does not check; ours do not rely on it."""
    request = SPOKEN.request([UserMessage(content="please pay bob")], EXPORT)
    whole = await model.complete(request)
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(Response).validate_python(whole)
    missing = {str(error["loc"][-1]) for error in raised.value.errors() if error["type"] == "missing"}
    assert missing == {
        "parallel_tool_calls",
        "tool_choice",
        "tools",
        "input_tokens_details",
        "output_tokens_details",
    }
    events: list[dict[str, Any]] = [event async for event in model.stream(request)]
    assert not any("sequence_number" in event for event in events)
