"""Streams of `text`: shows text as soon as it can be no part of a block, and a call when its block is closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...call import ToolCall
from ..export import Export
from ..json_value import list_of_objects, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from .openai_chat_fold import ChatFold, Finish
from .text_blocks import Block, Piece, Scanner


class TextFold:
    """Folds the chunks of one answer: those of Chat Completions, which put the message together."""

    def __init__(self, export: Export, finish: Finish, read: Callable[[Block, Export], ToolCall]) -> None:
        self._export = export
        self._read = read
        self._chunks = ChatFold(export, finish)
        self._scanner = Scanner()
        self._position = 0

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one chunk."""
        deltas: list[Delta] = []
        for delta in self._chunks.feed(event):
            if isinstance(delta, TextDelta):
                deltas.extend(self._shown(self._scanner.feed(delta.text)))
            elif isinstance(delta, ReasoningDelta):
                deltas.append(delta)
        if any(text_of(choice.get("finish_reason")) for choice in list_of_objects(event.get("choices"))):
            deltas.extend(self._shown(self._scanner.end()))
        return deltas

    def end(self) -> ModelTurn:
        """The whole answer."""
        return self._chunks.end()

    def _shown(self, pieces: list[Piece]) -> list[Delta]:
        deltas: list[Delta] = []
        for piece in pieces:
            if isinstance(piece, str):
                deltas.append(TextDelta(text=piece))
                continue
            call = self._read(piece, self._export)
            written = call.arguments
            text = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
            if call.name:
                deltas.append(CallDelta(position=self._position, id=call.id, name=call.name))
                deltas.append(ArgumentsDelta(position=self._position, text=text))
            self._position += 1
        return deltas
