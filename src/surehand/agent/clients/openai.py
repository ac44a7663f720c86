"""`OpenAIModel`: OpenAI, and all who speak its Chat Completions. The SDK is imported when the first model is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ...providers import dialect
from .sdk import SdkModel, missing

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


class OpenAIModel(SdkModel):
    """A model of OpenAI, or of any server that speaks Chat Completions.

    Args:
        name: Such as `gpt-5`.
        client: An `openai.AsyncOpenAI` or `openai.OpenAI`, or a class made from it. By default one for the provider,
            with its key from the environment: `OPENAI_API_KEY`, `OPENAI_BASE_URL`, ..., or the provider's own variable.
        provider: Who answers; the base URL and the limits are that provider's.
        options: Put into each request, such as `{"temperature": 0}`.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "openai-chat"
    package = "openai"
    resource = "chat"

    def __init__(
        self,
        name: str,
        client: AsyncOpenAI | OpenAI | None = None,
        *,
        provider: str = "openai-chat",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        spoken = dialect(provider).profile
        self.dialect = spoken.name
        self._base_url, self._key_env = spoken.base_url, spoken.key_env
        super().__init__(name, client, options)

    def _default_client(self) -> AsyncOpenAI:
        try:
            import openai
        except ImportError as error:
            raise missing(self.package) from error
        variable = self._key_env or "OPENAI_API_KEY"
        given: dict[str, Any] = {"base_url": self._base_url} if self._base_url else {}
        if self._key_env:
            given["api_key"] = os.environ.get(self._key_env)
        elif self._base_url:
            given["api_key"] = "none"  # a server of one's own asks for none, and the SDK insists
        try:
            return openai.AsyncOpenAI(**given)
        except openai.OpenAIError:
            raise ConfigError(f"{self.package}: there is no key; set {variable} or give a client") from None

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given: dict[str, Any] = {"model": self.name, **self._options, **request}
        if stream:
            asked: dict[str, Any] = given.get("stream_options", {})
            given |= {"stream": True, "stream_options": {"include_usage": True, **asked}}
        return await self._call(self._client.chat.completions.create, **given)
