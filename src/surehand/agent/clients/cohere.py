"""`CohereModel`: Cohere. The SDK is imported when the first model is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import ConfigError
from .sdk import SdkModel, missing

if TYPE_CHECKING:
    from cohere import AsyncClientV2, ClientV2

_CLIENTS: Final = frozenset({"V2Client", "AsyncV2Client"})
"""What all clients of version 2 are made from: the older ones have methods of the same names."""
_NO_RETRIES: Final[dict[str, Any]] = {"max_retries": 0}


class CohereModel(SdkModel):
    """A model of Cohere, or of any server that speaks version 2 of its Chat API.

    Args:
        name: Such as `command-a-03-2025`.
        client: A `cohere.AsyncClientV2` or `cohere.ClientV2`. By default one as the environment says: `CO_API_KEY`,
            `CO_API_URL`.
        options: Put into each request, such as `{"temperature": 0}`.

    Raises:
        ConfigError: The package or the key is missing, the client is not one, or an option is reserved.
    """

    dialect = "cohere"
    package = "cohere"
    resource = "chat_stream"
    opens_late = True
    reserved = SdkModel.reserved | {"request_options"}

    def __init__(
        self, name: str, client: AsyncClientV2 | ClientV2 | None = None, *, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(name, client, options)

    def _default_client(self) -> AsyncClientV2:
        try:
            import cohere
        except ImportError as error:
            raise missing(self.package) from error
        key = os.environ.get("CO_API_KEY") or os.environ.get("COHERE_API_KEY")
        if not key:
            raise ConfigError("cohere: there is no key; set CO_API_KEY or give a client")
        return cohere.AsyncClientV2(key, base_url=os.environ.get("CO_API_URL"))

    def _fits(self, client: Any) -> bool:
        return not _CLIENTS.isdisjoint(kind.__name__ for kind in type(client).__mro__)

    def _without_retries(self, client: Any) -> Any:
        return client  # each request says it

    def _keys(self, client: Any) -> list[str]:
        return [client._client_wrapper.get_headers()["Authorization"].removeprefix("Bearer ")]

    async def _close(self, client: Any) -> None:
        await client.__aexit__(None, None, None)

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        method = self._client.chat_stream if stream else self._client.chat
        given = {"model": self.name, **self._options, **request}
        return await self._call(method, **given, request_options=_NO_RETRIES)
