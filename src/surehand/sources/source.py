"""`Source`: somewhere that tools come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..spec import Tool


class Source(Protocol):
    """One source. Its tools' names are unique among all sources: they begin with what the source is called."""

    name: str
    """As in the project file."""
    kind: str
    """Such as `openapi` or `mcp`."""

    @property
    def notes(self) -> Sequence[str]:
        """What it has that cannot be a tool, and why, as of the last `tools()`."""
        ...

    async def open(self, changed: Callable[[], None]) -> None:
        """Connects.

        Args:
            changed: To be called, from the event loop, whenever the tools may have changed or the connection is lost.

        Raises:
            SourceError: It cannot be used now; the message says why, without secrets.
        """
        ...

    async def tools(self) -> Sequence[Tool]:
        """What it has now, each tool bound to a raw handler. Their `version` and `stage` are the keeper's to set.

        Raises:
            SourceError: It cannot say; the message says why, without secrets.
        """
        ...

    async def close(self) -> None:
        """Ends the connection. Bounded, never raises, safe to call twice; `open` may follow."""
        ...
