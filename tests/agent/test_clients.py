"""The clients of the SDKs, with the network replaced below them."""

import json
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from surehand.agent.clients import AnthropicModel, OpenAIModel
from surehand.agent.model import ModelFailure
from surehand.errors import ConfigError

KEY = "sk-test-0123456789abcdef"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}

Answer = httpx2.Response | Exception


class Network:
    """Answers every request alike, and keeps what was sent."""

    def __init__(self) -> None:
        self.answer: Callable[[], Answer] = lambda: httpx2.Response(500)
        self.sent: list[dict[str, Any]] = []
        self._clients: list[httpx2.AsyncClient] = []

    def client(self) -> httpx2.AsyncClient:
        def answer(request: httpx2.Request) -> httpx2.Response:
            self.sent.append(json.loads(request.content))
            answered = self.answer()
            if isinstance(answered, Exception):
                raise answered
            return answered

        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        self._clients.append(client)
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    def openai(self, **options: Any) -> OpenAIModel:
        return OpenAIModel("gpt-test", openai.AsyncOpenAI(api_key=KEY, http_client=self.client()), **options)

    def anthropic(self, **options: Any) -> AnthropicModel:
        client = anthropic.AsyncAnthropic(api_key=KEY, http_client=self.client())
        return AnthropicModel("claude-test", client, **options)


@pytest.fixture
async def network() -> AsyncGenerator[Network]:
    network = Network()
    yield network
    await network.close()


@pytest.fixture(params=["openai", "anthropic"])
def model(network: Network, request: pytest.FixtureRequest) -> OpenAIModel | AnthropicModel:
    return getattr(network, request.param)()


def sse(*events: dict[str, Any], names: bool = False) -> httpx2.Response:
    lines = [(f"event: {event['type']}\n" if names else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text="".join(lines))


async def failure(model: OpenAIModel | AnthropicModel, *, stream: bool = False) -> ModelFailure:
    async def asked() -> None:
        async for _ in model.stream(REQUEST):
            pass

    with pytest.raises(ModelFailure) as raised:
        await (asked() if stream else model.complete(REQUEST))
    return raised.value


async def test_openai_gives_the_answer_as_it_came(network: Network) -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "audio": None}
    answer = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "new_reason"}], "more": [2**70]}
    network.answer = lambda: httpx2.Response(200, json=answer)
    assert await network.openai(options={"temperature": 0}).complete(REQUEST) == answer
    assert network.sent == [{"model": "gpt-test", "temperature": 0, **REQUEST}]


async def test_anthropic_gives_the_answer_as_it_came(network: Network) -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 2**70}},
        {"type": "of_tomorrow", "what": 1},
    ]
    answer = {"id": "x", "content": content, "stop_reason": "new_reason", "stop_sequence": None}
    network.answer = lambda: httpx2.Response(200, json=answer)
    given = network.anthropic(max_tokens=99, options={"service_tier": "auto"})
    assert await given.complete({"system": "be kind", **REQUEST}) == answer
    assert network.sent == [
        {"model": "claude-test", "max_tokens": 99, "service_tier": "auto", "system": "be kind", "stream": False}
        | REQUEST
    ]


async def test_openai_streams_with_usage(network: Network) -> None:
    chunks: list[dict[str, Any]] = [
        {"id": "x", "choices": [{"index": 0, "delta": {"content": "a", "reasoning_content": "b"}}]},
        {"id": "x", "choices": [], "usage": {"prompt_tokens": 1}},
    ]
    network.answer = lambda: sse(*chunks)
    given = network.openai(options={"stream_options": {"include_obfuscation": False}})
    assert [event async for event in given.stream(REQUEST)] == chunks
    assert network.sent[0]["stream"] is True
    assert network.sent[0]["stream_options"] == {"include_usage": True, "include_obfuscation": False}


