"""`OpenAIModel`: OpenAI, and all who speak its Chat Completions. The SDK is imported when the first model is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ...providers import Profile, dialect
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
        self._profile = dialect(provider).profile
        self.dialect = self._profile.name
        super().__init__(name, client, options)

    def _default_client(self) -> AsyncOpenAI:
        return default_client(self._profile)

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given: dict[str, Any] = {"model": self.name, **self._options, **request}
        if stream:
            asked: dict[str, Any] = given.get("stream_options", {})
            given |= {"stream": True, "stream_options": {"include_usage": True, **asked}}
        return await self._call(self._client.chat.completions.create, **given)


def default_client(profile: Profile) -> AsyncOpenAI:
    """A client for a provider, with its key from the environment.

    Raises:
        ConfigError: The package or the key is missing.
    """
    try:
        import openai
    except ImportError as error:
        raise missing("openai") from error
    key = os.environ.get(profile.key_env) if profile.key_env else None
    if profile.key_env and not key:  # the SDK would send OpenAI's own instead
        raise _no_key(profile.key_env)
    if not profile.base_url and not profile.key_env:
        try:
            return openai.AsyncOpenAI()
        except openai.OpenAIError:
            raise _no_key("OPENAI_API_KEY") from None
    given: dict[str, Any] = {"api_key": key or "none"}  # a server of one's own asks for none, and the SDK insists
    if profile.base_url:  # not OpenAI's, whose account the SDK would tell it from the environment
        account = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        given |= {"base_url": profile.base_url, "default_headers": account}
    return openai.AsyncOpenAI(**given)


def _no_key(variable: str) -> ConfigError:
    return ConfigError(f"openai: there is no key; set {variable} or give a client")
