"""Arguments of a call as JSON: what a provider surely reads when they are sent back."""

from __future__ import annotations

import json
import math
from typing import Any, Final, cast

import jiter

_SHOWN: Final = 1000


def is_blank(text: str) -> bool:
    """Whether the text means no arguments."""
    return text.strip() in ("", "null")


def as_given(value: Any) -> dict[str, Any] | str:
    """Arguments as a provider gave them: an object, or text, empty if it means none.

    What is neither, and an object that holds what JSON cannot say, becomes text: as it was written, to be refused.
    """
    if isinstance(value, dict) and _is_finite(value):
        return cast("dict[str, Any]", value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "" if is_blank(text) else text


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_finite(one) for one in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_finite(one) for one in cast("list[Any]", value))
    return not isinstance(value, float) or math.isfinite(value)


def as_object(arguments: dict[str, Any] | str) -> dict[str, Any] | None:
    """The arguments as an object that any provider reads, or `None` if they are not one."""
    value: Any = arguments
    try:
        if isinstance(value, str):
            value = {} if is_blank(value) else jiter.from_json(value.encode())
        as_text(value)  # refuses what Python's JSON alone would read: infinities, lone surrogates
    except (ValueError, TypeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_text(value: Any) -> str:
    """A JSON value as text, its keys in their order.

    Raises:
        ValueError: It holds an infinity, NaN or a lone surrogate.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text.encode()
    return text


def with_arguments(content: str, arguments: dict[str, Any] | str) -> str:
    """A result's text with arguments that could not be sent back beside it, as far as the model needs them."""
    written = arguments if isinstance(arguments, str) else str(arguments)
    shown = written if len(written) <= _SHOWN else written[:_SHOWN] + "..."
    shown = shown.encode(errors="replace").decode()
    return f"{content}\n\nThe arguments, as they were written: {shown}"
