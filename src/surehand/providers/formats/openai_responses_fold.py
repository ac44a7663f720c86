"""Streams of `openai-responses`: the items of an answer put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from ..export import Export
from ..json_value import copied, list_of_objects, object_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve

_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_PARTS: Final[dict[str, tuple[str, str, str, str]]] = {
    "response.output_text": ("content", "content_index", "output_text", "text"),
    "response.refusal": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text": ("content", "content_index", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_index", "summary_text", "text"),
}
"""What a `.delta` or `.done` adds to: the list of parts in the item, the part's place, its type, and its text."""


class Finish(Protocol):
    """Makes the turn of a whole response, the same for a streamed one and one that came whole."""

    def __call__(self, response: Mapping[str, Any], export: Export, *, broken: bool) -> ModelTurn:
        """Args: the response, the export, and whether the stream broke off."""
        ...


class ResponsesFold:
    """Folds the events of one answer."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._items: list[_Item] = []
        self._calls = 0
        self._last: dict[str, Any] = {}
        """The response as the last event gave it."""
        self._ended = False

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one event."""
        kind = text_of(event.get("type"))
        if kind in _ENDS:
            self._last, self._ended = object_of(event.get("response")), True
        elif kind == "error":  # the answer ends here, whatever has come
            code = text_of(event.get("code")) or text_of(object_of(event.get("error")).get("code"))
            self._last, self._ended = {"status": "failed", "error": {"code": code or "error"}}, True
        elif kind == "response.output_item.added":
            return self._shown(self._start(event))
        elif (item := self._find(event)) is not None:
            item.add(kind, event)
            return self._shown(item)
        elif kind == "response.output_item.done":
            return self._shown(self._start(event))
        return []  # `response.created`, `keepalive`, and what is still to be invented

    def end(self) -> ModelTurn:
        """The whole answer. Some servers leave out of the last event what they have streamed before it."""
        output: Any = list_of_objects(self._last.get("output")) or [item.written for item in self._items]
        return self._finish({**self._last, "output": output}, self._export, broken=not self._ended)

    def _start(self, event: Mapping[str, Any]) -> _Item:
        item = _Item(event)
        if item.kind == "function_call":
            item.position, self._calls = self._calls, self._calls + 1
        self._items.append(item)
        return item

    def _find(self, event: Mapping[str, Any]) -> _Item | None:
        """The item of an event: by its id, or by its place, since some servers give an item another id each time."""
        wanted = event.get("item_id") or object_of(event.get("item")).get("id")
        place = event.get("output_index")
        found = next((one for one in reversed(self._items) if wanted and one.id == wanted), None)
        if found is not None or place is None:
            return found
        found = next((one for one in reversed(self._items) if one.place == place), None)
        return None if found is None or found.is_done else found  # the next one under the same place is another

    def _shown(self, item: _Item) -> list[Delta]:
        return list(item.fresh(self._export.wire_names))


class _Item:
    """An item as far as it has come."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.written = copied(object_of(event.get("item")))
        self.place = event.get("output_index")
        self.is_done = event.get("type") == "response.output_item.done"
        self.position = 0
        """Of a call among the calls."""
        self._announced = False
        self._told: dict[tuple[str, int], int] = {}
        """Of each text how many characters were shown."""
        if not self.is_done:
            self.written.pop("encrypted_content", None)  # (S) it may be incomplete until the item is done

    @property
    def id(self) -> str:
        return text_of(self.written.get("id"))

    @property
    def kind(self) -> str:
        return text_of(self.written.get("type"))

    def add(self, kind: str, event: Mapping[str, Any]) -> None:
        """Takes what an event brings: a piece, a whole text, a part, or the whole item."""
        what, _, how = kind.rpartition(".")
        if kind == "response.output_item.done":
            self.written, self.is_done = copied(object_of(event.get("item"))), True
        elif what == "response.function_call_arguments":
            _put(self.written, "arguments", how, event)
        elif what in _PARTS:
            parts, index, part_type, text = _PARTS[what]
            _put(self._part(parts, event.get(index), part_type), text, how, event)
        elif kind == "response.content_part.added":
            part = object_of(event.get("part"))
            self._part("content", event.get("content_index"), text_of(part.get("type"))).update(copied(part))

    def _part(self, parts: str, index: Any, part_type: str) -> dict[str, Any]:
        listed = list_of_objects(self.written.get(parts))
        self.written[parts] = listed
        place = index if isinstance(index, int) and index >= 0 else 0
        if place >= len(listed):
            extra: dict[str, Any] = {"annotations": []} if part_type == "output_text" else {}
            listed.append({"type": part_type, **extra})
        return listed[min(place, len(listed) - 1)]

    def fresh(self, wire_names: Mapping[str, str]) -> Iterator[Delta]:
        """What has not been shown yet."""
        if self.kind == "function_call":
            yield from self._fresh_call(wire_names)
        elif self.kind == "message":
            for index, part in enumerate(list_of_objects(self.written.get("content"))):
                if text := self._rest("content", index, part.get("text")):
                    yield TextDelta(text=text)
        elif self.kind == "reasoning":
            parts = "summary" if self.written.get("summary") else "content"
            for index, part in enumerate(list_of_objects(self.written.get(parts))):
                if text := self._rest(parts, index, part.get("text")):
                    yield ReasoningDelta(text=text)

    def _fresh_call(self, wire_names: Mapping[str, str]) -> Iterator[Delta]:
        name = text_of(self.written.get("name"))
        if name and not self._announced:
            self._announced = True
            found = resolve(name, wire_names)
            yield CallDelta(position=self.position, id=text_of(self.written.get("call_id")), name=found)
        if self._announced and (text := self._rest("arguments", 0, self.written.get("arguments"))):
            yield ArgumentsDelta(position=self.position, text=text)

    def _rest(self, of: str, index: int, text: Any) -> str:
        whole, told = text_of(text), self._told.get((of, index), 0)
        self._told[of, index] = max(told, len(whole))
        return whole[told:]


def _put(into: dict[str, Any], key: str, how: str, event: Mapping[str, Any]) -> None:
    """Adds a piece to a text, or sets the whole of it."""
    if how == "delta":
        into[key] = text_of(into.get(key)) + text_of(event.get("delta"))
    elif how == "done" and isinstance(event.get(key), str):
        into[key] = event[key]
