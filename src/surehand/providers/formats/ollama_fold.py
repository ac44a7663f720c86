"""Streams of `ollama`: chunks with pieces of text and whole calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from ..arguments import as_given
from ..export import Export
from ..json_value import list_of_objects, object_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve
from .openai_chat_fold import merge


class Finish(Protocol):
    """Makes the turn of a whole message, the same for a streamed one and one that came whole."""

    def __call__(self, message: Any, end: Mapping[str, Any], export: Export, *, broken: bool) -> ModelTurn:
        """Args: the message, the chunk that says why it ended, the export, and whether the stream broke off."""
        ...


class ChunksFold:
    """Folds the chunks of one answer."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._message: dict[str, Any] = {}
        self._end: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one chunk."""
        if event.get("error"):  # the answer ends here, whatever has come
            self._end = {"done_reason": "error"}
            return []
        if event.get("done") is True:
            self._end = dict(event)
        piece = object_of(event.get("message"))
        position = len(list_of_objects(self._message.get("tool_calls")))
        merge(self._message, piece)
        thinking, text = text_of(piece.get("thinking")), text_of(piece.get("content"))
        deltas: list[Delta] = [ReasoningDelta(text=thinking)] if thinking else []
        deltas += [TextDelta(text=text)] if text else []
        for call in list_of_objects(piece.get("tool_calls")):
            deltas.extend(self._shown(call, position))
            position += 1
        return deltas

    def end(self) -> ModelTurn:
        """The whole answer."""
        return self._finish(self._message, self._end, self._export, broken=not self._end)

    def _shown(self, call: Mapping[str, Any], position: int) -> list[Delta]:
        function = object_of(call.get("function"))
        name = text_of(function.get("name"))
        if not name:
            return []
        written = as_given(function.get("arguments"))
        text = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
        found = resolve(name, self._export.wire_names)
        deltas: list[Delta] = [CallDelta(position=position, id=text_of(call.get("id")), name=found)]
        return [*deltas, ArgumentsDelta(position=position, text=text)] if text else deltas
