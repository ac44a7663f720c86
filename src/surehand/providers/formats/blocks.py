"""Content blocks as they are streamed: which one a piece belongs to, and the inputs of the calls among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...schema import parse_arguments
from ..arguments import as_object, is_blank
from ..export import Export
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn
from ..offering.names import resolve


class Finish(Protocol):
    """Makes the turn of a whole message, the same for a streamed one and one that came whole."""

    def __call__(
        self, message: Mapping[str, Any], texts: Mapping[int, str], export: Export, /, *, broken: bool
    ) -> ModelTurn:
        """Args: the message, the inputs that are not one JSON object, the export, whether the stream broke off."""
        ...


class Blocks:
    """The blocks of one answer as far as they have come."""

    def __init__(self, wire_names: Mapping[str, str]) -> None:
        self._wire_names = wire_names
        self.content: list[dict[str, Any]] = []
        self._places: dict[Any, int] = {}
        """Index of the provider -> place of the newest block with it."""
        self._inputs: dict[int, str] = {}
        """Place of a block -> the JSON text of its input."""
        self._positions: dict[int, int] = {}
        """Place of a block -> place of its call among the calls."""

    def begin(self, index: Any, block: dict[str, Any]) -> dict[str, Any]:
        """A new block, also where the provider has used the index before."""
        self._places[index] = len(self.content)
        self.content.append(block)
        return block

    def at(self, index: Any) -> dict[str, Any] | None:
        """The newest block with an index."""
        place = self._places.get(index)
        return None if place is None else self.content[place]

    def begin_call(self, index: Any, call_id: str, name: str) -> list[Delta]:
        """The block with the index is a call for us."""
        position = self._positions[self._places[index]] = len(self._positions)
        return [CallDelta(position=position, id=call_id, name=resolve(name, self._wire_names))] if name else []

    def add_input(self, index: Any, text: str) -> list[Delta]:
        """A piece of an input's JSON text."""
        place = self._places[index]
        self._inputs[place] = self._inputs.get(place, "") + text
        position = self._positions.get(place)
        return [ArgumentsDelta(position=position, text=text)] if text and position is not None else []

    def whole_inputs(self, put: Callable[[dict[str, Any], dict[str, Any]], None]) -> dict[int, str]:
        """Puts each input into its block; where nothing came, the one that the block started with stands.

        Returns:
            Place of a block -> the text of its input, where that is not one JSON object.
        """
        texts: dict[int, str] = {}
        for place, text in self._inputs.items():
            if is_blank(text):
                continue
            put(self.content[place], as_object(text) or {})
            if not isinstance(parse_arguments(text), dict):
                texts[place] = text
        return texts


def append(messages: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    """Adds to the last message of the same role, so that roles alternate; adds no empty message."""
    if not content:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(content)
    else:
        messages.append({"role": role, "content": content})
