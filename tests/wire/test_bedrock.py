"""boto3 over a real connection. Where the stand-in's streams are not Amazon's, that is shown."""

import importlib
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest

import surehand as sh
from surehand.agent.clients import BedrockModel
from surehand.agent.names import parse_model
from surehand.providers import ModelTurn, UserMessage, dialect
from surehand.schema import parse_arguments
from tests.wire.aimock import Aimock
from tests.wire.test_sdks import ask, failure, two_calls
from tests.wire.test_sdks import view as view

boto3: Any = importlib.import_module("boto3")
Config: Any = importlib.import_module("botocore.config").Config
ResponseParserError: Any = importlib.import_module("botocore.parsers").ResponseParserError


@pytest.fixture
def test_id(request: pytest.FixtureRequest) -> str:
    return f"bedrock {request.node.name}"


@pytest.fixture
def client(aimock: Aimock, test_id: str) -> Generator[Any]:
    made = boto3.Session().client(
        "bedrock-runtime",
        region_name="eu-west-1",
        endpoint_url=aimock.url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="wJalrXUtnFEMI",
        config=Config(retries={"total_max_attempts": 1}),
    )
    made.meta.events.register("before-sign.*.*", lambda request, **_: request.headers.add_header("x-test-id", test_id))
    yield made
    made.close()


@pytest.fixture
def model(client: Any) -> BedrockModel:
    return BedrockModel("some.model-v1", client)


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
async def test_two_calls_at_once_and_then_text(
    model: BedrockModel, view: sh.ToolView, aimock: Aimock, test_id: str, strict: bool
) -> None:
    await two_calls(model, view, aimock.journal, test_id, streams=(False, False), strict=strict)


def called(turn: ModelTurn) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, parse_arguments(call.arguments)) for call in turn.calls]


async def test_two_calls_in_a_stream(model: BedrockModel, view: sh.ToolView) -> None:
    """An answer of calls alone, which the stand-in streams as Amazon does."""
    export = dialect("bedrock").export(view)
    turn = await ask(model, [UserMessage(content="without a word")], export, stream=True)
    assert called(turn) == [
        ("call_look", "find_order", {"order_id": "A1", "note": "für Bob"}),
        ("call_pay", "pay", {"to": "bob", "no": 1, "amount": 20000}),
    ]
    assert (turn.stop, turn.truncated_call, turn.text) == ("tool_calls", False, "")
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (40, 12)


async def test_the_stand_in_streams_text_as_amazon_does_not(
    model: BedrockModel, client: Any, view: sh.ToolView
) -> None:
    """It announces a block of text by an empty `start`. That is a union: botocore itself takes no empty one."""
    spoken = dialect("bedrock")
    request = spoken.request([UserMessage(content="please pay bob")], spoken.export(view))
    unlike = pytest.raises(ResponseParserError, match="ContentBlockStart must have one and only one member set")
    with closing(client.converse_stream(modelId="some.model-v1", **request)["stream"]) as events, unlike:
        list(events)
    heard: list[Any] = []
    failed = await failure(model, "please pay bob", stream=True, heard=heard)
    assert heard == [{"messageStart": {"role": "assistant"}}]
    assert str(failed) == "boto3 broke off (ResponseParserError)"
    assert failed.retryable


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("text", "status", "retryable"),
    [("be overloaded", 503, True), ("too many", 429, True), ("bad request", 400, False), ("bad key", 401, False)],
)
async def test_failures(
    model: BedrockModel,
    aimock: Aimock,
    test_id: str,
    text: str,
    status: int,
    retryable: bool,
    stream: bool,
) -> None:
    failed = await failure(model, text, stream=stream)
    assert f"answered {status}" in str(failed)
    assert failed.retryable is retryable
    assert len(aimock.journal(test_id)) == 1


async def test_the_environment_leads_there(
    aimock: Aimock, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    for url, found in ((aimock.url, True), (f"http://127.0.0.1:{unused_tcp_port}", False)):
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
        model = parse_model("bedrock:some.model-v1")
        assert isinstance(model, BedrockModel)
        async with model:
            if found:
                said = await model.complete({"messages": [{"role": "user", "content": [{"text": "please pay bob"}]}]})
                assert "I look the order up" in str(said)
            else:
                failed = await failure(model, "hello", stream=False)
                assert failed.retryable
                assert "cannot be reached (EndpointConnectionError)" in str(failed)
