"""Reading JSON that a server sent: what is not of the expected type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

_LEVELS: Final = 160
"""More than arguments may have and than any answer has, and few enough for whatever walks it."""


def text_of(value: Any) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of_objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def place_of(value: Any) -> int | str | None:
    """What a part of an answer is counted or known by, or nothing."""
    return value if isinstance(value, int | str) else None


def whole_number(value: Any) -> int:
    """A count, or 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def copied(value: Any, levels: int = _LEVELS) -> Any:
    """A copy of a JSON value. What is nested without end is cut off; arguments that it was in stay too deep to run."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {key: copied(one, levels - 1) for key, one in given.items()} if levels else None
    if isinstance(value, list):
        return [copied(one, levels - 1) for one in cast("list[Any]", value)] if levels else None
    return value
