"""`BedrockModel`, with the network replaced below the real SDK."""

import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from surehand.agent.clients import BedrockModel
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.errors import ConfigError
from tests.agent.aws_events import event

boto3: Any = importlib.import_module("boto3")
Config: Any = importlib.import_module("botocore.config").Config
AWSResponse: Any = importlib.import_module("botocore.awsrequest").AWSResponse
exceptions: Any = importlib.import_module("botocore.exceptions")

SESSION: Any = boto3.Session()
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
BLOB = {"$base64": "AAEC/w=="}


@pytest.fixture(autouse=True)
def nowhere_in_the_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 would ask the machine's own address for credentials."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class Body:
    """What is left to read of an answer."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)
        self.closed = False

    def read(self, *_: Any) -> bytes:
        data, self._pieces = b"".join(self._pieces), []
        return data

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        while self._pieces:
            yield self._pieces.pop(0)

    def close(self) -> None:
        self.closed = True


class Network:
    """Answers every request alike, and keeps what was sent."""

    def __init__(self, *, attempts: int = 1) -> None:
        self.status = 200
        self.body = Body()
        self.error: Exception | None = None
        self.code = ""
        self.sent: list[tuple[str, Any]] = []
        self.threads: set[int] = set()
        self.client = SESSION.client(
            "bedrock-runtime",
            region_name="eu-west-1",
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key=SECRET,
            config=Config(retries={"total_max_attempts": attempts}),
        )
        self.client.meta.events.register("before-send.bedrock-runtime", self._answer)

    def _answer(self, request: Any, **_: Any) -> Any:
        self.threads.add(threading.get_ident())
        self.sent.append((request.url.partition(".com")[2], json.loads(request.body)))
        if self.error is not None:
            raise self.error
        headers = {"x-amzn-ErrorType": self.code} if self.code else {}
        return AWSResponse(request.url, self.status, headers, self.body)

    def whole(self, answer: dict[str, Any]) -> None:
        self.body = Body(json.dumps(answer).encode())

    def refuse(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        self.whole({"message": message})

    def model(self, **options: Any) -> BedrockModel:
        return BedrockModel("eu.some.model-v1:0", self.client, **options)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    return Network()


async def failure(model: BedrockModel, *, stream: bool = False, heard: list[Any] | None = None) -> ModelFailure:
    async def asked() -> None:
        async for one in model.stream(REQUEST):
            (heard if heard is not None else []).append(one)

    with pytest.raises(ModelFailure) as raised:
        await (asked() if stream else model.complete(REQUEST))
    return raised.value


async def test_the_answer_as_it_came(network: Network) -> None:
    content: list[dict[str, Any]] = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}},
        {"reasoningContent": {"redactedContent": "AAEC/w=="}},
        {"toolUse": {"toolUseId": "t1", "name": "pay", "input": {"amount": 2**70, "x": [1.5, None]}}},
    ]
    answer: dict[str, Any] = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "new_reason",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
    }
    network.whole(answer)
    given = await network.model(options={"inferenceConfig": {"maxTokens": 9}}).complete(
        {"system": [{"text": "be kind"}], **REQUEST}
    )
    content[1] = {"reasoningContent": {"redactedContent": BLOB}}  # bytes, marked
    assert given == answer
    body = {"inferenceConfig": {"maxTokens": 9}, "system": [{"text": "be kind"}], **REQUEST}
    assert network.sent == [("/model/eu.some.model-v1%3A0/converse", body)]
    assert threading.get_ident() not in network.threads


async def test_bytes_are_sent_as_bytes(network: Network) -> None:
    network.whole({})
    image = {"image": {"format": "png", "source": {"bytes": b"\x00\x01\x02\xff"}}}
    await network.model().complete({"messages": [{"role": "user", "content": [image]}]})
    assert network.sent[0][1]["messages"][0]["content"][0]["image"]["source"] == {"bytes": "AAEC/w=="}


async def test_events_as_they_came(network: Network) -> None:
    events: list[dict[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": "AAEC/w=="}}}},
        {
            "contentBlockStart": {
                "contentBlockIndex": 1,
                "start": {"toolUse": {"toolUseId": "t1", "name": "pay"}},
            }
        },
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a"'}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, "metrics": {"latencyMs": 7}}},
    ]
    raw = b"".join(event(kind, payload) for one in events for kind, payload in one.items())
    raw += event("ofTomorrow", {"what": 1})
    network.body = Body(*(raw[at : at + 11] for at in range(0, len(raw), 11)))
    events[1]["contentBlockDelta"]["delta"]["reasoningContent"]["redactedContent"] = BLOB
    heard = [one async for one in network.model().stream(REQUEST)]
    assert heard == [*events, {"SDK_UNKNOWN_MEMBER": {"name": "ofTomorrow"}}][: len(heard)]
    assert len(heard) >= len(events)
    assert network.sent[0][0].endswith("/converse-stream")
    assert network.body.closed
    assert threading.get_ident() not in network.threads


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "ValidationException", False),
        (403, "AccessDeniedException", False),
        (404, "ResourceNotFoundException", False),
        (408, "ModelTimeoutException", True),
        (424, "ModelErrorException", True),
        (429, "ThrottlingException", True),
        (429, "ModelNotReadyException", True),
        (500, "InternalServerException", True),
        (503, "ServiceUnavailableException", True),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_status_says_whether_to_ask_again(
    network: Network, status: int, code: str, retryable: bool, stream: bool
) -> None:
    network.refuse(status, code, f"no, {SECRET}")
    failed = await failure(network.model(), stream=stream)
    assert str(failed).startswith(f"boto3 answered {status} {code}")
    assert failed.retryable is retryable
    assert SECRET not in str(failed)
    assert ("no, [redacted]" in str(failed)) is (status != 403)
    assert failed.__cause__ is failed.__context__ is None
    assert len(network.sent) == 1


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        ("throttlingException", True),
        ("internalServerException", True),
        ("modelStreamErrorException", True),
        ("serviceUnavailableException", True),
        ("validationException", False),
    ],
)
async def test_an_error_within_a_stream(network: Network, kind: str, retryable: bool) -> None:
    network.body = Body(event("messageStart", {"role": "assistant"}), event(kind, {"message": "so"}, failed=True))
    heard: list[Any] = []
    failed = await failure(network.model(), stream=True, heard=heard)
    assert heard == [{"messageStart": {"role": "assistant"}}]
    assert str(failed) == f"boto3 broke off with an error {kind}: so"
    assert failed.retryable is retryable


async def test_a_stream_that_is_damaged(network: Network) -> None:
    raw = bytearray(event("messageStart", {"role": "assistant"}))
    raw[-1] ^= 1
    network.body = Body(bytes(raw))
    failed = await failure(network.model(), stream=True)
    assert str(failed) == "boto3 broke off (ChecksumMismatch)"
    assert failed.retryable


@pytest.mark.parametrize(
    "made",
    [
        lambda: exceptions.EndpointConnectionError(endpoint_url="x"),
        lambda: exceptions.ConnectTimeoutError(endpoint_url="x"),
        lambda: exceptions.ReadTimeoutError(endpoint_url="x"),
        lambda: exceptions.ConnectionClosedError(endpoint_url="x"),
    ],
    ids=["refused", "connect", "read", "closed"],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_lost_connection_may_be_found_again(
    network: Network, made: Callable[[], Exception], stream: bool
) -> None:
    network.error = made()
    failed = await failure(network.model(), stream=stream)
    assert str(failed) == f"boto3 cannot be reached ({type(network.error).__name__})"
    assert failed.retryable
    assert len(network.sent) == 1


async def test_a_stream_that_is_left_is_closed(network: Network) -> None:
    network.body = Body(*[event("messageStart", {"role": "assistant"})] * 9)
    async with aclosing(network.model().stream(REQUEST)) as events:
        async for _ in events:
            break
        assert not network.body.closed
    assert network.body.closed


async def test_what_is_refused_before_anything_is_sent(network: Network) -> None:
    with pytest.raises(ConfigError, match=r"boto3 cannot send this request: .*temprature"):
        await network.model(options={"temprature": 0}).complete(REQUEST)
    assert network.sent == []
    with pytest.raises(ConfigError, match="may not set modelId, toolConfig"):
        network.model(options={"modelId": "x", "toolConfig": {}})
    with pytest.raises(ConfigError, match=r"needs a client bedrock-runtime of the package boto3, not botocore\.S3"):
        BedrockModel("m", SESSION.client("s3", region_name="eu-west-1"))


async def test_a_client_that_repeats_requests_is_refused() -> None:
    for attempts in (2, 5):
        with pytest.raises(ConfigError, match="the client repeats requests by itself"):
            Network(attempts=attempts).model()
    with pytest.raises(ConfigError, match=r'retries=\{"total_max_attempts": 1\}'):
        BedrockModel("m", SESSION.client("bedrock-runtime", region_name="eu-west-1"))


async def test_by_default_the_environment_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:1")
    model = parse_model("bedrock:some.model-v1:0")
    assert isinstance(model, BedrockModel)
    async with model:
        assert model.name == "some.model-v1:0"
        meta = model._client.meta
        assert (meta.region_name, meta.endpoint_url) == ("eu-central-1", "http://127.0.0.1:1")
        assert meta.config.retries["total_max_attempts"] == 1
    await model.close()


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="boto3: there is no region; set AWS_REGION"):
        BedrockModel("m")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with pytest.raises(ConfigError, match="there are no credentials; set AWS_PROFILE"):
        await BedrockModel("m").complete(REQUEST)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigError, match="nobody"):
        BedrockModel("m")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError, match=r'boto3 is not installed: pip install "surehand\[bedrock\]"'):
        BedrockModel("m")
