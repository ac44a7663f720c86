"""What a handler returned, as JSON: one value that the text and the structured part agree on."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import msgspec
import orjson

from ..redact import clean_text
from ..secrets import Secret
from ..spec import Tool
from ..types import Attachment, Output


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A returned value in JSON terms. This is what the ledger keeps."""

    text: str
    structured: Any = None
    not_finite: bool = False
    """Whether a NaN or an infinity became null."""
    attachments: tuple[tuple[str, bytes], ...] = ()
    """`(media type, body)`."""


@dataclass(slots=True)
class _Seen:
    not_finite: bool = field(default=False)


def read_value(returned: Any, tool: Tool | None) -> Value:
    """Turns what a handler returned into JSON terms.

    NaN and infinities become null, in the text and in the structured part alike: JSON has no word for them.

    Raises:
        TypeError, ValueError: It cannot be written as JSON.
    """
    output = _output(returned)
    dump = tool.dump if tool is not None and not isinstance(returned, Output) else None
    structured = dump(output.structured) if dump is not None else output.structured
    seen = _Seen()
    structured = _json(structured, seen)
    text = None if output.text is None else clean_text(output.text)
    if text is None:
        if isinstance(structured, str):
            text, structured = structured, None
        elif structured is None and not seen.not_finite:
            text = "Done."
        else:
            text = msgspec.json.encode(structured).decode()
    return Value(
        text=text or "(empty)",
        structured=structured,
        not_finite=seen.not_finite,
        attachments=tuple((a.media_type, a.body) for a in output.attachments),
    )


def _output(returned: Any) -> Output:
    if isinstance(returned, Output):
        return returned
    if isinstance(returned, bytes | bytearray):
        return Output(text="", attachments=(Attachment(body=bytes(returned)),))
    if isinstance(returned, Attachment):
        return Output(text="", attachments=(returned,))
    return Output(structured=returned)


def _json(value: Any, seen: _Seen, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | str):
        return clean_text(value) if isinstance(value, str) else value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        seen.not_finite = True
        return None
    if isinstance(value, int):
        return int(value)
    if depth > 100:
        raise ValueError("the result is nested more than 100 levels deep")
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {_key(k): _json(v, seen, depth + 1) for k, v in items}
    if isinstance(value, list | tuple):
        return [_json(v, seen, depth + 1) for v in cast("list[Any]", value)]
    if isinstance(value, set | frozenset):
        return sorted((_json(v, seen, depth + 1) for v in cast("set[Any]", value)), key=repr)
    return _json(_plain(value), seen, depth + 1)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return clean_text(key)
    if key is None or isinstance(key, bool | float):
        raise TypeError(f"a result has the key {key!r}; JSON keys are strings")
    return str(key)


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return float(value)
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="python")
    try:
        return orjson.loads(orjson.dumps(value))
    except TypeError as error:
        raise TypeError(f"a result holds a {type(value).__name__}, which JSON has no form for") from error
