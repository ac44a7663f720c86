"""Streams of `cohere`: content items, plan, calls and citations put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from ..export import Export
from ..json_value import copied, object_of, place_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve

_TEXTS: Final = ("text", "thinking")
"""Types of content items, and the names of what they hold."""


class Finish(Protocol):
    """Makes the turn of a whole message, the same for a streamed one and one that came whole."""

    def __call__(self, message: Any, word: str, usage: Any, export: Export, *, broken: bool) -> ModelTurn:
        """Args: the message, the finish reason, the usage, the export, and whether the stream broke off."""
        ...


class EventsFold:
    """Folds the events of one answer."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._message: dict[str, Any] = {}
        self._content: list[dict[str, Any]] = []
        self._items: dict[Any, dict[str, Any]] = {}
        """Index of the provider -> the newest content item with it."""
        self._calls: list[dict[str, Any]] = []
        self._positions: dict[Any, int] = {}
        """Index of the provider -> place of the newest call with it."""
        self._citations: list[Any] = []
        self._end: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one event."""
        delta = object_of(event.get("delta"))
        message = object_of(delta.get("message"))
        index = place_of(event.get("index"))
        match event.get("type"):
            case "message-start":
                self._message = copied(message)
            case "content-start":
                item = self._items[index] = {}
                self._content.append(item)
                begun = object_of(message.get("content"))
                empty = {begun["type"]: ""} if begun.get("type") in _TEXTS else {}
                return self._say(item, {**empty, **begun})
            case "content-delta" if index in self._items:
                return self._say(self._items[index], object_of(message.get("content")))
            case "tool-plan-delta":
                text = text_of(message.get("tool_plan"))
                self._message["tool_plan"] = text_of(self._message.get("tool_plan")) + text
                return [TextDelta(text=text)] if text else []
            case "tool-call-start":
                return self._start(index, object_of(message.get("tool_calls")))
            case "tool-call-delta" if index in self._positions:
                return self._add(self._positions[index], object_of(message.get("tool_calls")))
            case "citation-start":
                self._citations.append(copied(message.get("citations")))
            case "message-end":
                failed = {"finish_reason": "ERROR"} if delta.get("error") else {}
                self._end = {**delta, **failed}
            case _:  # the ends of items, calls and citations; `debug`; what is still to be invented
                pass
        return []

    def end(self) -> ModelTurn:
        """The whole answer."""
        parts = {"content": self._content, "tool_calls": self._calls, "citations": self._citations}
        message = {**self._message, **{key: part for key, part in parts.items() if part}}
        word = text_of(self._end.get("finish_reason"))
        return self._finish(message, word, self._end.get("usage"), self._export, broken=not word)

    def _say(self, item: dict[str, Any], piece: Mapping[str, Any]) -> list[Delta]:
        """Adds a piece of text or thinking to a content item."""
        deltas: list[Delta] = []
        for key, value in piece.items():
            if key not in _TEXTS or not isinstance(value, str):
                item[key] = copied(value)
                continue
            item[key] = text_of(item.get(key)) + value
            if value:
                deltas.append(TextDelta(text=value) if key == "text" else ReasoningDelta(text=value))
        return deltas

    def _start(self, index: Any, written: Mapping[str, Any]) -> list[Delta]:
        call = copied(dict(written))
        position = self._positions[index] = len(self._calls)
        self._calls.append(call)
        function = object_of(call.get("function"))
        name, text = text_of(function.get("name")), text_of(function.get("arguments"))
        if not name:
            return []
        found = resolve(name, self._export.wire_names)
        deltas: list[Delta] = [CallDelta(position=position, id=text_of(call.get("id")), name=found)]
        return [*deltas, ArgumentsDelta(position=position, text=text)] if text else deltas

    def _add(self, position: int, written: Mapping[str, Any]) -> list[Delta]:
        call = self._calls[position]
        text = text_of(object_of(written.get("function")).get("arguments"))
        function = object_of(call.get("function"))
        call["function"] = {**function, "arguments": text_of(function.get("arguments")) + text}
        return [ArgumentsDelta(position=position, text=text)] if text and function.get("name") else []
