"""Stage 2 of a call: strict JSON, bounded in size and depth. Nothing is repaired unless somebody asks for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

import jiter

from ..errors import Code
from ..spec.hashes import canonical_json
from .loose import tighten

Strictness: TypeAlias = Literal["strict", "exact", "lenient"]
"""What may be done to arguments: nothing; exact coercions; these, and reading loose text."""

FORBIDDEN_KEYS: Final = frozenset({"__entity", "__extn"})
"""In a policy's context these would forge an entity or an extension value."""

_NEAR_CHARS: Final = 20
_CHECKED: Final[frozenset[type]] = frozenset({dict, list, float})
_MAX_BITS: Final = 14_000
"""Of an integer; Python writes none of more than 4,300 digits, and the parser reads none."""
_NUMBER: Final = "arguments hold a number that is infinite, not a number, or too large; send a finite number"
_AT = re.compile(r" at line (\d+) column (\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentLimits:
    """How large the arguments of one call may be."""

    max_bytes: int = 256 * 1024
    max_depth: int = 64
    """The arguments object itself is level 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseFailure:
    """Why arguments could not be read. A value, never raised."""

    code: Code
    """`ARGUMENTS_NOT_JSON`, `ARGUMENTS_TRUNCATED` or `TOOL_ARGUMENT_INVALID`."""
    message: str
    """For the model: where it went wrong, what stands there, and what to send instead."""


class _Refused(Exception):
    """A value is JSON but not acceptable."""


class _TooLarge(Exception):
    """A value has more bytes than it may."""


DEFAULT_LIMITS: Final = ArgumentLimits()


def parse_arguments(
    arguments: str | dict[str, Any] | None, *, limits: ArgumentLimits = DEFAULT_LIMITS
) -> dict[str, Any] | ParseFailure:
    """Reads arguments as a model wrote them.

    Empty text, white space, `null` and `None` mean no arguments. Refused are: anything after the object, duplicate
    keys, NaN and infinities (`1e400` too), lone surrogates, a BOM, keys that could forge policy entities, and what
    exceeds the limits.

    Args:
        arguments: JSON text, or an object of exact JSON types; the object is copied.
        limits: The largest accepted.
    """
    if not isinstance(arguments, str):
        return _admit_object({} if arguments is None else arguments, limits)
    stripped = arguments.strip(" \t\r\n")
    if not stripped or stripped == "null":
        return {}
    if len(arguments) > limits.max_bytes:
        return _too_large(limits)
    try:
        data = arguments.encode()
    except UnicodeEncodeError as error:
        return _not_json("it has a lone surrogate, which no JSON text can hold", arguments, error.start)
    if len(data) > limits.max_bytes:
        return _too_large(limits)
    return _read(data, arguments, limits, lambda position: position)


def parse_lenient(
    arguments: str | dict[str, Any] | None, *, limits: ArgumentLimits = DEFAULT_LIMITS
) -> tuple[dict[str, Any] | ParseFailure, tuple[str, ...]]:
    """Like `parse_arguments`, but text that it does not take for JSON may be spelled more loosely.

    Read are Python's `True`, `False` and `None`, strings in single quotes, Python's escapes, line breaks and tabs in
    strings, and one comma after the last member. Everything else stays refused, as it is in JSON: text that was cut
    off, several objects, equal keys, NaN, comments, names without quotes. No text is ever run.

    Args:
        arguments: As for `parse_arguments`. What that reads, this reads alike.
        limits: The largest accepted; of text, as it was written.

    Returns:
        The arguments, and in words what was loose in them; or why they cannot be read.
    """
    strict = parse_arguments(arguments, limits=limits)
    if isinstance(strict, dict) or strict.code != "ARGUMENTS_NOT_JSON" or not isinstance(arguments, str):
        return strict, ()
    tight = tighten(arguments)
    try:
        data = tight.text.encode()
    except UnicodeEncodeError:
        return strict, ()
    if not tight.liberties:
        return strict, ()
    read = _read(data, arguments, limits, tight.origin)
    return read, tight.liberties if isinstance(read, dict) else ()


def _read(
    data: bytes, text: str, limits: ArgumentLimits, origin: Callable[[int], int]
) -> dict[str, Any] | ParseFailure:
    """Reads JSON.

    Args:
        data: The JSON text.
        text: As it was written, for messages.
        limits: The largest accepted.
        origin: Where in `text` a character of `data` comes from.
    """
    try:
        value = jiter.from_json(data, catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as error:
        return _explain(str(error), text, origin(_position(str(error), data)), limits)
    if not isinstance(value, dict):
        return ParseFailure(
            code="TOOL_ARGUMENT_INVALID", message=f"arguments must be one JSON object, not {_near(text, 0)}"
        )
    try:
        _check(value, limits.max_depth)
    except _Refused as error:
        return ParseFailure(code="TOOL_ARGUMENT_INVALID", message=str(error))
    return cast("dict[str, Any]", value)


def parse_json(text: str, max_depth: int = DEFAULT_LIMITS.max_depth) -> Any:
    """Any JSON value under the same rules.

    Raises:
        ValueError: The text is not strict JSON, or holds what arguments may not hold.
    """
    value = jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
    try:
        if type(value) in _CHECKED:
            _check(value, max_depth)
    except _Refused as error:
        raise ValueError(str(error)) from None
    return value


def _check(value: Any, levels: int) -> None:
    """Refuses what a strict parser lets through."""
    kind = cast("type[object]", type(value))
    if kind is float:
        if not math.isfinite(value):
            raise _Refused(_NUMBER)
        return
    if levels == 0:
        raise _Refused("arguments are nested too deeply; send a flatter object")
    if kind is dict:
        if not FORBIDDEN_KEYS.isdisjoint(value):
            raise _Refused(f"the keys {' and '.join(sorted(FORBIDDEN_KEYS))} are reserved; rename or remove them")
        value = value.values()
    for item in value:
        if type(item) in _CHECKED:
            _check(item, levels - 1)


def _admit_object(arguments: object, limits: ArgumentLimits) -> dict[str, Any] | ParseFailure:
    try:
        if not isinstance(arguments, dict):
            raise _Refused(f"arguments must be one JSON object, not {type(arguments).__name__}")
        admitted = cast("dict[str, Any]", _Copy(limits.max_bytes).of(arguments, limits.max_depth))
        _check(admitted, limits.max_depth)
        size_bytes = len(canonical_json(admitted))
    except _TooLarge:
        return _too_large(limits)
    except _Refused as error:
        return ParseFailure(code="TOOL_ARGUMENT_INVALID", message=str(error))
    except TypeError:
        return ParseFailure(
            code="TOOL_ARGUMENT_INVALID", message="arguments hold a lone surrogate; send valid Unicode text"
        )
    return _too_large(limits) if size_bytes > limits.max_bytes else admitted


class _Copy:
    """A deep copy that ends as soon as its JSON text would be too long: one object may be in many places."""

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes

    def of(self, value: Any, levels: int) -> Any:
        """The copy of one value.

        Raises:
            _Refused: It is not JSON, or nested too deeply.
            _TooLarge: Its JSON text has more bytes than are left.
        """
        kind = cast("type[object]", type(value))
        if kind is int and value.bit_length() > _MAX_BITS:
            raise _Refused(_NUMBER)
        if value is None or kind in (str, int, float, bool):
            self.spend(len(cast("str", value)) + 2 if kind is str else 1)
            return value
        if isinstance(value, dict | list) and levels == 0:
            raise _Refused("arguments are nested too deeply; send a flatter object")
        self.spend(2)
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            if not all(type(key) is str for key, _ in items):
                raise _Refused("arguments have a key that is not a string")
            return {self.of(key, 0): self.of(item, levels - 1) for key, item in items}
        if isinstance(value, list):
            return [self.of(item, levels - 1) for item in cast("list[Any]", value)]
        raise _Refused(f"arguments hold a value of type {type(value).__name__}, which is not JSON")

    def spend(self, size_bytes: int) -> None:
        self.left -= size_bytes
        if self.left < 0:
            raise _TooLarge


def _explain(error: str, text: str, position: int, limits: ArgumentLimits) -> ParseFailure:
    reason = _AT.sub("", error)
    if reason.startswith("recursion limit"):
        return ParseFailure(
            code="TOOL_ARGUMENT_INVALID",
            message=f"arguments are nested deeper than {limits.max_depth} levels; send a flatter object",
        )
    if reason.startswith("EOF") and text.lstrip()[0] in '{["':
        return ParseFailure(
            code="ARGUMENTS_TRUNCATED",
            message=f"arguments end inside a value, after {len(text)} characters: {_near(text, len(text))}. Nothing "
            "was run. The output was probably cut off: send all of it again with a smaller payload, or split the work "
            "over several calls.",
        )
    if reason.startswith("trailing characters") and text[position:].lstrip()[:1] in ("{", "["):
        return ParseFailure(
            code="ARGUMENTS_NOT_JSON",
            message=f"several JSON values were found in one call's arguments; a second one starts at character "
            f"{position}: {_near(text, position)}. Nothing was run. Send one call for each object.",
        )
    return _not_json(reason, text, position)


def _not_json(reason: str, text: str, position: int) -> ParseFailure:
    return ParseFailure(
        code="ARGUMENTS_NOT_JSON",
        message=f"arguments are not JSON: {reason} at character {position}: {_near(text, position)}. Nothing was run. "
        "Send one JSON object and nothing else: double quotes, no trailing commas or comments, true, false and null "
        "in lower case.",
    )


def _too_large(limits: ArgumentLimits) -> ParseFailure:
    return ParseFailure(
        code="TOOL_ARGUMENT_INVALID",
        message=f"arguments have more than {limits.max_bytes} bytes; send a smaller payload",
    )


def _position(error: str, data: bytes) -> int:
    """The parser counts lines and bytes from 1; people count characters from 0."""
    found = _AT.search(error)
    line, column = map(int, found.groups()) if found else (1, 1)
    start = sum(len(before) + 1 for before in data.split(b"\n")[: line - 1])
    return len(data[: start + max(column - 1, 0)].decode(errors="ignore"))


def _near(text: str, position: int) -> str:
    """What stands around a position, quoted."""
    return ascii(text[max(0, position - _NEAR_CHARS) : position + _NEAR_CHARS])
