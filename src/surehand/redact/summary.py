"""Cuts a value to a summary that is bounded in every direction and says how much it left out."""

from __future__ import annotations

import re

import orjson

from surehand.types import Json

MAX_CHARS = 64
"""Of a string or a name."""
MAX_MEMBERS = 16
"""Of an object or array; of the outermost object twice as many."""
MAX_DEPTH = 5
MAX_BYTES = 2048
"""Of the whole, as JSON."""

MORE = "[more]"
_OVERHEAD = 24
"""What a container takes besides its members: brackets, and the note of what was left out."""
_LONE = re.compile("[\ud800-\udfff]")


class Summary:
    """Makes one summary within a budget of bytes.

    An argument gets at most half of what is left, so that a long one never crowds out those after it.
    """

    def of(self, value: dict[str, Json]) -> dict[str, Json]:
        """The summary of an object, at most `MAX_BYTES` of JSON."""
        return self._object(value, MAX_BYTES, 2 * MAX_MEMBERS, 1)[0]

    def _member(self, value: Json, room: int, depth: int) -> tuple[Json, int] | None:
        """What is shown and its bytes, or `None` if there is no room for it."""
        if isinstance(value, dict | list):
            if depth >= MAX_DEPTH:
                kind = "member" if isinstance(value, dict) else "item"
                return self._member(f"[{len(value)} {kind}{'' if len(value) == 1 else 's'}]", room, depth)
            share = room // 2 if depth == 1 else room * 3 // 4
            if share < 2 * _OVERHEAD:
                return None
            if isinstance(value, dict):
                return self._object(value, share, MAX_MEMBERS, depth + 1)
            return self._array(value, share, depth + 1)
        shown = _scalar(value)
        size = len(_dumps(shown))
        return (shown, size) if size <= room else None

    def _object(self, value: dict[str, Json], room: int, most: int, depth: int) -> tuple[dict[str, Json], int]:
        result: dict[str, Json] = {}
        used = _OVERHEAD
        left = max(0, len(value) - most)
        for name, member in list(value.items())[:most]:
            shown_name = _cut(name)
            while shown_name in result or shown_name == MORE:
                shown_name += "'"
            extra = len(_dumps(shown_name)) + 2
            shown = self._member(member, room - used - extra, depth)
            if shown is None:
                left += 1
                continue
            result[shown_name] = shown[0]
            used += extra + shown[1]
        if left:
            result[MORE] = left
        return result, used

    def _array(self, value: list[Json], room: int, depth: int) -> tuple[list[Json], int]:
        result: list[Json] = []
        used = _OVERHEAD
        left = max(0, len(value) - MAX_MEMBERS)
        for member in value[:MAX_MEMBERS]:
            shown = self._member(member, room - used - 1, depth)
            if shown is None:
                left += 1
                continue
            result.append(shown[0])
            used += 1 + shown[1]
        if left:
            result.append(f"[{left} more]")
        return result, used


def _scalar(value: str | int | float | bool | None) -> str | int | bool | None:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return _cut(hex(value))
    return value


def _cut(text: str) -> str:
    text = _LONE.sub("\ufffd", text) if not text.isascii() else text
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}[+{len(text) - MAX_CHARS} characters]"


def _dumps(value: str | int | bool | None) -> bytes:
    return orjson.dumps(value)
