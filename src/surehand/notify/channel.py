"""`Channel`: one way to people."""

from __future__ import annotations

from typing import Protocol

from .message import Message


class DeliveryError(Exception):
    """A notification did not arrive; it may if it is sent again. The text is for operators and holds no secret."""


class UndeliverableError(DeliveryError):
    """A notification cannot arrive; sending it again is of no use."""


class Channel(Protocol):
    """Sends one notification at a time."""

    name: str

    async def send(self, message: Message) -> None:
        """Delivers it, or says why not. Bounded by a timeout of its own.

        Raises:
            DeliveryError: It did not arrive.
        """
        ...
