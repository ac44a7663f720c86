"""The SDKs of Ollama and Cohere, and a model without tools behind OpenAI's, over a real connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeAlias

import cohere
import ollama
import openai
import pytest

import surehand as sh
from surehand.agent import run
from surehand.agent.clients import CohereModel, OllamaModel, OpenAIModel
from surehand.agent.model import ModelFailure
from surehand.providers import (
    CallResult,
    Export,
    Message,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    TextDelta,
    Usage,
    UserMessage,
    dialect,
)
from surehand.schema import parse_arguments
from tests.desk import ASK_FINANCE, Desk, pay_tool
from tests.wire.aimock import Aimock
from tests.wire.conftest import KEY
from tests.wire.test_runs import approving
from tests.wire.test_sdks import find_order

Model: TypeAlias = OllamaModel | CohereModel | OpenAIModel
FIRST = "I look the order up and pay."
LAST = "Order A1 is found, and Bob is paid."
PLAN = "I will use the requested tool."
"""The mock says it of itself, and only where it streams what Cohere would."""
ASKED = {"ollama": "please pay bob", "cohere": "please pay bob", "text": "please write to bob"}


@pytest.fixture(params=ASKED)
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
async def model(aimock: Aimock, provider: str, request: pytest.FixtureRequest) -> AsyncGenerator[Model]:
    """A model whose requests are kept apart from those of other tests."""
    headers = {"x-test-id": request.node.name}
    if provider == "ollama":
        client = ollama.AsyncClient(aimock.url, headers=headers)
        yield OllamaModel("m", client)
        await client.close()
    elif provider == "cohere":
        async with cohere.AsyncClientV2(KEY, base_url=aimock.url) as other:
            # The SDK takes headers with each request only.
            other._client_wrapper._headers = headers
            yield CohereModel("m", other)
    else:
        async with openai.AsyncOpenAI(base_url=f"{aimock.url}/v1", api_key=KEY, default_headers=headers) as third:
            yield OpenAIModel("m", third, provider="text")


async def ask(model: Model, messages: list[Message], export: Export, *, stream: bool) -> tuple[ModelTurn, str]:
    """The answer, and what was shown of it while it streamed."""
    spoken = dialect(model.dialect)
    request = spoken.request(messages, export)
    if not stream:
        return spoken.decode(await model.complete(request), export), ""
    fold, shown = spoken.fold(export), ""
    async for event in model.stream(request):
        shown += "".join(one.text for one in fold.feed(event) if isinstance(one, TextDelta | ReasoningDelta))
    return fold.end(), shown


async def test_two_calls_at_once_and_then_text(
    model: Model,
    provider: str,
    desk: Desk,
    open_desk: Callable[..., Any],
    aimock: Aimock,
    request: pytest.FixtureRequest,
    stream: bool,
) -> None:
    engine = await open_desk(find_order, pay_tool(desk))
    export = dialect(model.dialect).export(await engine.view(desk.alice), strict=True)
    messages: list[Message] = [UserMessage(content=ASKED[provider])]
    turn, shown = await ask(model, messages, export, stream=stream)
    planned = PLAN if stream and provider == "cohere" else ""
    assert turn.text == FIRST + planned
    assert shown == (turn.text if stream else "")
    assert [(call.name, parse_arguments(call.arguments)) for call in turn.calls] == [
        ("find_order", {"order_id": "A1", "note": "für Bob"}),
        ("pay", {"to": "bob", "no": 1, "amount": 20000}),
    ]
    assert (turn.stop, turn.truncated_call) == ("tool_calls", False)
    # Ollama's server counts tokens and gives ids to calls; the mock does neither for it.
    ids = ("call_look", "call_pay") if provider == "cohere" else ("", "")
    assert tuple(call.id for call in turn.calls) == ids
    counted = Usage() if provider == "ollama" else Usage(input_tokens=40, output_tokens=12)
    assert turn.usage == counted
    results = [CallResult(tool_call_id=call.id, content=f"done {call.name}") for call in turn.calls]
    messages += [turn, ResultMessage(results=tuple(results))]
    turn, shown = await ask(model, messages, export, stream=stream)
    assert (turn.text, turn.calls, turn.stop) == (LAST, (), "stop")
    first, second = aimock.journal(request.node.name)
    if provider == "text":
        assert "tools" not in first["body"]
        assert "find_order" in first["body"]["messages"][0]["content"]
        assert "| done find_order" in second["body"]["messages"][-1]["content"]
    else:
        assert {tool["function"]["name"] for tool in first["body"]["tools"]} == {"find_order", "pay"}
        said = [one["content"] for one in second["body"]["messages"] if one["role"] == "tool"]
        assert said == ["done find_order", "done pay"]


async def test_a_run_completes(
    model: Model, provider: str, desk: Desk, open_desk: Callable[..., Any], stream: bool
) -> None:
    engine: sh.Engine = await open_desk(find_order, pay_tool(desk), policies=ASK_FINANCE)
    events = run(engine, model=model, caller=desk.alice, messages=[ASKED[provider]], stream=stream)
    heard = await approving(engine, desk, events)
    assert heard[-1].kind == "run.ended"
    assert (heard[-1].data["reason"], heard[-1].data["text"]) == ("completed", LAST)
    assert desk.done == [("pay", "bob", 1, 20_000)]


@pytest.mark.parametrize(
    ("text", "status", "retryable"),
    [("be overloaded", 503, True), ("too many", 429, True), ("no money", 429, False), ("bad request", 400, False)],
)
async def test_failures(
    model: Model, aimock: Aimock, request: pytest.FixtureRequest, text: str, status: int, retryable: bool, stream: bool
) -> None:
    asked = {"messages": [{"role": "user", "content": text}]}

    async def listen() -> None:
        async for _ in model.stream(asked):
            pass

    with pytest.raises(ModelFailure, match=f"answered {status} ") as raised:
        await (listen() if stream else model.complete(asked))
    assert raised.value.retryable is retryable
    assert len(aimock.journal(request.node.name)) == 1


async def test_a_stream_that_breaks_off(model: Model) -> None:
    heard: list[Any] = []

    async def listen() -> None:
        async for event in model.stream({"messages": [{"role": "user", "content": "break off"}]}):
            heard.append(event)

    with pytest.raises(ModelFailure, match=r"broke off \(") as raised:
        await listen()
    assert heard
    assert raised.value.retryable
