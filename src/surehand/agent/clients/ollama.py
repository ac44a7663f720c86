"""`OllamaModel`: Ollama by its own chat. The SDK is imported when the first model is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from .sdk import SdkModel, inner, missing

if TYPE_CHECKING:
    from ollama import AsyncClient, Client


class OllamaModel(SdkModel):
    """A model that an Ollama server runs.

    The server is asked through the SDK's client, but not through its `chat`: the types of that leave out most of a
    schema (references, objects in objects, alternatives) and the ids of calls, all of which the server knows.

    Args:
        name: Such as `qwen3:8b`; `ollama pull` must have fetched it.
        client: An `ollama.AsyncClient` or `ollama.Client`. By default one for the server at `OLLAMA_HOST`, else the one
            on this machine, with the key in `OLLAMA_API_KEY` if there is one.
        options: Put into each request, such as `{"think": True, "options": {"num_ctx": 32768}}`: by default a server
            cuts long conversations.

    Raises:
        ConfigError: The package is missing, the client is not one, or an option is reserved.
    """

    dialect = "ollama"
    package = "ollama"
    resource = "chat"
    opens_late = True

    def __init__(
        self, name: str, client: AsyncClient | Client | None = None, *, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(name, client, options)
        unknown = sorted(self._options.keys() - inspect.signature(self._client.chat).parameters.keys())
        if unknown:
            raise ConfigError(f"ollama: there is no option {', '.join(unknown)}; those of the model go into `options`")

    def _default_client(self) -> AsyncClient:
        try:
            import ollama
        except ImportError as error:
            raise missing(self.package) from error
        return ollama.AsyncClient()

    def _fits(self, client: Any) -> bool:
        return hasattr(client, self.resource) and hasattr(client, "_request")

    def _is_async(self, client: Any) -> bool:
        return inspect.iscoroutinefunction(client.chat)

    def _without_retries(self, client: Any) -> Any:
        return client  # it makes none

    def _keys(self, client: Any) -> list[str]:
        key = client._client.headers.get("authorization", "").removeprefix("Bearer ")
        return [key] if key else []

    def _base_url(self) -> str:
        return str(self._client._client.base_url)

    def _answered(self, error: Exception) -> tuple[int, dict[str, Any]]:
        said: Any = getattr(error, "error", None)  # a text; an object by servers that say it as OpenAI does
        return getattr(error, "status_code", None) or 0, inner({"message": said} if isinstance(said, str) else said)

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        ask = partial(self._client._request, dict, "POST", "/api/chat")
        given = {"model": self.name, **self._options, **request, "stream": stream}
        return await self._call(ask, json=given, stream=stream)