async def test_anthropic_streams_raw_events(network: Network) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "of_tomorrow", "what": 1}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
        {"type": "of_tomorrow", "what": 1},
        {"type": "message_stop"},
    ]
    network.answer = lambda: sse(*events, names=True)
    assert [event async for event in network.anthropic().stream(REQUEST)] == events


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (404, False), (413, False), (422, False)]
    + [(status, True) for status in (408, 409, 429, 500, 502, 503, 529)],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_status_says_whether_to_ask_again(
    network: Network, model: OpenAIModel | AnthropicModel, status: int, retryable: bool, stream: bool
) -> None:
    body = {"type": "error", "error": {"type": "some_error", "message": f"no, {KEY}; nor sk-ant-api03-{'x' * 40}"}}
    network.answer = lambda: httpx2.Response(status, json=body, headers={"x-should-retry": "true"})
    failed = await failure(model, stream=stream)
    assert failed.retryable is retryable
    assert str(failed).startswith(f"{model.package} answered {status} some_error")
    assert ("no, [redacted]" in str(failed)) is (status not in (401, 403))
    assert "sk-" not in str(failed)
    assert failed.__cause__ is failed.__context__ is None
    assert len(network.sent) == 1


async def test_a_spent_quota_does_not_come_back(network: Network, model: OpenAIModel | AnthropicModel) -> None:
    body = {"error": {"type": "insufficient_quota", "code": None, "message": "pay"}}
    network.answer = lambda: httpx2.Response(429, json=body)
    assert (await failure(model)).retryable is False


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ReadTimeout, httpx2.RemoteProtocolError])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_lost_connection_may_be_found_again(
    network: Network, model: OpenAIModel | AnthropicModel, error: type[Exception], stream: bool
) -> None:
    network.answer = lambda: error(f"with {KEY}")
    failed = await failure(model, stream=stream)
    at = f"{model._client.base_url.scheme}://{model._client.base_url.host}"  # pyright: ignore[reportPrivateUsage]
    assert str(failed) == f"{model.package} cannot be reached at {at} ({error.__name__})"
    assert failed.retryable
    assert len(network.sent) == 1


@pytest.mark.parametrize(
    ("kind", "retryable"), [("overloaded_error", True), ("server_error", True), ("invalid_request_error", False)]
)
async def test_an_error_within_a_stream(
    network: Network, model: OpenAIModel | AnthropicModel, kind: str, retryable: bool
) -> None:
    network.answer = lambda: sse({"type": "error", "error": {"type": kind, "message": f"so {KEY}"}}, names=True)
    failed = await failure(model, stream=True)
    assert str(failed) == f"{model.package} broke off with an error {kind}: so [redacted]"
    assert failed.retryable is retryable


async def test_a_stream_that_is_no_json(network: Network, model: OpenAIModel | AnthropicModel) -> None:
    headers = {"content-type": "text/event-stream"}
    network.answer = lambda: httpx2.Response(200, headers=headers, text='event: message_stop\ndata: {"a\n\n')
    failed = await failure(model, stream=True)
    assert str(failed) == f"{model.package} broke off (JSONDecodeError)"
    assert failed.retryable


async def test_a_page_instead_of_an_answer(network: Network, model: OpenAIModel | AnthropicModel) -> None:
    network.answer = lambda: httpx2.Response(200, html="<h1>Welcome</h1>")
    failed = await failure(model)
    assert str(failed).startswith(f"{model.package} gave text instead of a JSON object")
    assert not failed.retryable
    network.answer = lambda: httpx2.Response(503, html="<h1>Sorry</h1>")
    assert str(await failure(model)) == f"{model.package} answered 503"


async def test_long_words_of_a_provider_are_cut(network: Network, model: OpenAIModel | AnthropicModel) -> None:
    network.answer = lambda: httpx2.Response(400, json={"error": {"message": "x\x1b" * 1000}})
    failed = str(await failure(model))
    assert len(failed) < 350
    assert "\x1b" not in failed


