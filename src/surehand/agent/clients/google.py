"""`GeminiModel`: Google's Gemini. The SDK is imported when the first model is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import ConfigError
from .sdk import SdkModel, missing

if TYPE_CHECKING:
    from google.genai.client import AsyncClient, Client

_CONFIG: Final = {"systemInstruction": "system_instruction", "tools": "tools", "toolConfig": "tool_config"}
"""Fields of a request that the SDK takes in its `config`."""
_OWN: Final = ("sdkHttpResponse", "automaticFunctionCallingHistory")
"""What the SDK adds to an answer."""


class GeminiModel(SdkModel):
    """A model of Google, by the Gemini API or by Google Cloud.

    Args:
        name: Such as `gemini-3.8-flash`.
        client: A `google.genai.Client`, which is called in threads, or its `aio`. By default one as the environment
            says: `GOOGLE_API_KEY` or `GEMINI_API_KEY`, `GOOGLE_GEMINI_BASE_URL`; for Google Cloud
            `GOOGLE_GENAI_USE_ENTERPRISE`, `GOOGLE_CLOUD_PROJECT`, ...
        options: Put into each request's `config`, such as `{"temperature": 0}`.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "gemini"
    package = "google-genai"
    resource = "models"
    opens_late = True
    reserved = SdkModel.reserved | {
        *("contents", "system_instruction", "systemInstruction", "tool_config", "toolConfig", "http_options"),
        *("httpOptions", "automatic_function_calling", "automaticFunctionCalling", "should_return_http_response"),
    }

    def __init__(
        self, name: str, client: AsyncClient | Client | None = None, *, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(name, client, options)

    def _default_client(self) -> AsyncClient:
        try:
            from google import genai
        except ImportError as error:
            raise missing(self.package, "google") from error
        try:
            return genai.Client().aio
        except ValueError:
            raise ConfigError(f"{self.package}: there is no key; set GEMINI_API_KEY or give a client") from None

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        config = {_CONFIG[key]: value for key, value in request.items() if key in _CONFIG}
        config |= {
            **self._options,
            "automatic_function_calling": {"disable": True},
            "http_options": {"retry_options": {"attempts": 1}},  # also for a client that was given other ones
        }
        given = {"model": self.name, "contents": request.get("contents", []), "config": config}
        method = self._client.models.generate_content_stream if stream else self._client.models.generate_content
        try:
            return await self._call(method, **given)
        except json.JSONDecodeError:
            problem = self._no_object("")
        raise problem

    def _object(self, answer: Any) -> dict[str, Any]:
        return {key: value for key, value in super()._object(answer).items() if key not in _OWN}

    def _answered(self, error: Exception) -> tuple[int, dict[str, Any]]:
        """(S) errors.APIError."""
        code, word = getattr(error, "code", 0), getattr(error, "status", None)
        if not isinstance(code, int) or not code:
            return 0, {}
        return code, {"code": word, "message": getattr(error, "message", None)}

    def _keys(self, client: Any) -> list[str]:
        key = getattr(getattr(client, "_api_client", None), "api_key", None)
        return [key] if isinstance(key, str) else []

    async def _close(self, client: Any) -> None:
        await client.aclose()

    def _check(self, client: Any) -> None:
        if not hasattr(getattr(client, "models", None), "generate_content_stream"):
            kind = f"{client.__class__.__module__.partition('.')[0]}.{client.__class__.__name__}"
            raise ConfigError(f"{type(self).__name__} needs a client of the package {self.package}, not {kind}")

    def _without_retries(self, client: Any) -> Any:
        return client
