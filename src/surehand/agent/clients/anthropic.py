"""`AnthropicModel`: Anthropic. The SDK is imported when the first model is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from .sdk import SdkModel, missing

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic


class AnthropicModel(SdkModel):
    """A model of Anthropic, or of any server that speaks its Messages API.

    Args:
        name: Such as `claude-sonnet-5`.
        client: An `anthropic.AsyncAnthropic` or `anthropic.Anthropic`, or its Bedrock, Vertex or Foundry
            form. By default one as the environment says: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, ...
        max_tokens: The most that one answer may have; the API wants it said. What is longer is cut.
        options: Put into each request, such as `{"stop_sequences": ["END"]}`.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "anthropic"
    package = "anthropic"
    resource = "messages"
    reserved = SdkModel.reserved | {"max_tokens"}

    def __init__(
        self,
        name: str,
        client: AsyncAnthropic | Anthropic | None = None,
        *,
        max_tokens: int = 8192,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, client, options)
        if max_tokens < 1:
            raise ConfigError("anthropic: max_tokens must be at least 1")
        self._max_tokens = max_tokens

    def _default_client(self) -> AsyncAnthropic:
        try:
            import anthropic
        except ImportError as error:
            raise missing(self.package) from error
        try:
            client = anthropic.AsyncAnthropic()
        except anthropic.AnthropicError as error:
            raise ConfigError(f"anthropic: {error}") from error
        if client.api_key is None and client.auth_token is None and client.credentials is None:
            raise ConfigError("anthropic: there is no key; set ANTHROPIC_API_KEY or give a client")
        return client

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given = {"model": self.name, "max_tokens": self._max_tokens, **self._options, **request, "stream": stream}
        return await self._call(self._client.messages.create, **given)
