"""Mistral's SDK over a real connection. Where the stand-in speaks OpenAI's form instead of Mistral's, that is shown."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from mistralai.client import Mistral
from mistralai.client.models import CompletionChunk
from pydantic import ValidationError

import surehand as sh
from surehand.agent.clients import MistralModel
from surehand.agent.names import parse_model
from surehand.providers import dialect
from tests.desk import Desk
from tests.wire.aimock import Aimock
from tests.wire.conftest import KEY
from tests.wire.test_sdks import failure, two_calls
from tests.wire.test_sdks import view as view


@pytest.fixture
def test_id(request: pytest.FixtureRequest) -> str:
    return f"mistral {request.node.name}"


@pytest.fixture
async def model(aimock: Aimock, test_id: str) -> AsyncGenerator[MistralModel]:
    async with httpx2.AsyncClient(headers={"x-test-id": test_id}) as connection:
        yield MistralModel("m", Mistral(api_key=KEY, server_url=aimock.url, async_client=connection))


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_two_calls_at_once_and_then_text(
    model: MistralModel,
    view: sh.ToolView,
    aimock: Aimock,
    test_id: str,
    stream: bool,
    strict: bool,
) -> None:
    """Its stand-in cannot stream the first answer: see below."""
    await two_calls(model, view, aimock.journal, test_id, streams=(False, stream), strict=strict)
    _, second = aimock.journal(test_id)
    asked = [call["id"] for said in second["body"]["messages"] for call in said.get("tool_calls", [])]
    answered = [said["tool_call_id"] for said in second["body"]["messages"] if said["role"] == "tool"]
    assert asked == answered
    assert all(len(one) == 9 and one.isalnum() for one in asked)


async def test_the_stand_in_streams_calls_as_mistral_does_not(
    model: MistralModel, view: sh.ToolView, aimock: Aimock
) -> None:
    """It cuts a call into pieces without a name, as OpenAI does; Mistral's own type has no such piece."""
    spoken = dialect("mistral")
    request = spoken.request([sh.UserMessage(content="please pay bob")], spoken.export(view))
    async with httpx2.AsyncClient() as connection:
        answer = await connection.post(
            f"{aimock.url}/v1/chat/completions",
            json={"model": "m", "stream": True, **request},
            headers={"authorization": f"Bearer {KEY}"},
        )
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    chunks: list[dict[str, Any]] = [json.loads(line) for line in lines]
    pieces = [chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["delta"].get("tool_calls")]
    nameless = [one for one in pieces if "name" not in one["choices"][0]["delta"]["tool_calls"][0]["function"]]
    assert nameless
    with pytest.raises(ValidationError, match=r"function\.name"):
        CompletionChunk.model_validate(nameless[0])
    heard: list[Any] = []
    failed = await failure(model, "please pay bob", stream=True, heard=heard)
    assert str(failed) == "mistralai broke off (ValidationError)"
    assert heard
    fold = spoken.fold(spoken.export(view))  # the pieces are read all the same, should a server send them
    for chunk in chunks:
        fold.feed(chunk)
    assert [call.name for call in fold.end().calls] == ["find_order", "pay"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("text", "status", "retryable"),
    [
        ("be overloaded", 503, True),
        ("too many", 429, True),
        ("no money", 429, False),
        ("bad request", 400, False),
        ("bad key", 401, False),
    ],
)
async def test_failures(
    model: MistralModel,
    aimock: Aimock,
    test_id: str,
    text: str,
    status: int,
    retryable: bool,
    stream: bool,
) -> None:
    failed = await failure(model, text, stream=stream)
    assert f"answered {status} " in str(failed)
    assert failed.retryable is retryable
    assert "sk-" not in str(failed)
    assert len(aimock.journal(test_id)) == 1


async def test_a_stream_that_breaks_off(model: MistralModel) -> None:
    heard: list[Any] = []
    failed = await failure(model, "break off", stream=True, heard=heard)
    assert heard
    assert failed.retryable
    assert "broke off (" in str(failed)


async def test_the_environment_leads_there(
    desk: Desk, aimock: Aimock, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    for url, found in ((aimock.url, True), (f"http://127.0.0.1:{unused_tcp_port}", False)):
        monkeypatch.setenv("MISTRAL_BASE_URL", url)
        model = parse_model("mistral:m")
        assert isinstance(model, MistralModel)
        async with model:
            if found:
                said = await model.complete({"messages": [{"role": "user", "content": "please pay bob"}]})
                assert "I look the order up" in str(said)
            else:
                failed = await failure(model, "hello", stream=False)
                assert failed.retryable
                assert "cannot be reached (ConnectError)" in str(failed)
