"""Streams of `anthropic`: the content blocks put together."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Protocol

from ...schema import parse_arguments
from ..arguments import as_object, is_blank
from ..export import Export
from ..json_value import object_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve


class Finish(Protocol):
    """Makes the turn of a whole message, the same for a streamed one and one that came whole."""

    def __call__(
        self, message: Mapping[str, Any], texts: Mapping[int, str], export: Export, *, broken: bool
    ) -> ModelTurn:
        """Args: the message, the inputs that are not one JSON object, the export, whether the stream broke off."""
        ...


class MessagesFold:
    """Folds the events of one answer."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._message: dict[str, Any] = {}
        self._blocks: list[dict[str, Any]] = []
        self._places: dict[Any, int] = {}
        """Index of the provider -> place of the newest block with it."""
        self._inputs: dict[int, str] = {}
        """Place of a block -> the JSON text of its input."""
        self._positions: dict[int, int] = {}
        """Place of a block -> place of its call among the calls."""
        self._ended = False

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one event."""
        match event.get("type"):
            case "message_start":
                self._message = {**object_of(event.get("message"))}
            case "content_block_start":
                return self._start(event)
            case "content_block_delta":
                return self._add(event)
            case "message_delta":
                self._update(event)
            case "error":  # the answer ends here, whatever has come
                self._message["stop_reason"] = text_of(object_of(event.get("error")).get("type")) or "error"
                self._ended = False
            case _:  # `ping`, `content_block_stop`, `message_stop`, and what is still to be invented
                pass
        return []

    def end(self) -> ModelTurn:
        """The whole answer."""
        texts: dict[int, str] = {}
        for place, text in self._inputs.items():
            if is_blank(text):
                continue  # the input that the block started with stands
            self._blocks[place]["input"] = as_object(text) or {}
            if not isinstance(parse_arguments(text), dict):
                texts[place] = text
        message = {**self._message, "content": self._blocks}
        return self._finish(message, texts, self._export, broken=not self._ended)

    def _start(self, event: Mapping[str, Any]) -> list[Delta]:
        block = deepcopy(object_of(event.get("content_block")))
        self._places[event.get("index")] = len(self._blocks)
        self._blocks.append(block)
        if block.get("type") == "text" and block.get("text"):
            return [TextDelta(text=text_of(block["text"]))]
        if block.get("type") != "tool_use":
            return []
        position = self._positions[len(self._blocks) - 1] = len(self._positions)
        name = text_of(block.get("name"))
        found = resolve(name, self._export.wire_names)
        return [CallDelta(position=position, id=text_of(block.get("id")), name=found)] if name else []

    def _add(self, event: Mapping[str, Any]) -> list[Delta]:
        place = self._places.get(event.get("index"))
        if place is None:
            return []
        block, delta = self._blocks[place], object_of(event.get("delta"))
        match delta.get("type"):
            case "text_delta":
                text = text_of(delta.get("text"))
                block["text"] = text_of(block.get("text")) + text
                return [TextDelta(text=text)] if text else []
            case "input_json_delta":
                text = text_of(delta.get("partial_json"))
                self._inputs[place] = self._inputs.get(place, "") + text
                return self._previewed(place, text)
            case "thinking_delta":
                text = text_of(delta.get("thinking"))
                block["thinking"] = text_of(block.get("thinking")) + text
                return [ReasoningDelta(text=text)] if text else []
            case "signature_delta":
                block["signature"] = text_of(delta.get("signature"))
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
            case _:
                pass
        return []

    def _previewed(self, place: int, text: str) -> list[Delta]:
        position = self._positions.get(place)
        return [ArgumentsDelta(position=position, text=text)] if text and position is not None else []

    def _update(self, event: Mapping[str, Any]) -> None:
        """The stop reason, and counts that add up to here; those that are null say nothing new."""
        delta = {key: value for key, value in object_of(event.get("delta")).items() if value is not None}
        usage = {key: value for key, value in object_of(event.get("usage")).items() if value is not None}
        self._message.update(delta)
        self._message["usage"] = {**object_of(self._message.get("usage")), **usage}
        self._ended = self._ended or bool(delta.get("stop_reason"))
