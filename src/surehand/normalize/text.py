"""Text for the model: never empty, never too long. And text for people: a tool's display template, filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DISPLAY_VALUE_CHARS = 60


def cap(text: str, limit: int, *, reference: str) -> str:
    """Head and tail of a text that is too long, with a mark that says what is missing and where it is."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    mark = f"[... {left_out} characters left out; the whole text is artifact {reference} ...]"
    return f"{text[:head]}\n{mark}\n{text[-tail:]}"


def display(template: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Fills `{argument}` fields; a missing argument leaves nothing. Without a template: the tool's name."""
    if not template:
        return name

    def value(match: re.Match[str]) -> str:
        found = arguments.get(match[1])
        text = "" if found is None else str(found)
        return text if len(text) <= _DISPLAY_VALUE_CHARS else text[: _DISPLAY_VALUE_CHARS - 3] + "..."

    return " ".join(_FIELD.sub(value, template).split())
