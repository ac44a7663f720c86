"""The clients of Ollama's and Cohere's SDKs, with the network replaced below them."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, TypeAlias

import cohere
import httpx
import ollama
import pytest

from surehand.agent.clients import CohereModel, OllamaModel
from surehand.agent.model import ModelFailure
from surehand.errors import ConfigError

KEY = "sk-test-0123456789abcdef"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
NESTED: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/A"},
                "b": {"type": "object", "properties": {"c": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
            },
            "$defs": {"A": {"type": "integer", "maximum": 2**70}},
        },
    },
}

Answer: TypeAlias = httpx.Response | Exception
Model: TypeAlias = OllamaModel | CohereModel


class Network:
    """Answers every request alike, and keeps what was sent."""

    def __init__(self) -> None:
        self.answer: Callable[[], Answer] = lambda: httpx.Response(500)
        self.sent: list[dict[str, Any]] = []
        self.threads: set[int] = set()
        self._clients: list[httpx.AsyncClient] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        self.threads.add(threading.get_ident())
        answered = self.answer()
        if isinstance(answered, Exception):
            raise answered
        return answered

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    def ollama(self, **options: Any) -> OllamaModel:
        given: dict[str, Any] = {"transport": httpx.MockTransport(self.respond)}
        headers = {"authorization": f"Bearer {KEY}"}
        client = ollama.AsyncClient("http://127.0.0.1:1", headers=headers, **given)
        return OllamaModel("m", client, **options)

    def cohere(self, **options: Any) -> CohereModel:
        transport = httpx.AsyncClient(transport=httpx.MockTransport(self.respond))
        self._clients.append(transport)
        return CohereModel("m", cohere.AsyncClientV2(KEY, httpx_client=transport), **options)


@pytest.fixture
async def network() -> AsyncGenerator[Network]:
    network = Network()
    yield network
    await network.close()


@pytest.fixture(params=["ollama", "cohere"])
def model(network: Network, request: pytest.FixtureRequest) -> Model:
    return getattr(network, request.param)()


def ndjson(chunks: Iterable[dict[str, Any]]) -> httpx.Response:
    return httpx.Response(200, text="".join(f"{json.dumps(chunk)}\n" for chunk in chunks))


def sse(events: Iterable[dict[str, Any]]) -> httpx.Response:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text="".join(lines))


async def failure(model: Model, *, stream: bool = False) -> ModelFailure:
    async def asked() -> None:
        async for _ in model.stream(REQUEST):
            pass

    with pytest.raises(ModelFailure) as raised:
        await (asked() if stream else model.complete(REQUEST))
    return raised.value


OLLAMA_CALL = {"id": "call_1", "function": {"index": 0, "name": "f", "arguments": {"n": 2**70}}}
CHUNKS: list[dict[str, Any]] = [
    {"model": "m", "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False},
    {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}, "done": False},
    {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "of tomorrow"},
]
COHERE_CALL = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"n":1}'}}
EVENTS: list[dict[str, Any]] = [
    {"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}}},
    {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "thinking", "thinking": ""}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": "hm"}}}},
    {"type": "content-end", "index": 0},
    {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look."}}},
    {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": COHERE_CALL}}},
    {"type": "tool-call-end", "index": 0},
    {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 7.0}}}},
]


async def test_ollama_gives_and_takes_all_of_it(network: Network) -> None:
    network.answer = lambda: ndjson(CHUNKS[1:2])
    given = network.ollama(options={"think": "high", "options": {"num_ctx": 9}})
    request = {**REQUEST, "tools": [NESTED]}
    assert await given.complete(request) == CHUNKS[1]
    sent = {"model": "m", "think": "high", "options": {"num_ctx": 9}, **request}
    assert network.sent == [{**sent, "stream": False}]
    network.answer = lambda: ndjson(CHUNKS)
    assert [event async for event in given.stream(request)] == CHUNKS
    assert network.sent[1] == {**sent, "stream": True}


def test_the_types_of_ollama_leave_most_of_a_schema_out() -> None:
    """Why the model goes round them. If this fails, it need not any more."""
    kept = ollama.Tool.model_validate(NESTED).model_dump(exclude_none=True)["function"]["parameters"]["properties"]
    assert kept == {"a": {}, "b": {"type": "object"}}
    call = ollama.Message.ToolCall.model_validate(OLLAMA_CALL).model_dump()
    assert call == {"function": {"name": "f", "arguments": {"n": 2**70}}}


async def test_cohere_gives_and_takes_all_of_it(network: Network) -> None:
    message = {"role": "assistant", "tool_plan": "I look.", "tool_calls": [COHERE_CALL], "of_tomorrow": {"a": 1}}
    answer = {"id": "x", "finish_reason": "TOOL_CALL", "message": message, "usage": {"tokens": {"input_tokens": 7.0}}}
    network.answer = lambda: httpx.Response(200, json=answer)
    given = network.cohere(options={"temperature": 0.0})
    request = {**REQUEST, "tools": [NESTED], "strict_tools": True, "tool_choice": "REQUIRED"}
    assert await given.complete(request) == answer
    assert network.sent == [{"model": "m", "temperature": 0.0, **request, "stream": False}]
    network.answer = lambda: sse(EVENTS)
    assert [event async for event in given.stream(request)] == EVENTS
    assert network.sent[1] == {"model": "m", "temperature": 0.0, **request, "stream": True}


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (404, False), (422, False)]
    + [(status, True) for status in (429, 500, 503)],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_status_says_whether_to_ask_again(
    network: Network, model: Model, status: int, retryable: bool, stream: bool
) -> None:
    said = f"no, {KEY}"
    network.answer = lambda: httpx.Response(status, json={"error": said, "message": said})
    failed = await failure(model, stream=stream)
    assert failed.retryable is retryable
    assert str(failed).startswith(f"{model.package} answered {status}")
    assert ("no, [redacted]" in str(failed)) is (status not in (401, 403))
    assert KEY not in str(failed)
    assert failed.__cause__ is failed.__context__ is None
    assert len(network.sent) == 1


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_lost_connection_may_be_found_again(
    network: Network, model: Model, error: type[Exception], stream: bool
) -> None:
    network.answer = lambda: error(f"with {KEY}")
    failed = await failure(model, stream=stream)
    assert str(failed).startswith(f"{model.package} cannot be reached ")
    assert failed.retryable
    assert len(network.sent) == 1


async def test_an_error_within_a_stream_of_ollama(network: Network) -> None:
    network.answer = lambda: ndjson([CHUNKS[0], {"error": f"out of memory {KEY}"}])
    failed = await failure(network.ollama(), stream=True)
    assert str(failed) == "ollama broke off with an error: out of memory [redacted]"
    assert failed.retryable


async def test_a_stream_that_breaks_off(network: Network, model: Model) -> None:
    first = {"ollama": f"{json.dumps(CHUNKS[0])}\n", "cohere": f"data: {json.dumps(EVENTS[0])}\n\n"}[model.package]

    class Breaking(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            yield first.encode()
            raise httpx.ReadError("gone")

    headers = {"content-type": "text/event-stream"}
    network.answer = lambda: httpx.Response(200, headers=headers, stream=Breaking())
    failed = await failure(model, stream=True)
    assert str(failed) == f"{model.package} broke off (ReadError)"
    assert failed.retryable


async def test_a_page_instead_of_an_answer(network: Network, model: Model) -> None:
    network.answer = lambda: httpx.Response(200, html="<h1>Welcome</h1>")
    failed = await failure(model)
    assert str(failed).startswith(f"{model.package} ")
    assert not failed.retryable


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_client_that_blocks_does_not_hold_up_the_loop(network: Network, stream: bool) -> None:
    given: dict[str, Any] = {"transport": httpx.MockTransport(network.respond)}
    with ollama.Client("http://127.0.0.1:1", **given) as first, httpx.Client(**given) as second:
        models = (OllamaModel("m", first), CohereModel("m", cohere.ClientV2(KEY, httpx_client=second)))
        for model, events in zip(models, (CHUNKS, EVENTS), strict=True):
            answer: dict[str, Any] = events[-1] if model.package == "ollama" else {"id": "x", "finish_reason": "ERROR"}
            streamed = ndjson(events) if model.package == "ollama" else sse(events)
            network.answer = lambda streamed=streamed, answer=answer: (
                streamed if stream else httpx.Response(200, json=answer)
            )
            if stream:
                assert [event async for event in model.stream(REQUEST)] == events
            else:
                assert await model.complete(REQUEST) == answer
    assert network.threads
    assert threading.get_ident() not in network.threads


async def test_by_default_the_environment_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    monkeypatch.setenv("CO_API_KEY", KEY)
    monkeypatch.setenv("CO_API_URL", "http://127.0.0.1:1")
    for made in (OllamaModel("m"), CohereModel("m")):
        async with made as model:
            failed = await failure(model)
            assert (failed.retryable, "cannot be reached" in str(failed)) == (True, True)
            assert KEY not in repr(model)
            assert model._redactor.text(KEY) == "[redacted]"
        await model.close()


@pytest.mark.parametrize("blocks", [False, True])
async def test_a_server_that_is_not_there_is_named_without_its_password(blocks: bool) -> None:
    host = f"http://joe:{KEY}@127.0.0.1:1/{KEY}"
    async with OllamaModel("m", ollama.Client(host) if blocks else ollama.AsyncClient(host)) as model:
        assert str(await failure(model)) == "ollama cannot be reached at http://127.0.0.1:1 (ConnectionError)"
        assert str(await failure(model, stream=True)) == "ollama cannot be reached at http://127.0.0.1:1 (ConnectError)"


def test_what_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CO_API_KEY", "COHERE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="cohere: there is no key; set CO_API_KEY or give a client"):
        CohereModel("m")
    other: Any = cohere.Client(KEY)
    with pytest.raises(ConfigError, match=r"CohereModel needs a client of the package cohere, not cohere\.Client"):
        CohereModel("m", other)
    with pytest.raises(ConfigError, match=r"OllamaModel needs a client of the package ollama, not builtins\.str"):
        OllamaModel("m", other.__class__.__name__)
    with pytest.raises(
        ConfigError, match="ollama: there is no option temprature; those of the model go into `options`"
    ):
        OllamaModel("m", options={"temprature": 0})
    with pytest.raises(ConfigError, match="the options may not set request_options"):
        CohereModel("m", cohere.AsyncClientV2(KEY), options={"request_options": {}})


async def test_an_option_that_cohere_does_not_know(network: Network) -> None:
    given = network.cohere(options={"temprature": 0})
    for asking in (given.complete(REQUEST), anext(given.stream(REQUEST))):
        with pytest.raises(ConfigError, match=r"cannot send this request: .*temprature"):
            await asking
    assert network.sent == []
