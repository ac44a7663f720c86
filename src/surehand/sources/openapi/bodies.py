"""What is sent as a body: JSON, forms, parts, text, bytes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from urllib.parse import quote_plus

from ...errors import BusinessError
from . import styles
from .document import Document
from .operations import Body, Parameter, is_form, is_json, is_multipart, is_text
from .plain import Node, node, text
from .schemas import is_binary

Part: TypeAlias = tuple[str, tuple[str | None, bytes, str | None]]
"""`(name, (file name, bytes, media type))`."""


@dataclass(frozen=True, slots=True)
class Content:
    """A body ready to be sent."""

    media: str
    """Empty for parts: their boundary is chosen when they are sent."""
    data: bytes = b""
    parts: tuple[Part, ...] = field(default=())


def content_of(document: Document, body: Body, value: Any) -> Content:
    """A body.

    Raises:
        BusinessError: The value cannot be written so.
    """
    if is_json(body.media):
        return Content(body.media, _json(value))
    if is_multipart(body.media):
        return Content("", parts=tuple(_parts(document, body, value)))
    if is_form(body.media):
        return Content(body.media, "&".join(_fields(document, body, value)).encode())
    if is_text(body.media) and not is_binary(document, body.schema):
        return Content(body.media, styles.plain_text(value).encode())
    return Content(body.media, _bytes(body.argument, value))


def _members(body: Body, value: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise BusinessError(f"{body.argument} must be an object: it is sent as a form")
    return cast("dict[str, Any]", value).items()


def _fields(document: Document, body: Body, value: Any) -> Iterable[str]:
    properties = node(document.follow(body.schema).get("properties"))
    for name, one in _members(body, value):
        how = node(body.encoding.get(name))
        if how.keys() & {"style", "explode"} and isinstance(one, dict | list):
            yield from styles.query(_as_parameter(name, how), one)
            continue
        repeated = isinstance(one, list) and "json" not in text(how.get("contentType"))
        for item in cast("list[Any]", one if repeated else [one]):
            binary = isinstance(item, str) and is_binary(document, properties.get(name, {}))
            yield f"{quote_plus(name)}={quote_plus(_bytes(name, item) if binary else styles.plain_text(item))}"


def _as_parameter(name: str, how: Node) -> Parameter:
    style = text(how.get("style")) or "form"
    explode = how["explode"] if isinstance(how.get("explode"), bool) else style == "form"
    return Parameter(name=name, place="query", argument=name, schema={}, style=style, explode=explode)


def _parts(document: Document, body: Body, value: Any) -> Iterable[Part]:
    properties = node(document.follow(body.schema).get("properties"))
    for name, one in _members(body, value):
        schema = document.follow(properties.get(name, {}))
        media = text(node(body.encoding.get(name)).get("contentType")).partition(",")[0].strip()
        if isinstance(one, list):
            inner = schema.get("items", {})
            for item in cast("list[Any]", one):
                yield _part(name, item, media, binary=is_binary(document, inner))
        else:
            yield _part(name, one, media, binary=is_binary(document, schema))


def _part(name: str, value: Any, media: str, *, binary: bool) -> Part:
    if binary:
        return name, (_file_name(name), _bytes(name, value), media or "application/octet-stream")
    if isinstance(value, dict | list):
        return name, (None, _json(value), media or "application/json")
    return name, (None, styles.plain_text(value).encode(), media or None)


def _file_name(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in name).strip(".") or "file"


def _bytes(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (AttributeError, binascii.Error, ValueError):
        raise BusinessError(f"{name} must be the bytes of a file in base64") from None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
