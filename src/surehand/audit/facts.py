"""Reads facts of a record that may be older or newer than this package: what is missing or odd is empty."""

from __future__ import annotations

from typing import Any, cast


def text_of(facts: dict[str, Any], name: str) -> str:
    """A text, or the empty one."""
    value = facts.get(name)
    return value if isinstance(value, str) else ""


def number_of(facts: dict[str, Any], name: str) -> int:
    """A whole number, or 0."""
    value = facts.get(name)
    return value if isinstance(value, int) else 0


def mapping_of(value: object) -> dict[str, Any]:
    """An object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """A list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def texts_of(value: object) -> tuple[str, ...]:
    """The members of a list as texts."""
    return tuple(str(item) for item in list_of(value))
