"""Parts of a Gemini answer put together: pieces of text, and calls whose arguments arrive one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, cast

from ..json_value import copied, list_of_objects, object_of, text_of

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_DIGITS: Final = 9
"""Of an index: Python reads no number of thousands of them."""
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class Parts:
    """The parts of one candidate. The same however they were cut into chunks."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self.open: dict[str, Any] | None = None
        """The call of which more arrives."""
        self.calls: list[dict[str, Any]] = []
        """The calls among them."""

    def add(self, parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Takes parts; gives what is new of them: text, and calls that are complete."""
        return [found for part in parts if (found := self._take(part)) is not None]

    def _take(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        part = {key: copied(value) for key, value in given.items() if value is not None}
        if "functionCall" in part:
            return self._call(part)
        if not part.get("text") and part.keys() <= {"text", "thought"}:
            return None
        last = self.parts[-1] if self.parts else {}
        if _is_plain(part) and _is_plain(last) and part.get("thought", False) == last.get("thought", False):
            last["text"] += part["text"]  # a signature belongs to its part: one that has any is left as it is
            return part
        self.parts.append(part)
        return part

    def _call(self, part: dict[str, Any]) -> dict[str, Any] | None:
        """(S) FunctionCall.partialArgs and .willContinue: a call in pieces, of which only the first has a name."""
        piece = {key: value for key, value in object_of(part["functionCall"]).items() if value is not None}
        pieces, goes_on = list_of_objects(piece.pop("partialArgs", None)), bool(piece.pop("willContinue", False))
        if self.open is not None and not piece.get("name"):
            whole = self.open
            whole.update({key: value for key, value in part.items() if key != "functionCall"})
            call = object_of(whole["functionCall"])
            call.update(piece)
        else:
            whole, call = {**part, "functionCall": piece}, piece
            self.parts.append(whole)
            self.calls.append(call)
        for one in pieces:
            arguments = call.setdefault("args", {})
            if not isinstance(arguments, dict) or not _put(cast("dict[str, Any]", arguments), one):
                call["args"] = json.dumps([arguments, one])  # no object: whoever reads it refuses it
        self.open = whole if goes_on else None
        return None if goes_on else whole


def _is_plain(part: Mapping[str, Any]) -> bool:
    """Whether a part is text and no more."""
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _put(arguments: dict[str, Any], piece: Mapping[str, Any]) -> bool:
    """Puts a piece of arguments where its path says. Text that continues grows. False if it has no place."""
    found = _STEP.findall(text_of(piece.get("jsonPath")))
    if any(len(index) > _DIGITS for _, index, _, _ in found):
        return False
    steps: list[int | str] = [
        int(index) if index else re.sub(r"\\(.)", r"\1", name or single or double)
        for name, index, single, double in found
    ]
    key = next((one for one in _VALUES if one in piece), None)
    if not steps or key is None:
        return False
    value = None if key == "nullValue" else piece[key]
    here: Any = arguments
    for step, following in pairwise(steps):
        if not _has(here, step) and not _add(here, step, [] if isinstance(following, int) else {}):
            return False
        here = here[step]
    last = steps[-1]
    if not _has(here, last):
        return _add(here, last, value)
    if not isinstance(here[last], str) or not isinstance(value, str):
        return False
    here[last] += value
    return True


def _has(holder: Any, step: int | str) -> bool:
    if isinstance(step, int):
        return isinstance(holder, list) and step < len(cast("list[Any]", holder))
    return isinstance(holder, dict) and step in holder


def _add(holder: Any, step: int | str, value: Any) -> bool:
    """Adds a member, or the next item."""
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
    elif isinstance(holder, list) and step == len(cast("list[Any]", holder)):
        cast("list[Any]", holder).append(value)
    else:
        return False
    return True
