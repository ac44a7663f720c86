"""Bytes in messages: kept as marked base64 text where JSON is stored, and bytes again when they go back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, cast

_MARK: Final = "$base64"


def as_json(value: Any) -> Any:
    """A copy that JSON can hold: bytes become an object with their base64 text."""
    if isinstance(value, bytes | bytearray):
        return {_MARK: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in cast("list[Any]", value)]
    return value


def as_bytes(value: Any, free: frozenset[str]) -> Any:
    """A copy with the bytes again.

    Args:
        value: What `as_json` gave.
        free: Keys under which anything may stand, such as the arguments of a call: nothing in them is a mark.
    """
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        if given.keys() == {_MARK}:
            return marked(given)
        return {key: one if key in free else as_bytes(one, free) for key, one in given.items()}
    if isinstance(value, list):
        return [as_bytes(one, free) for one in cast("list[Any]", value)]
    return value


def marked(value: Any) -> bytes:
    """The bytes of one mark, or those that were never marked; none if it is neither."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    text = cast("dict[str, Any]", value).get(_MARK) if isinstance(value, dict) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""
