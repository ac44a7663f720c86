"""What a handler returned, as JSON: one value that the text and the structured part agree on.

Nothing is known of what a handler returns: its objects may raise, refer to themselves, or stand for far more than they
take in memory. So it is walked within a budget, and whatever goes wrong on the way is one kind of error.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, TypeAlias, cast
from uuid import UUID

import msgspec
import orjson

from ..secrets import Secret
from ..spec import Tool
from ..types import Attachment, Output
from .budget import Budget, Unwritable, measure

LIMIT_BYTES = 16 * 1024 * 1024
"""Of all text and attachments of one result, if nothing else is said."""
LIMIT_NODES = 200_000
"""Values in one result, containers included."""
MAX_ATTACHMENTS = 100
MAX_DEPTH = 100
MAX_INT_BITS = 14_000
"""About what Python itself converts to and from text."""

_ANY_MEDIA = "application/octet-stream"
_MEDIA_TOKEN = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"  # noqa: S105 - no password
_MEDIA_TYPE = re.compile(
    rf"{_MEDIA_TOKEN}/{_MEDIA_TOKEN}(?: ?; ?{_MEDIA_TOKEN}=(?:{_MEDIA_TOKEN}|\"[ !#-\[\]-~]{{0,126}}\")){{0,4}}"
)
_Parts: TypeAlias = tuple[Any, Any, Any]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A returned value in JSON terms. This is what the ledger keeps."""

    text: str
    structured: Any = None
    not_finite: bool = False
    """Whether a NaN or an infinity became null."""
    attachments: tuple[tuple[str, bytes], ...] = ()
    """`(media type, body)`."""


def read_value(returned: Any, tool: Tool | None, *, limit_bytes: int = LIMIT_BYTES) -> Value:
    """Turns what a handler returned into JSON terms. Total: whatever is handed in, it ends soon, in one of two ways.

    NaN and infinities become null, in the text and in the structured part alike: JSON has no word for them.

    Args:
        returned: Anything.
        tool: Whose contract says how its values are written; `None` if that is not known any more.
        limit_bytes: Of all text and attachments together.

    Raises:
        ValueError: An `Unwritable`: it is too large, or has no form in JSON.
    """
    try:
        return _read(returned, tool, Budget(LIMIT_NODES, limit_bytes))
    except Unwritable:
        raise
    except Exception as error:
        raise Unwritable("an error was raised while it was read") from error


def json_value(value: Any, *, limit_nodes: int, limit_bytes: int) -> Any:
    """Any object in JSON terms, as `read_value` writes the structured part of a result.

    Raises:
        ValueError: An `Unwritable`.
    """
    try:
        return _walk(value, Budget(limit_nodes, limit_bytes), 0)
    except Unwritable:
        raise
    except Exception as error:
        raise Unwritable("an error was raised while it was read") from error


def _read(returned: Any, tool: Tool | None, budget: Budget) -> Value:
    given, structured, attached = _parts(returned, tool, budget)
    if given is not None and not isinstance(given, str):
        raise Unwritable("its text is not a string")
    attachments = tuple(_attachments(attached, budget))
    text = None if given is None else budget.text(given)
    structured = _walk(structured, budget, 0)
    if text is None:
        if isinstance(structured, str):
            text, structured = structured, None
        elif structured is None and not budget.not_finite:
            text = "Done."
        else:
            text = budget.encoded(structured)
    return Value(text=text or "(empty)", structured=structured, not_finite=budget.not_finite, attachments=attachments)


def _parts(returned: Any, tool: Tool | None, budget: Budget) -> _Parts:
    """Text, value and attachments, not looked into yet."""
    if isinstance(returned, Output):
        return returned.text, returned.structured, returned.attachments
    if isinstance(returned, bytes | bytearray):
        return "", None, (Attachment(body=bytes(returned)),)
    if isinstance(returned, Attachment):
        return "", None, (returned,)
    if tool is None or tool.dump is None:
        return None, returned, ()
    if isinstance(returned, Iterator):
        returned = list(islice(cast("Iterator[Any]", returned), budget.nodes + 1))
    # Before: writing a value out may make far more of it than it is.
    measure(returned, budget)
    return None, tool.dump(returned), ()


