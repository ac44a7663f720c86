"""The providers' stand-in, and the models that talk to it through the real SDKs."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator

import anthropic
import openai
import pytest
from google import genai
from google.genai.client import AsyncClient

from surehand.agent.clients import AnthropicModel, GeminiModel, OpenAIModel, OpenAIResponsesModel
from surehand.agent.clients.sdk import SdkModel
from tests.npm import NpmUnavailableError
from tests.wire.aimock import Aimock, running_server

# aimock ends calls of Gemini with a word that the API does not have, so that the SDK warns: see test_gemini.
MOCKED_WORD = pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason:UserWarning")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aimock]:
    """Run one server for the session (with xdist: for each worker)."""
    try:
        with running_server(tmp_path_factory.mktemp("aimock") / "log") as server:
            yield server
        return
    except NpmUnavailableError as error:
        reason = str(error)
    if os.environ.get("SUREHAND_REQUIRE_WIRE") == "1":
        pytest.fail(f"SUREHAND_REQUIRE_WIRE=1, but {reason}", pytrace=False)
    pytest.skip(f"no aimock: {reason}")


@pytest.fixture(params=["openai", "openai-responses", "anthropic", "google"])
def provider(request: pytest.FixtureRequest) -> str:
    """Every test that uses it runs against each."""
    return request.param


@pytest.fixture
async def make_model(
    aimock: Aimock, provider: str, request: pytest.FixtureRequest
) -> AsyncGenerator[Callable[[], SdkModel]]:
    """Make models of the provider whose requests are kept apart from those of other tests."""
    clients: list[openai.AsyncOpenAI | anthropic.AsyncAnthropic | AsyncClient] = []
    headers = {"x-test-id": request.node.name}

    def make() -> SdkModel:
        if provider.startswith("openai"):
            client = openai.AsyncOpenAI(base_url=f"{aimock.url}/v1", api_key=KEY, default_headers=headers)
            clients.append(client)
            return (OpenAIModel if provider == "openai" else OpenAIResponsesModel)("gpt-test", client)
        if provider == "google":
            # aimock knows this version of the API only; the SDK itself asks for `v1`.
            there = genai.types.HttpOptions(base_url=aimock.url, api_version="v1beta", headers=headers)
            google = genai.Client(api_key=KEY, http_options=there).aio
            clients.append(google)
            return GeminiModel("gemini-test", google)
        other = anthropic.AsyncAnthropic(base_url=aimock.url, api_key=KEY, default_headers=headers)
        clients.append(other)
        return AnthropicModel("claude-test", other)

    yield make
    for client in clients:
        await (client.aclose() if isinstance(client, AsyncClient) else client.close())
