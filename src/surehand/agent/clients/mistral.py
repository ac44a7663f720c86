"""`MistralModel`: Mistral. The SDK is imported when the first model is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import orjson

from ...errors import ConfigError
from ..model import ModelFailure
from .sdk import SdkModel, inner, missing

if TYPE_CHECKING:
    from mistralai.client import Mistral


class MistralModel(SdkModel):
    """A model of Mistral, or of any server that speaks its Chat Completions.

    Args:
        name: Such as `mistral-large-latest`.
        client: A `mistralai.client.Mistral`; its asynchronous methods are used. By default one as the environment says:
            `MISTRAL_API_KEY`, and `MISTRAL_BASE_URL` where it is not Mistral's own server.
        options: Put into each request, such as `{"temperature": 0}`.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "mistral"
    package = "mistralai"
    resource = "chat"
    reserved = SdkModel.reserved | {"retries"}

    def __init__(self, name: str, client: Mistral | None = None, *, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(name, client, options)

    def _default_client(self) -> Mistral:
        try:
            from mistralai.client import Mistral
        except ImportError as error:
            raise missing(self.package, "mistral") from error
        key = os.environ.get("MISTRAL_API_KEY")
        if not key:
            raise ConfigError("mistralai: there is no key; set MISTRAL_API_KEY or give a client")
        return Mistral(api_key=key, server_url=os.environ.get("MISTRAL_BASE_URL"))

    def _check(self, client: Any) -> None:
        if not (hasattr(client, "sdk_configuration") and hasattr(client, self.resource)):
            kind = f"{client.__class__.__module__.partition('.')[0]}.{client.__class__.__name__}"
            raise ConfigError(f"{type(self).__name__} needs a client of the package {self.package}, not {kind}")

    def _is_async(self, client: Any) -> bool:
        return True  # one class has both kinds of methods

    def _without_retries(self, client: Any) -> Any:
        return client  # each request says it

    def _keys(self, client: Any) -> list[str]:
        security = client.sdk_configuration.security
        given = security() if callable(security) else security
        key = getattr(given, "api_key", None) or os.environ.get("MISTRAL_API_KEY")
        return [key] if isinstance(key, str) else []

    async def _close(self, client: Any) -> None:
        await client.__aexit__(None, None, None)
        client.__exit__(None, None, None)

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given = {"model": self.name, **self._options, **request, "retries": None}
        chat = self._client.chat
        return await self._call(chat.stream_async if stream else chat.complete_async, **given)

    def _object(self, answer: Any) -> dict[str, Any]:
        """What came, without the SDK's own wrapping of events and of parts that it does not know."""
        return _unwrapped(super()._object(getattr(answer, "data", answer)))

    def _answered(self, error: Exception) -> tuple[int, dict[str, Any]]:
        status, body = getattr(error, "status_code", 0), getattr(error, "body", None)
        try:
            told: Any = orjson.loads(body) if isinstance(body, str) else {}
        except orjson.JSONDecodeError:
            told = {}
        found = inner(told)
        if isinstance(found.get("detail"), list):  # (S) HTTPValidationError
            found = {"code": "validation", "message": orjson.dumps(found["detail"]).decode()}
        return (status, found) if status >= 400 else (0, {})

    def _failure(self, error: Exception, *, began: bool = False) -> ModelFailure:
        if 0 < getattr(error, "status_code", 0) < 400 and not began:
            return self._no_object(error)
        return super()._failure(error, began=began)


def _unwrapped(value: Any) -> Any:
    """The SDK keeps a part that it does not know as `raw`."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        if given.keys() <= {"type", "raw", "is_unknown"} and isinstance(given.get("raw"), dict):
            return given["raw"]
        return {key: _unwrapped(one) for key, one in given.items()}
    return [_unwrapped(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
