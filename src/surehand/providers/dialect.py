"""`Dialect`: one provider's wire format. Pure: no network, no SDK, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ..view import ToolView
from .message import Delta, Message, ModelTurn
from .restore import Restoration
from .strict import Verdict


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A view as one provider accepts it. The same view gives the same bytes."""

    dialect: str
    tools: list[dict[str, Any]]
    """What the SDK's call takes as `tools=`."""
    wire_names: Mapping[str, str]
    """Name on the wire -> our name."""
    notes: tuple[str, ...] = ()
    """What could not be said exactly, one line a tool: why, and what was moved into the description."""
    verdicts: Mapping[str, Verdict] = {}
    """Our name -> what strict mode does to the tool. Empty unless it was asked for. `unsupported`: sent without it."""
    restorations: Mapping[str, Restoration] = {}
    """Our name -> what `decode` has to undo in the arguments, where the export changed the schema that far."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The tools, so that an export can be given as it is."""
        return iter(self.tools)

    def __len__(self) -> int:
        """How many tools."""
        return len(self.tools)


class Fold(Protocol):
    """Puts the events of one stream together. The same answer however the bytes were cut."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one event of the stream as a JSON object; gives what a user interface may show by it."""
        ...

    def end(self) -> ModelTurn:
        """The whole answer. A stream that broke off gives stop `length`, and `truncated_call` if it had calls."""
        ...


class Dialect(Protocol):
    """What the agent needs of one provider's format."""

    name: str
    tools_max: int | None
    """How many tools the provider takes in one request; `None` if nobody says."""

    def export(self, view: ToolView, *, strict: bool = False) -> Export:
        """The tools of a view. One bad schema never spoils the others; no tool is dropped without a note."""
        ...

    def request(self, messages: Sequence[Message], export: Export) -> dict[str, Any]:
        """The parts of a request that hold the conversation and the tools, such as `messages`, `tools`, `system`.

        The history is made whole for the provider and stays unchanged itself: each call has exactly one result
        (one that is missing becomes `not executed`), results without a call are left out, no message is empty,
        repeated ids are told apart, and a turn of the same dialect is sent back as it came.
        """
        ...

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """A whole response, as a JSON object."""
        ...

    def fold(self, export: Export) -> Fold:
        """For a streamed response."""
        ...
