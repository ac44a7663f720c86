"""`GeminiModel`, with the network replaced below the SDK."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai.types import HttpOptions, HttpRetryOptions

from surehand.agent.clients import GeminiModel
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.errors import ConfigError

KEY = "AIza-test-0123456789abcdef"
REQUEST: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
SIGNED = {"functionCall": {"id": "c1", "name": "pay", "args": {"amount": 2**70}}, "thoughtSignature": "c2ln"}
ANSWER: dict[str, Any] = {
    "candidates": [{"content": {"role": "model", "parts": [SIGNED]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5},
}

Answer = httpx2.Response | Exception


class Network:
    """Answers every request alike, and keeps what was sent."""

    def __init__(self) -> None:
        self.answer: Callable[[], Answer] = lambda: httpx2.Response(200, json=ANSWER)
        self.sent: list[httpx2.Request] = []
        self.threads: set[int] = set()

    def answered(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        self.threads.add(threading.get_ident())
        given = self.answer()
        if isinstance(given, Exception):
            raise given
        return given

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.sent[-1].content)


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
async def client(network: Network) -> AsyncGenerator[genai.Client]:
    transport = httpx2.MockTransport(network.answered)
    options = HttpOptions(
        httpx_client=httpx2.Client(transport=transport),
        httpx_async_client=httpx2.AsyncClient(transport=transport),
        retry_options=HttpRetryOptions(attempts=3, initial_delay=0, max_delay=0),
    )
    made = genai.Client(api_key=KEY, http_options=options)
    yield made
    await made.aio.aclose()
    made.close()


@pytest.fixture(params=["async", "blocking"])
def model(client: genai.Client, request: pytest.FixtureRequest) -> GeminiModel:
    return GeminiModel("gemini-test", client.aio if request.param == "async" else client)


def sse(*events: dict[str, Any]) -> httpx2.Response:
    text = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)


async def failure(model: GeminiModel, *, stream: bool, heard: list[Any] | None = None) -> ModelFailure:
    async def asked() -> None:
        async for event in model.stream(REQUEST):
            (heard if heard is not None else []).append(event)

    with pytest.raises(ModelFailure) as raised:
        await (asked() if stream else model.complete(REQUEST))
    assert raised.value.__cause__ is raised.value.__context__ is None
    return raised.value


async def test_the_answer_as_it_came(network: Network, model: GeminiModel) -> None:
    assert await model.complete(REQUEST) == ANSWER
    assert network.sent[0].url.path.endswith("/models/gemini-test:generateContent")
    network.answer = lambda: sse(ANSWER, {"usageMetadata": {"promptTokenCount": 8}})
    events = [event async for event in model.stream(REQUEST)]
    assert events == [ANSWER, {"usageMetadata": {"promptTokenCount": 8}}]


async def test_all_of_a_request_arrives(network: Network, client: genai.Client) -> None:
    request = {
        "contents": [*REQUEST["contents"], {"role": "model", "parts": [SIGNED]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "pay", "description": "Pays."}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["pay"]}},
    }
    given = GeminiModel("gemini-test", client.aio, options={"temperature": 0.5, "maxOutputTokens": 9})
    await given.complete(request)
    config = network.body.pop("generationConfig")
    assert config == {"temperature": 0.5, "maxOutputTokens": 9}
    assert {key: value for key, value in network.body.items() if key != "generationConfig"} == request


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (404, False), (429, True), (500, True), (503, True)],
)
async def test_a_status_says_whether_to_ask_again(
    network: Network, model: GeminiModel, status: int, retryable: bool, stream: bool
) -> None:
    error = {"error": {"code": status, "status": "SOME_STATUS", "message": f"no, {KEY}"}}
    network.answer = lambda: httpx2.Response(status, json=error)
    failed = await failure(model, stream=stream)
    assert failed.retryable is retryable
    assert str(failed).startswith(f"google-genai answered {status} SOME_STATUS")
    assert ("no, [redacted]" in str(failed)) is (status not in (401, 403))
    assert KEY not in str(failed)
    assert len(network.sent) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ReadTimeout])
async def test_a_lost_connection_may_be_found_again(
    network: Network, model: GeminiModel, error: type[Exception], stream: bool
) -> None:
    network.answer = lambda: error(f"with {KEY}")
    failed = await failure(model, stream=stream)
    assert str(failed) == f"google-genai cannot be reached ({error.__name__})"
    assert failed.retryable
    assert len(network.sent) == 1


async def test_an_error_within_a_stream(network: Network, model: GeminiModel) -> None:
    network.answer = lambda: sse(ANSWER, {"error": {"code": 503, "status": "UNAVAILABLE", "message": f"so {KEY}"}})
    heard: list[Any] = []
    failed = await failure(model, stream=True, heard=heard)
    assert heard == [ANSWER]
    assert str(failed) == "google-genai answered 503 UNAVAILABLE: so [redacted]"
    assert failed.retryable


async def test_a_page_instead_of_an_answer(network: Network, model: GeminiModel) -> None:
    network.answer = lambda: httpx2.Response(200, html="<h1>Welcome</h1>")
    failed = await failure(model, stream=False)
    assert str(failed).startswith("google-genai gave text instead of a JSON object")
    assert not failed.retryable
    assert not (await failure(model, stream=True)).retryable


async def test_a_stream_that_is_no_json(network: Network, model: GeminiModel) -> None:
    text = f'data: {json.dumps(ANSWER)}\n\ndata: {{"a\n\n'
    network.answer = lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)
    failed = await failure(model, stream=True)
    assert str(failed).startswith("google-genai broke off (")
    assert failed.retryable


@pytest.mark.timeout(60)  # collecting takes its time in a process that is large
async def test_a_stream_that_is_left_is_closed(network: Network, client: genai.Client) -> None:
    closed: list[bool] = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            while True:
                yield f"data: {json.dumps(ANSWER)}\n\n".encode()

        async def aclose(self) -> None:
            closed.append(True)

    network.answer = lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())
    async with aclosing(GeminiModel("m", client.aio).stream(REQUEST)) as events:
        async for _ in events:
            break
        assert not closed
    for _ in range(4):  # the SDK leaves the generators in its own to be collected: nothing of ours may hold them
        gc.collect()
        for _ in range(50):
            await asyncio.sleep(0)
    assert closed


async def test_a_client_that_blocks_is_called_in_threads(network: Network, client: genai.Client) -> None:
    await GeminiModel("m", client).complete(REQUEST)
    network.answer = lambda: sse(ANSWER)
    assert [event async for event in GeminiModel("m", client).stream(REQUEST)] == [ANSWER]
    assert threading.get_ident() not in network.threads


async def test_what_is_refused(client: genai.Client, network: Network) -> None:
    with pytest.raises(ConfigError, match=r"(?s)cannot send this request: .*temprature"):
        await GeminiModel("m", client.aio, options={"temprature": 0}).complete(REQUEST)
    assert network.sent == []
    with pytest.raises(ConfigError, match="the options may not set toolConfig, tools"):
        GeminiModel("m", client.aio, options={"tools": [], "toolConfig": {}})
    with pytest.raises(ConfigError, match=r"GeminiModel needs a client of the package google-genai, not builtins\.str"):
        GeminiModel("m", "client")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="google-genai: the model has no name"):
        GeminiModel("", client.aio)


async def test_the_key_is_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="google-genai: there is no key; set GEMINI_API_KEY or give a client"):
        GeminiModel("m")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    async with GeminiModel("m") as model:
        assert KEY not in repr(model)
    named = parse_model("google:gemini-test")
    assert isinstance(named, GeminiModel)
    assert named.name == "gemini-test"
    await named.close()
    await named.close()
