"""One way to turn a JSON value into bytes, and bytes into a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def canonical_json(value: Any) -> bytes:
    """Sorted, compact UTF-8 JSON.

    Byte for byte RFC 8785 for strings, booleans, null and integers below 2**53 with keys inside the BMP
    (checked against `rfc8785` in the tests); floats are written as the shortest text that reads back equal.
    Integers beyond 64 bits are written in decimal.

    Raises:
        TypeError: Not a JSON value.
    """
    try:
        return orjson.dumps(value, _mapping, orjson.OPT_SORT_KEYS)
    except TypeError:
        return orjson.dumps(_big(value), _mapping, orjson.OPT_SORT_KEYS)


def _big(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else orjson.Fragment(str(value))
    if isinstance(value, Mapping):
        return {k: _big(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_big(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def content_hash(value: Any) -> str:
    """The sha256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
