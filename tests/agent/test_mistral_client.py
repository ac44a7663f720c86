"""`MistralModel`, with the network replaced below the real SDK."""

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx2
import openai
import pytest
from mistralai.client import Mistral
from mistralai.client.utils import BackoffStrategy, RetryConfig

from surehand.agent.clients import MistralModel
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.errors import ConfigError

KEY = "mistral-key-0123456789abcdef"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
PARTS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": "s1"},
    {"type": "of_tomorrow", "what": [1]},
    {"type": "text", "text": "so"},
]
CALLS: list[dict[str, Any]] = [
    {"id": "aB3dE5gH1", "type": "function", "index": 0, "function": {"name": "pay", "arguments": '{"no": 1}'}},
    {"id": "aB3dE5gH2", "type": "function", "index": 1, "function": {"name": "pay", "arguments": {"no": 2**70}}},
]
ANSWER: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "created": 1,
    "usage": {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9},
    "choices": [
        {
            "index": 0,
            "finish_reason": "new_reason",
            "message": {"role": "assistant", "content": PARTS, "tool_calls": CALLS, "prefix": False},
        }
    ],
}


class Network:
    """Answers every request alike, and keeps what was sent."""

    def __init__(self) -> None:
        self.answer: Callable[[], httpx2.Response | Exception] = lambda: httpx2.Response(500)
        self.sent: list[dict[str, Any]] = []
        self.http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        again = RetryConfig("backoff", BackoffStrategy(1, 10, 1.0, 1000), True)  # a client that would try again
        self.client = Mistral(api_key=KEY, async_client=self.http, retry_config=again)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        answered = self.answer()
        if isinstance(answered, Exception):
            raise answered
        return answered

    def model(self, **options: Any) -> MistralModel:
        return MistralModel("m", self.client, **options)


@pytest.fixture
async def network() -> AsyncGenerator[Network]:
    network = Network()
    yield network
    await network.http.aclose()


def sse(*events: dict[str, Any]) -> httpx2.Response:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)


def chunk(**delta: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


async def failure(model: MistralModel, *, stream: bool = False) -> ModelFailure:
    async def asked() -> None:
        async for _ in model.stream(REQUEST):
            pass

    with pytest.raises(ModelFailure) as raised:
        await (asked() if stream else model.complete(REQUEST))
    return raised.value


async def test_the_answer_as_it_came(network: Network) -> None:
    network.answer = lambda: httpx2.Response(200, json=ANSWER)
    assert await network.model(options={"temperature": 0}).complete(REQUEST) == ANSWER
    assert network.sent == [{"model": "m", "temperature": 0, "stream": False, **REQUEST}]


async def test_events_without_their_wrapping(network: Network) -> None:
    chunks = [chunk(role="assistant", content=""), chunk(content=PARTS), chunk(tool_calls=CALLS)]
    network.answer = lambda: sse(*chunks)
    assert [event async for event in network.model().stream(REQUEST)] == chunks
    assert network.sent[0]["stream"] is True


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (404, False), (422, False)]
    + [(status, True) for status in (408, 429, 500, 502, 503)],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_status_says_whether_to_ask_again(network: Network, status: int, retryable: bool, stream: bool) -> None:
    body = {"object": "error", "message": f"no, {KEY}", "type": "invalid_request_message_order", "code": "3230"}
    network.answer = lambda: httpx2.Response(status, json=body)
    failed = await failure(network.model(), stream=stream)
    assert failed.retryable is retryable
    assert str(failed).startswith(f"mistralai answered {status} 3230")
    assert ("no, [redacted]" in str(failed)) is (status not in (401, 403))
    assert KEY not in str(failed)
    assert failed.__cause__ is failed.__context__ is None
    assert len(network.sent) == 1


async def test_what_is_wrong_with_a_request(network: Network) -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "x"], "msg": "Extra inputs are not permitted"}]
    network.answer = lambda: httpx2.Response(422, json={"detail": detail})
    assert "answered 422 validation" in str(failed := await failure(network.model()))
    assert "Extra inputs are not permitted" in str(failed)


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ReadTimeout, httpx2.RemoteProtocolError])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_lost_connection_may_be_found_again(network: Network, error: type[Exception], stream: bool) -> None:
    network.answer = lambda: error(f"with {KEY}")
    failed = await failure(network.model(), stream=stream)
    assert str(failed) == f"mistralai cannot be reached ({error.__name__})"
    assert failed.retryable
    assert len(network.sent) == 1


async def test_a_page_instead_of_an_answer(network: Network) -> None:
    network.answer = lambda: httpx2.Response(200, html="<h1>Welcome</h1>")
    for stream in (False, True):
        failed = await failure(network.model(), stream=stream)
        assert "does the base URL lead to the API itself?" in str(failed)
        assert not failed.retryable
    network.answer = lambda: httpx2.Response(503, html="<h1>Sorry</h1>")
    assert str(await failure(network.model())) == "mistralai answered 503"


async def test_a_stream_that_is_no_json(network: Network) -> None:
    headers = {"content-type": "text/event-stream"}
    network.answer = lambda: httpx2.Response(200, headers=headers, text='data: {"a\n\n')
    failed = await failure(network.model(), stream=True)
    assert str(failed).startswith("mistralai broke off (")
    assert failed.retryable


async def test_a_stream_that_is_left_is_closed(network: Network) -> None:
    closed: list[bool] = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            while True:
                yield f"data: {json.dumps(chunk(content='a'))}\n\n".encode()

        async def aclose(self) -> None:
            closed.append(True)

    network.answer = lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())
    async with aclosing(network.model().stream(REQUEST)) as events:
        async for _ in events:
            break
        assert not closed
    assert closed


async def test_what_is_refused_before_anything_is_sent(network: Network) -> None:
    with pytest.raises(ConfigError, match=r"mistralai cannot send this request: .*temprature"):
        await network.model(options={"temprature": 0}).complete(REQUEST)
    assert network.sent == []
    with pytest.raises(ConfigError, match="may not set messages, retries"):
        network.model(options={"retries": 1, "messages": []})
    other: Any = openai.AsyncOpenAI(api_key=KEY)
    with pytest.raises(ConfigError, match=r"needs a client of the package mistralai, not openai\.AsyncOpenAI"):
        MistralModel("m", other)


async def test_a_client_that_was_given_is_left_open(network: Network) -> None:
    async with network.model():
        pass
    assert not network.http.is_closed


async def test_by_default_the_environment_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    monkeypatch.setenv("MISTRAL_BASE_URL", "http://127.0.0.1:1/here")
    model = parse_model("mistral:m")
    assert isinstance(model, MistralModel)
    assert KEY not in repr(model)
    configuration = model._client.sdk_configuration
    assert configuration.get_server_details()[0] == "http://127.0.0.1:1/here"
    both = configuration.client, configuration.async_client
    await model.close()
    assert all(client.is_closed for client in both)
    await model.close()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="mistralai: there is no key; set MISTRAL_API_KEY"):
        MistralModel("m")
    monkeypatch.setitem(sys.modules, "mistralai.client", None)
    with pytest.raises(ConfigError, match=r'mistralai is not installed: pip install "surehand\[mistral\]"'):
        MistralModel("m")
