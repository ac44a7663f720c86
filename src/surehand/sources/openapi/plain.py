"""What a description holds, with types: it is somebody else's text, and any part of it may be anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

Node: TypeAlias = dict[str, Any]


def node(value: object) -> Node:
    """An object; empty if it is none."""
    return cast("Node", value) if isinstance(value, dict) else {}


def items(value: object) -> Sequence[Any]:
    """A list; empty if it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else ()


def text(value: object) -> str:
    """A text; empty if it is none."""
    return value if isinstance(value, str) else ""
