"""Streams of `gemini`: each event is a whole response with a piece of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..arguments import as_given, as_text
from ..export import Export
from ..json_value import list_of_objects, object_of, text_of
from ..message import ArgumentsDelta, CallDelta, Delta, ModelTurn, ReasoningDelta, TextDelta
from ..offering.names import resolve
from .gemini_parts import Parts


class Finish(Protocol):
    """Makes the turn of a whole answer, the same for a streamed one and one that came whole."""

    def __call__(
        self, parts: Parts, word: str, response: Mapping[str, Any], export: Export, *, broken: bool
    ) -> ModelTurn:
        """Args: the parts, why it ended, what else was said, the export, and whether the stream broke off."""
        ...


class GenerateFold:
    """Folds the events of one answer. Each candidate is kept apart."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._candidates: dict[int, _Candidate] = {}
        self._said: dict[str, dict[str, Any]] = {"usageMetadata": {}, "promptFeedback": {}}
        self._failed = ""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one response of the stream."""
        for key, said in self._said.items():  # the counts are those up to here; a later one may leave some out
            said.update({name: value for name, value in object_of(event.get(key)).items() if value is not None})
        if event.get("error"):  # the answer ends here, whatever has come
            self._failed = text_of(object_of(event["error"]).get("status")) or "error"
        deltas: list[Delta] = []
        for written in list_of_objects(event.get("candidates")):
            index = written.get("index")
            candidate = self._candidates.setdefault(index if isinstance(index, int) else 0, _Candidate())
            deltas.extend(candidate.feed(written, self._export.wire_names))
        return deltas

    def end(self) -> ModelTurn:
        """The whole answer: the first candidate that calls a tool, else the first."""
        ordered = [one for _, one in sorted(self._candidates.items())] or [_Candidate()]
        chosen = next((one for one in ordered if one.parts.calls), ordered[0])
        ended = chosen.word or self._said["promptFeedback"].get("blockReason")
        word = self._failed or chosen.word
        return self._finish(chosen.parts, word, self._said, self._export, broken=bool(self._failed) or not ended)


class _Candidate:
    """One candidate as far as it has come."""

    def __init__(self) -> None:
        self.parts = Parts()
        self.word = ""
        self._announced = 0
        self._shown = 0

    def feed(self, written: Mapping[str, Any], wire_names: Mapping[str, str]) -> list[Delta]:
        self.word = text_of(written.get("finishReason")) or self.word
        deltas: list[Delta] = []
        for part in list_of_objects(object_of(written.get("content")).get("parts")):
            new = self.parts.add([part])
            if part.get("functionCall") is not None:
                deltas.extend(self._called(wire_names))
            for one in new:
                text = text_of(one.get("text"))
                if text:
                    deltas.append(ReasoningDelta(text=text) if one.get("thought") else TextDelta(text=text))
        return deltas

    def _called(self, wire_names: Mapping[str, str]) -> list[Delta]:
        """The newest call once it has a name, and its arguments once they are whole."""
        deltas: list[Delta] = []
        position, call = len(self.parts.calls) - 1, self.parts.calls[-1]
        name = text_of(call.get("name"))
        if name and self._announced == position:
            self._announced = position + 1
            deltas.append(CallDelta(position=position, id=text_of(call.get("id")), name=resolve(name, wire_names)))
        if self.parts.open is None and name and self._shown == position:
            self._shown = position + 1
            given = as_given(call.get("args"))
            deltas.append(ArgumentsDelta(position=position, text=given if isinstance(given, str) else as_text(given)))
        return deltas
