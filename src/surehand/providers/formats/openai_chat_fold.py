"""Streams of `openai-chat`: the pieces of a message put together, from servers that number calls badly too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from ..arguments import as_object, is_blank
from ..export import Export
from ..json_value import copied, list_of_objects, object_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve
from .openai_chat_content import joined, spoken, thought


class Finish(Protocol):
    """Makes the turn of a whole message, the same for a streamed one and one that came whole."""

    def __call__(self, message: Any, word: str, usage: Any, export: Export, *, broken: bool) -> ModelTurn:
        """Args: the message, the finish reason, the usage, the export, and whether the stream broke off."""
        ...


class ChatFold:
    """Folds the chunks of one answer. Each choice is kept apart."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None
        self._failed = ""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one chunk."""
        if isinstance(event.get("usage"), dict):  # with `include_usage`, the last chunk has it and no choice
            self._usage = event["usage"]
        if event.get("error"):  # some gateways send an error as an event and end the stream
            self._failed = "error"
        deltas: list[Delta] = []
        for written in list_of_objects(event.get("choices")):
            index = written.get("index")
            choice = self._choices.setdefault(index if isinstance(index, int) else 0, _Choice())
            deltas.extend(choice.feed(written, self._export.wire_names))
        return deltas

    def end(self) -> ModelTurn:
        """The whole answer: the first choice that calls a tool, else the first."""
        ordered = [choice for _, choice in sorted(self._choices.items())] or [_Choice()]
        choice = next((one for one in ordered if one.calls or "function_call" in one.message), ordered[0])
        word = self._failed or choice.word
        broken = not word
        return self._finish(choice.whole(), word, self._usage, self._export, broken=broken)


class _Call:
    """A call of which pieces arrive."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.written: dict[str, Any] = {}
        self.announced = False
        self.shown = 0
        """How many characters of its arguments were shown."""

    @property
    def id(self) -> str:
        return text_of(self.written.get("id"))

    @property
    def function(self) -> dict[str, Any]:
        return object_of(self.written.get("function"))

    @property
    def finished(self) -> bool:
        """Whether its arguments are one whole object, so that what comes next is another call."""
        arguments = text_of(self.function.get("arguments"))
        return not is_blank(arguments) and as_object(arguments) is not None

    def add(self, piece: Mapping[str, Any]) -> None:
        function = dict(object_of(piece.get("function")))
        began = piece.get("id") or self.function.get("arguments")
        if began and function.get("name") == self.function.get("name"):
            function.pop("name", None)  # some servers repeat the whole name with every piece
        rest = {key: value for key, value in piece.items() if key not in ("index", "function", "id")}
        if piece.get("id"):
            rest["id"] = piece["id"]
        merge(self.written, {**rest, "function": function})


class _Choice:
    """One choice's message as far as it has come."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.calls: list[_Call] = []
        self.word = ""

    def whole(self) -> dict[str, Any]:
        return {**self.message, "tool_calls": [call.written for call in self.calls]} if self.calls else self.message

    def feed(self, written: Mapping[str, Any], wire_names: Mapping[str, str]) -> list[Delta]:
        delta = dict(object_of(written.get("delta")))
        pieces = list_of_objects(delta.pop("tool_calls", None))
        content = delta.get("content")
        text = spoken(content)
        if isinstance(content, list) or isinstance(self.message.get("content"), list):
            self.message["content"] = joined(self.message.get("content"), delta.pop("content", None))
        merge(self.message, delta)
        for piece in pieces:
            self._call_of(piece).add(piece)
        self.word = text_of(written.get("finish_reason")) or self.word
        reasoning = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")) or thought(content)
        deltas: list[Delta] = [ReasoningDelta(text=reasoning)] if reasoning else []
        deltas += [TextDelta(text=text)] if text else []
        deltas.extend(self._announced(wire_names))
        return deltas

    def _call_of(self, piece: Mapping[str, Any]) -> _Call:
        """The call that a piece belongs to: an id decides, then the index, then whether the newest call is whole."""
        index = piece.get("index")
        number = index if isinstance(index, int) else None
        same = [call for call in self.calls if number is None or call.index == number]
        call_id = text_of(piece.get("id"))
        found = next((call for call in reversed(same) if call_id and call.id == call_id), None)
        if found is None and same and (not call_id or not same[-1].id):
            found = same[-1]
        if found is None or _starts_another(found, piece):
            found = _Call(number)
            self.calls.append(found)
        return found

    def _announced(self, wire_names: Mapping[str, str]) -> list[Delta]:
        """The calls whose name is whole by now: their arguments have begun, another has, or the answer is over."""
        deltas: list[Delta] = []
        for position, call in enumerate(self.calls):
            name = text_of(call.function.get("name"))
            is_over = bool(self.word) or position < len(self.calls) - 1 or bool(call.function.get("arguments"))
            if name and is_over and not call.announced:
                call.announced = True
                deltas.append(CallDelta(position=position, id=call.id, name=resolve(name, wire_names)))
            written = text_of(call.function.get("arguments"))
            if call.announced and len(written) > call.shown:
                deltas.append(ArgumentsDelta(position=position, text=written[call.shown :]))
                call.shown = len(written)
        return deltas


def _starts_another(call: _Call, piece: Mapping[str, Any]) -> bool:
    """Whether a piece with a name and arguments comes after a call that is whole already."""
    function = object_of(piece.get("function"))
    return bool(text_of(function.get("name")) and function.get("arguments")) and call.finished


def merge(into: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Adds a piece of an object: texts and lists grow, objects merge, anything else is replaced.

    Unknown fields too, such as `reasoning_content`: a provider may want them back.
    """
    for key, value in piece.items():
        before = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif isinstance(before, str) and isinstance(value, str) and key not in ("role", "type", "id"):
            into[key] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            into[key] = [*cast("list[Any]", before), *copied(cast("list[Any]", value))]
        elif isinstance(before, dict) and isinstance(value, dict):
            merge(cast("dict[str, Any]", before), cast("dict[str, Any]", value))
        else:
            into[key] = copied(value)
