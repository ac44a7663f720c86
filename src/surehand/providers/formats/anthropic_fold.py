"""Streams of `anthropic`: the content blocks put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..export import Export
from ..json_value import copied, list_of, object_of, place_of, text_of
from ..message import Delta, ModelTurn, ReasoningDelta, TextDelta
from .blocks import Blocks, Finish


class MessagesFold:
    """Folds the events of one answer."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._message: dict[str, Any] = {}
        self._blocks = Blocks(export.wire_names)
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
        texts = self._blocks.whole_inputs(_put)
        message = {**self._message, "content": self._blocks.content}
        return self._finish(message, texts, self._export, broken=not self._ended)

    def _start(self, event: Mapping[str, Any]) -> list[Delta]:
        index = place_of(event.get("index"))
        block = self._blocks.begin(index, copied(object_of(event.get("content_block"))))
        if block.get("type") == "text" and block.get("text"):
            return [TextDelta(text=text_of(block["text"]))]
        if block.get("type") != "tool_use":
            return []
        return self._blocks.begin_call(index, text_of(block.get("id")), text_of(block.get("name")))

    def _add(self, event: Mapping[str, Any]) -> list[Delta]:
        index = place_of(event.get("index"))
        block, delta = self._blocks.at(index), object_of(event.get("delta"))
        if block is None:
            return []
        match delta.get("type"):
            case "text_delta":
                text = text_of(delta.get("text"))
                block["text"] = text_of(block.get("text")) + text
                return [TextDelta(text=text)] if text else []
            case "input_json_delta":
                return self._blocks.add_input(index, text_of(delta.get("partial_json")))
            case "thinking_delta":
                text = text_of(delta.get("thinking"))
                block["thinking"] = text_of(block.get("thinking")) + text
                return [ReasoningDelta(text=text)] if text else []
            case "signature_delta":
                block["signature"] = text_of(delta.get("signature"))
            case "citations_delta":
                block["citations"] = [*list_of(block.get("citations")), delta.get("citation")]
            case _:
                pass
        return []

    def _update(self, event: Mapping[str, Any]) -> None:
        """The stop reason, and counts that add up to here; those that are null say nothing new."""
        delta = {key: value for key, value in object_of(event.get("delta")).items() if value is not None}
        usage = {key: value for key, value in object_of(event.get("usage")).items() if value is not None}
        self._message.update(delta)
        self._message["usage"] = {**object_of(self._message.get("usage")), **usage}
        self._ended = self._ended or bool(delta.get("stop_reason"))


def _put(block: dict[str, Any], given: dict[str, Any]) -> None:
    block["input"] = given
