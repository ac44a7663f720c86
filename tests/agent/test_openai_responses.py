"""The client of OpenAI's Responses: the real SDK, with the network replaced below it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from msgspec.structs import replace

from surehand.agent.clients import OpenAIResponsesModel
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.errors import ConfigError
from surehand.providers import PROVIDERS, UserMessage, dialect, register_provider, registered
from surehand.testing.dialect_wire import WrittenCall, spec_of, view_of
from tests.agent.test_clients import KEY, sse
from tests.providers.wire_openai_responses import OpenAIResponsesWire

WIRE = OpenAIResponsesWire()
EXPORT = WIRE.dialect.export(view_of(spec_of("f")))
REQUEST = WIRE.dialect.request([UserMessage(content="hi")], EXPORT)
ENCRYPTED = ["reasoning.encrypted_content"]
REFUSED = {
    "error": {
        "message": "Encrypted content is not supported with this model.",
        "type": "invalid_request_error",
        "param": "include",
        "code": None,
    }
}
ANSWER = WIRE.response("Hm.", [WrittenCall("c1", "f", '{"a":1}')], "completed")
ANSWER["output"].insert(
    0, {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA", "of_tomorrow": [2**70]}
)

Server = Callable[[dict[str, Any]], httpx2.Response]


class Asked:
    """A model, and what was sent for it."""

    def __init__(self, answer: Server, **options: Any) -> None:
        self.sent: list[dict[str, Any]] = []

        def serve(request: httpx2.Request) -> httpx2.Response:
            assert request.url.path == "/v1/responses"
            self.sent.append(json.loads(request.content))
            return answer(self.sent[-1])

        network = httpx2.AsyncClient(transport=httpx2.MockTransport(serve))
        self.model = OpenAIResponsesModel("gpt-test", openai.AsyncOpenAI(api_key=KEY, http_client=network), **options)


def whole(answer: dict[str, Any]) -> Server:
    return lambda asked: httpx2.Response(200, json=answer)


def stream(*events: dict[str, Any]) -> Server:
    return lambda asked: sse(*events, names=True)


async def failure(asked: Asked, *, streamed: bool) -> ModelFailure:
    async def ask() -> None:
        if not streamed:
            await asked.model.complete(REQUEST)
        async for _ in asked.model.stream(REQUEST):
            pass

    with pytest.raises(ModelFailure) as raised:
        await ask()
    return raised.value


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, {"store": False, "include": ENCRYPTED}),
        ({"temperature": 0}, {"store": False, "include": ENCRYPTED, "temperature": 0}),
        ({"store": False, "include": []}, {"store": False, "include": []}),
        ({"store": True}, {"store": True}),
    ],
)
async def test_the_answer_comes_as_it_was_sent(options: dict[str, Any], sent: dict[str, Any]) -> None:
    asked = Asked(whole(ANSWER), options=options)
    answer = await asked.model.complete(REQUEST)
    assert answer == ANSWER
    assert asked.sent == [{"model": "gpt-test", "stream": False, **sent, **REQUEST}]
    turn = WIRE.dialect.decode(answer, EXPORT)
    assert turn.raw["output"][0] == ANSWER["output"][0]


async def test_the_events_come_as_they_were_sent() -> None:
    events = [*WIRE.stream(ANSWER, list), {"type": "of_tomorrow", "what": 1}]
    asked = Asked(stream(*events))
    assert [event async for event in asked.model.stream(REQUEST)] == events
    assert asked.sent[0]["stream"] is True


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
async def test_a_model_without_encrypted_reasoning_is_not_asked_for_it_again(streamed: bool) -> None:
    def answer(asked: dict[str, Any]) -> httpx2.Response:
        if "include" in asked:
            return httpx2.Response(400, json=REFUSED)
        return sse(*WIRE.stream(ANSWER, list), names=True) if asked["stream"] else httpx2.Response(200, json=ANSWER)

    asked = Asked(answer)
    for _ in range(2):
        if streamed:
            assert len([event async for event in asked.model.stream(REQUEST)]) > 3
        else:
            assert await asked.model.complete(REQUEST) == ANSWER
    assert ["include" in one for one in asked.sent] == [True, False, False]


async def test_another_refusal_stays_one() -> None:
    refused = {"error": {"message": "no such model", "type": "invalid_request_error", "param": "model", "code": None}}
    asked = Asked(lambda asked: httpx2.Response(400, json=refused))
    failed = await failure(asked, streamed=False)
    assert (failed.retryable, len(asked.sent)) == (False, 1)
    asked = Asked(lambda asked: httpx2.Response(400, json=REFUSED), options={"include": ENCRYPTED})
    failed = await failure(asked, streamed=False)
    assert "Encrypted content is not supported" in str(failed)
    assert len(asked.sent) == 1


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("server_error", True),
        ("rate_limit_exceeded", True),
        ("vector_store_timeout", True),
        ("", True),
        ("invalid_prompt", False),
        ("image_too_large", False),
        ("insufficient_quota", False),
    ],
)
@pytest.mark.parametrize("how", ["whole", "failed", "error"])
async def test_an_answer_that_failed_is_a_failure(how: str, code: str, retryable: bool) -> None:
    error = {"code": code or None, "message": f"so {KEY}"}
    response = {**WIRE.response("", [], "failed"), "error": error}
    servers = {
        "whole": whole(response),
        "failed": stream({"type": "response.failed", "response": response, "sequence_number": 0}),
        "error": stream({"type": "error", **error, "param": None, "sequence_number": 0}),
    }
    failed = await failure(Asked(servers[how]), streamed=how != "whole")
    assert str(failed) == f"openai broke off with an error {code}".strip() + ": so [redacted]"
    assert failed.retryable is retryable
    assert failed.__cause__ is failed.__context__ is None


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (429, True), (503, True)])
async def test_a_status_says_whether_to_ask_again(status: int, retryable: bool, streamed: bool) -> None:
    body = {"error": {"type": "some_error", "message": f"no, {KEY}"}}
    asked = Asked(lambda asked: httpx2.Response(status, json=body))
    failed = await failure(asked, streamed=streamed)
    assert str(failed).startswith(f"openai answered {status} some_error")
    assert "sk-" not in str(failed)
    assert (failed.retryable, len(asked.sent)) == (retryable, 1)


async def test_a_client_that_blocks_does_not_hold_up_the_loop() -> None:
    events = WIRE.stream(ANSWER, list)
    threads: set[int] = set()

    def answer(request: httpx2.Request) -> httpx2.Response:
        threads.add(threading.get_ident())
        asked = json.loads(request.content)
        if "include" in asked:
            return httpx2.Response(400, json=REFUSED)
        return sse(*events, names=True) if asked["stream"] else httpx2.Response(200, json=ANSWER)

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as network:
        model = OpenAIResponsesModel("gpt-test", openai.OpenAI(api_key=KEY, http_client=network))
        assert await model.complete(REQUEST) == ANSWER
        assert [event async for event in model.stream(REQUEST)] == events
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("option", ["input", "model", "tools", "stream", "previous_response_id", "conversation"])
def test_options_do_not_set_what_the_run_sets(option: str) -> None:
    with pytest.raises(ConfigError, match=f"the options may not set {option}"):
        OpenAIResponsesModel("gpt-test", openai.AsyncOpenAI(api_key=KEY), options={option: "x"})


async def test_the_environment_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/here")
    async with OpenAIResponsesModel("gpt-test") as model:
        assert (model.dialect, dialect(model.dialect).profile.title) == ("openai-responses", "OpenAI Responses")
        with pytest.raises(ModelFailure, match="cannot be reached"):
            await model.complete(REQUEST)
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="openai: there is no key; set OPENAI_API_KEY"):
        OpenAIResponsesModel("gpt-test")


async def test_a_provider_that_speaks_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_known", dict(PROVIDERS))  # other tests are spared from it
    monkeypatch.setenv("OWN_KEY", KEY)
    own = replace(dialect("openai-responses").profile, base_url="http://127.0.0.1:1/own", key_env="OWN_KEY")
    register_provider("own", "openai-responses", own)
    model = parse_model("own:m")
    assert isinstance(model, OpenAIResponsesModel)
    async with model:
        assert (model.dialect, str(model._client.base_url)) == ("own", "http://127.0.0.1:1/own/")
    monkeypatch.delenv("OWN_KEY")
    with pytest.raises(ConfigError, match="there is no key; set OWN_KEY"):
        parse_model("own:m")
