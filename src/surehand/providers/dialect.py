"""`Dialect`: one provider's wire format. Pure: no network, no SDK, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..view import ToolView
from .choice import AUTO, Choice
from .export import Export
from .message import Delta, Message, ModelTurn
from .profile import Profile


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

    profile: Profile
    """The facts about the provider, its name among them."""

    def export(self, view: ToolView, *, strict: bool = False) -> Export:
        """The tools of a view. One bad schema never spoils the others; no tool is dropped without a note.

        Raises:
            ConfigError: The view has more tools than a request may.
        """
        ...

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """The parts of a request that hold the conversation and the tools, such as `messages`, `tools`, `system`.

        The history is made whole for the provider and stays unchanged itself: each call has exactly one result
        (one that is missing becomes `not executed`), results without a call are left out, no message is empty,
        repeated ids are told apart, and a turn of the same provider is sent back as it came.

        Raises:
            ConfigError: The provider cannot be told the choice.
        """
        ...

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """A whole response, as a JSON object."""
        ...

    def fold(self, export: Export) -> Fold:
        """For a streamed response."""
        ...