def _attachments(given: Any, budget: Budget) -> Iterable[tuple[str, bytes]]:
    # Checked when they were made; yet a subclass may have changed its mind since.
    if not isinstance(given, list | tuple):
        raise Unwritable("its attachments are not a tuple")
    attachments = cast("tuple[Any, ...]", given)
    if len(attachments) > MAX_ATTACHMENTS:
        raise Unwritable(f"it has more than {MAX_ATTACHMENTS} attachments")
    for attachment in attachments:
        if not isinstance(attachment, Attachment) or not isinstance(attachment.body, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Unwritable("one of its attachments is not bytes")
        body = attachment.body
        budget.take(len(body))
        yield _media_type(attachment.media_type), bytes(body)


def _media_type(given: Any) -> str:
    if not isinstance(given, str) or not _MEDIA_TYPE.fullmatch(given):
        return _ANY_MEDIA
    return str.__str__(given)


def _walk(value: Any, budget: Budget, depth: int) -> Any:
    budget.node()
    if value is None or value is True or value is False:
        return value
    # Of a subclass, the plain value: its own methods may say anything.
    if isinstance(value, str):
        return budget.text(value)
    if isinstance(value, int):
        if int.bit_length(value) > MAX_INT_BITS:
            raise Unwritable("it holds a number of more than 4000 digits")
        return int.__index__(value)
    if isinstance(value, float):
        return _number(value, budget)
    if depth > MAX_DEPTH:
        raise Unwritable(f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        return _object(cast("Mapping[Any, Any]", value), budget, depth + 1)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        budget.room(len(items))
        return [_walk(item, budget, depth + 1) for item in items]
    if isinstance(value, set | frozenset):
        members = cast("set[Any]", value)
        return sorted((_walk(member, budget, depth + 1) for member in members), key=repr)
    return _walk(_plain(value, budget), budget, depth + 1)


def _number(value: float, budget: Budget) -> float | None:
    plain = float.__float__(value)
    if math.isfinite(plain):
        return plain
    budget.not_finite = True
    return None


def _object(value: Mapping[Any, Any], budget: Budget, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    clashes: dict[str, int] = {}
    for key, member in value.items():
        name = _key(key, budget)
        # Two keys that became one: both members stay.
        while name in result:
            clashes[name] = clashes.get(name, 1) + 1
            name = f"{name} ({clashes[name]})"
        result[name] = _walk(member, budget, depth)
    return result


def _key(key: Any, budget: Budget) -> str:
    if isinstance(key, str):
        return budget.text(key)
    if key is None or isinstance(key, bool | float):
        raise Unwritable(f"it has {_a(key)} as a key; JSON keys are strings")
    if isinstance(key, int):
        return str(_walk(key, budget, 0))
    return budget.text(str(key))


def _plain(value: Any, budget: Budget) -> Any:
    """One step from an object towards JSON."""
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, Decimal):
        return Decimal.__str__(value) if value.is_finite() else math.nan
    if isinstance(value, bytes | bytearray):
        budget.take(0, but_room_for=len(value) * 4 // 3)
        return base64.b64encode(value).decode()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date | time | UUID):
        try:
            return orjson.loads(orjson.dumps(value))
        except TypeError:
            raise Unwritable(f"it holds {_a(value)}, which JSON has no form for") from None
    if isinstance(value, type):
        raise Unwritable("it holds a class, which JSON has no form for")
    return _fields(value, budget)


def _fields(value: Any, budget: Budget) -> dict[str, Any]:
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: getattr(value, field.name) for field in fields if not field.name.startswith("_")}
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise Unwritable(f"it holds {_a(value)}, which JSON has no form for")
    measure(value, budget)
    return dump(mode="python")


def _a(value: object) -> str:
    name = type(value).__name__
    return f"a {name:.80}"
