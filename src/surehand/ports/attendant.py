"""`Attendant`: what lives as long as an engine is open, beside it."""

from __future__ import annotations

from typing import Protocol

from ..event import Event


class Attendant(Protocol):
    """Hears every event. Whatever becomes of it, no call is harmed."""

    def tell(self, event: Event) -> None:
        """A sink of events: must not block."""
        ...

    async def start(self) -> None:
        """The engine is open."""
        ...

    async def stop(self) -> None:
        """The engine closes; its store is still there. Bounded, and never raises."""
        ...
