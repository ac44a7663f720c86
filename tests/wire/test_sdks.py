"""The real SDKs, over a real connection, through our models and our dialects."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import surehand as sh
from surehand.agent.clients.sdk import SdkModel as Model
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.providers import CallResult, Export, Message, ModelTurn, ResultMessage, Usage, UserMessage, dialect
from surehand.schema import parse_arguments
from surehand.testing.dialect_wire import view_of
from tests.desk import Desk, pay_tool
from tests.wire.aimock import Aimock
from tests.wire.conftest import KEY, MOCKED_WORD


@sh.tool(read_only=True, permissions=["orders:read"])
async def find_order(order_id: str, note: str = "") -> str:
    """Finds an order."""
    return f"order {order_id}"


@pytest.fixture
async def view(desk: Desk, open_desk: Callable[..., Any]) -> sh.ToolView:
    engine = await open_desk(find_order, pay_tool(desk))
    return await engine.view(desk.alice)


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param


async def ask(model: Model, messages: list[Message], export: Export, *, stream: bool) -> ModelTurn:
    spoken = dialect(model.dialect)
    request = spoken.request(messages, export)
    if not stream:
        return spoken.decode(await model.complete(request), export)
    fold = spoken.fold(export)
    async for event in model.stream(request):
        fold.feed(event)
    return fold.end()


def in_journal(said: dict[str, Any]) -> str:
    """A result as aimock tells it: in terms of Chat Completions, but with the object that Gemini wants around it."""
    content: str = said["content"]
    return json.loads(content)["output"] if content.startswith('{"output":') else content


def asking(model: Model, text: str) -> dict[str, Any]:
    """A request without tools."""
    spoken = dialect(model.dialect)
    return spoken.request([UserMessage(content=text)], spoken.export(view_of()))


async def failure(model: Model, text: str, *, stream: bool, heard: list[Any] | None = None) -> ModelFailure:
    request = asking(model, text)

    async def listen() -> None:
        async for event in model.stream(request):
            (heard if heard is not None else []).append(event)

    with pytest.raises(ModelFailure) as raised:
        await (listen() if stream else model.complete(request))
    return raised.value


@MOCKED_WORD
@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
async def test_two_calls_at_once_and_then_text(
    make_model: Callable[[], Model],
    view: sh.ToolView,
    aimock: Aimock,
    request: pytest.FixtureRequest,
    stream: bool,
    strict: bool,
) -> None:
    await two_calls(make_model(), view, aimock.journal, request.node.name, streams=(stream, stream), strict=strict)


async def two_calls(
    model: Model,
    view: sh.ToolView,
    journal: Callable[[str], list[dict[str, Any]]],
    test: str,
    *,
    streams: tuple[bool, bool],
    strict: bool,
) -> None:
    """The conversation; `streams` says for each of its two answers whether it is streamed."""
    export = dialect(model.dialect).export(view, strict=strict)
    messages: list[Message] = [UserMessage(content="please pay bob")]
    turn = await ask(model, messages, export, stream=streams[0])
    assert turn.text == "I look the order up and pay."
    assert [(call.id, call.name, parse_arguments(call.arguments)) for call in turn.calls] == [
        ("call_look", "find_order", {"order_id": "A1", "note": "für Bob"}),
        ("call_pay", "pay", {"to": "bob", "no": 1, "amount": 20000}),
    ]
    assert (turn.stop, turn.truncated_call) == ("tool_calls", False)
    assert turn.usage == Usage(input_tokens=40, output_tokens=12)
    results = [CallResult(tool_call_id=call.id, content=f"done {call.name}") for call in turn.calls]
    messages += [turn, ResultMessage(results=tuple(results))]
    turn = await ask(model, messages, export, stream=streams[1])
    assert (turn.text, turn.calls, turn.stop) == ("Order A1 is found, and Bob is paid.", (), "stop")
    first, second = journal(test)
    assert {tool["function"]["name"] for tool in first["body"]["tools"]} == {"find_order", "pay"}
    assert [in_journal(said) for said in second["body"]["messages"] if said["role"] == "tool"] == [
        "done find_order",
        "done pay",
    ]


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
    make_model: Callable[[], Model],
    aimock: Aimock,
    request: pytest.FixtureRequest,
    text: str,
    status: int,
    retryable: bool,
    stream: bool,
) -> None:
    failed = await failure(make_model(), text, stream=stream)
    assert f"answered {status} " in str(failed)
    assert failed.retryable is retryable
    assert "sk-" not in str(failed)
    assert len(aimock.journal(request.node.name)) == 1


async def test_a_stream_that_breaks_off(make_model: Callable[[], Model]) -> None:
    heard: list[Any] = []
    failed = await failure(make_model(), "break off", stream=True, heard=heard)
    assert heard
    assert failed.retryable
    assert "broke off (" in str(failed)


async def test_nobody_listens(provider: str, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int) -> None:
    variables = provider.partition("-")[0].upper()
    variable = {"google": "GOOGLE_GEMINI_BASE_URL"}.get(provider, f"{variables}_BASE_URL")
    monkeypatch.setenv(variable, f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.setenv(f"{variables}_API_KEY", KEY)
    model = parse_model(f"{provider}:m")
    assert isinstance(model, Model)
    async with model:
        failed = await failure(model, "hello", stream=False)
    assert failed.retryable
    at = "" if provider == "google" else f" at http://127.0.0.1:{unused_tcp_port}"  # its SDK does not tell
    assert f"cannot be reached{at} (ConnectError)" in str(failed)


async def test_the_environment_leads_there(provider: str, aimock: Aimock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{aimock.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", aimock.url)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", aimock.url)
    monkeypatch.setenv(f"{provider.partition('-')[0].upper()}_API_KEY", KEY)
    model = parse_model(f"{provider}:m")
    assert isinstance(model, Model)
    if provider == "google":  # the SDK asks for version `v1`, which aimock does not have
        async with model:
            failed = await failure(model, "please pay bob", stream=False)
        assert str(failed) == "google-genai answered 404: Not found"
        return
    async with model:
        assert "I look the order up" in str(await model.complete(asking(model, "please pay bob")))
