"""Reading JSON that a server sent: what is not of the expected type counts as absent."""

from __future__ import annotations

from typing import Any, cast


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


def whole_number(value: Any) -> int:
    """A count, or 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