async def test_a_stream_that_is_left_is_closed(network: Network, model: OpenAIModel | AnthropicModel) -> None:
    closed: list[bool] = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            while True:
                yield b'event: message_stop\ndata: {"type": "message_stop"}\n\n'

        async def aclose(self) -> None:
            closed.append(True)

    network.answer = lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())
    async with aclosing(model.stream(REQUEST)) as events:
        async for _ in events:
            break
        assert not closed
    assert closed


async def test_an_option_that_the_sdk_does_not_know(network: Network) -> None:
    for given in (network.openai(options={"temprature": 0}), network.anthropic(options={"temprature": 0})):
        with pytest.raises(ConfigError, match=r"cannot send this request: .*temprature"):
            await given.complete(REQUEST)
    assert network.sent == []


def test_options_do_not_set_what_the_run_sets() -> None:
    client = openai.AsyncOpenAI(api_key=KEY)
    with pytest.raises(ConfigError, match="openai: the options may not set messages, stream"):
        OpenAIModel("gpt-test", client, options={"stream": True, "messages": []})
    other = anthropic.AsyncAnthropic(api_key=KEY)
    with pytest.raises(ConfigError, match="may not set max_tokens"):
        AnthropicModel("claude-test", other, options={"max_tokens": 1})
    with pytest.raises(ConfigError, match="max_tokens must be at least 1"):
        AnthropicModel("claude-test", other, max_tokens=0)
    with pytest.raises(ConfigError, match="openai: the model has no name"):
        OpenAIModel("", client)


async def test_a_client_that_blocks_does_not_hold_up_the_loop() -> None:
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    threads: set[int] = set()

    def answer(request: httpx2.Request) -> httpx2.Response:
        threads.add(threading.get_ident())
        return sse(chunk) if json.loads(request.content).get("stream") else httpx2.Response(200, json={"choices": []})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as network:
        model = OpenAIModel("gpt-test", openai.OpenAI(api_key=KEY, http_client=network))
        assert await model.complete(REQUEST) == {"choices": []}
        assert [event async for event in model.stream(REQUEST)] == [chunk]
    assert threads
    assert threading.get_ident() not in threads


def test_only_clients_of_the_package_are_taken() -> None:
    other: Any = anthropic.AsyncAnthropic(api_key=KEY)
    with pytest.raises(ConfigError, match=r"needs a client of the package openai, not anthropic\.AsyncAnthropic"):
        OpenAIModel("gpt-test", other)
    key: Any = KEY
    with pytest.raises(ConfigError, match=r"needs a client of the package anthropic, not builtins\.str"):
        AnthropicModel("claude-test", key)


async def test_by_default_the_environment_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:1/here")
    for made in (OpenAIModel("gpt-test"), AnthropicModel("claude-test")):
        async with made as model:
            assert str(model._client.base_url) == "http://127.0.0.1:1/here/"
            assert model._client.api_key == KEY
            assert KEY not in repr(model)
        assert model._client.is_closed()
        await model.close()


async def test_a_client_that_was_given_is_left_open(network: Network) -> None:
    client = openai.AsyncOpenAI(api_key=KEY, http_client=network.client(), max_retries=5)
    async with OpenAIModel("gpt-test", client):
        pass
    assert not client.is_closed()
    assert client.max_retries == 5


@pytest.mark.parametrize(("package", "made"), [("openai", OpenAIModel), ("anthropic", AnthropicModel)])
def test_what_is_missing_is_named(
    package: str, made: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where nobody has logged in
    with pytest.raises(ConfigError, match=f"{package}: there is no key; set {package.upper()}_API_KEY"):
        made("m")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf'{package} is not installed: pip install "surehand\[{package}\]"'):
        made("m")


def test_credentials_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="anthropic: Config file not found"):
        AnthropicModel("m")


def test_no_sdk_is_imported_before_its_first_model() -> None:
    listing = "import surehand.agent.names, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    assert "surehand.agent.clients" in loaded
    assert not {"openai", "anthropic", "httpx2"}.intersection(loaded)
