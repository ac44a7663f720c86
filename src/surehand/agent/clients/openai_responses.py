"""`OpenAIResponsesModel`: OpenAI's Responses, and all who speak them. The SDK is imported when the first is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...providers import dialect
from ...providers.json_value import object_of, text_of
from ..model import ModelFailure
from .openai import default_client
from .sdk import SdkModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

_ENCRYPTED: Final = "reasoning.encrypted_content"
_PASSING: Final = frozenset({"rate_limit_exceeded", "server_error", "vector_store_timeout"})
"""(S) ResponseError.code: of the reasons why an answer failed those that asking again may change."""


class OpenAIResponsesModel(SdkModel):
    """A model of OpenAI, or of any server that speaks Responses. Nothing is stored there: a request holds everything.

    Reasoning therefore comes encrypted and goes back with the next request. A model that knows no encrypted reasoning
    refuses to be asked for it; then it is asked again without, and from then on.

    Args:
        name: Such as `gpt-5`.
        client: An `openai.AsyncOpenAI` or `openai.OpenAI`, or a class made from it. By default one as the environment
            says: `OPENAI_API_KEY`, `OPENAI_BASE_URL`, ...
        provider: Who answers; the base URL and the limits are that provider's.
        options: Put into each request, such as `{"reasoning": {"effort": "low", "summary": "auto"}}`. `store` is
            `False` unless they say otherwise, and `include` then asks for encrypted reasoning unless they have one.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "openai-responses"
    package = "openai"
    resource = "responses"
    reserved = SdkModel.reserved | {"input", "background", "conversation", "previous_response_id"}

    def __init__(
        self,
        name: str,
        client: AsyncOpenAI | OpenAI | None = None,
        *,
        provider: str = "openai-responses",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._profile = dialect(provider).profile
        self.dialect = self._profile.name
        super().__init__(name, client, {"store": False, **(options or {})})
        self._asks_for_reasoning = self._options["store"] is False and "include" not in self._options

    def _default_client(self) -> AsyncOpenAI:
        return default_client(self._profile)

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given = {"model": self.name, **self._options, **request, "stream": stream}
        if not self._asks_for_reasoning:
            return await self._call(self._client.responses.create, **given)
        try:
            return await self._call(self._client.responses.create, include=[_ENCRYPTED], **given)
        except Exception as error:
            if not _refuses_to_encrypt(error):
                raise
        self._asks_for_reasoning = False
        return await self._call(self._client.responses.create, **given)

    def _object(self, answer: Any) -> dict[str, Any]:
        """The answer or an event of it, unless it says that there is no answer: the SDK raises nothing then."""
        given = super()._object(answer)
        response = object_of(given.get("response")) if given.get("type") == "response.failed" else given
        if response.get("status") == "failed":
            raise self._failed(object_of(response.get("error")))
        if given.get("type") == "error":
            raise self._failed(given)
        return given

    def _failed(self, error: Mapping[str, Any]) -> ModelFailure:
        code, message = text_of(error.get("code")), text_of(error.get("message"))
        told = f"{self.package} broke off with an error {code}".strip() + (f": {message}" if message else "")
        return ModelFailure(self._safe(told), retryable=not code or code in _PASSING)


def _refuses_to_encrypt(error: Exception) -> bool:
    """(E) "Encrypted content is not supported with this model", NousResearch/hermes-agent pull 24234."""
    return getattr(error, "status_code", 0) == 400 and "encrypted content is not supported" in str(error).lower()
