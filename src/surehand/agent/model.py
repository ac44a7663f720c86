"""`Model`: what answers. An official SDK's client with a model's name, or a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol


class ModelFailure(Exception):
    """The provider could not answer. The run may ask again; nothing that was stored is lost.

    Attributes:
        retryable: Whether the same request may work a little later (overload, 5xx, connection).
    """

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class Model(Protocol):
    """A provider's model. Knows the network; the dialect knows the format."""

    dialect: str
    """Name of the dialect that it speaks."""
    name: str
    """The model's name, for people and the record."""

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One whole answer as a JSON object.

        Args:
            request: What `Dialect.request` gave; the model adds its own name and options.

        Raises:
            ModelFailure: There is no answer.
        """
        ...

    def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The events of a streamed answer, each a JSON object.

        Raises:
            ModelFailure: While it is iterated: there is no answer, or it broke off.
        """
        ...
