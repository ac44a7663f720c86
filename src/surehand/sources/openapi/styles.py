"""How parameter values are written: the styles of RFC 6570 that OpenAPI names, each with its escapes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, cast
from urllib.parse import quote

from ...errors import BusinessError
from .operations import Parameter

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_SEPARATORS: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_CONTROL: Final = frozenset(map(chr, (*range(32), 127)))


def plain_text(value: object) -> str:
    """A value where only text can stand."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def segment(parameter: Parameter, value: Any) -> str:
    """A value within a path: escaped, and never a way to another segment.

    Raises:
        BusinessError: It would lead elsewhere, or be no segment at all.
    """
    for part in _leaves(value):
        if _CONTROL & set(part):
            raise BusinessError(f"{parameter.argument} must not hold control characters")
        if any(step.strip() in (".", "..") for step in part.replace("\\", "/").replace(";", "/").split("/")):
            raise BusinessError(f"{parameter.argument} must name one thing; '.' and '..' lead to another path")
    written = _in_path(parameter, value)
    if not written:
        raise BusinessError(f"{parameter.argument} must not be empty")
    return written


def _in_path(parameter: Parameter, value: Any) -> str:
    if parameter.json:
        return _quoted(plain_text(value))
    name, explode = _quoted(parameter.name), parameter.explode
    if parameter.style == "label":
        return "." + _joined(value, "." if explode else ",", explode)
    if parameter.style == "matrix":
        if explode and isinstance(value, list):
            return "".join(f";{name}={_quoted(plain_text(one))}" for one in cast("list[Any]", value))
        if explode and isinstance(value, dict):
            return ";" + _joined(value, ";", explode)
        return f";{name}={_joined(value, ',', explode)}"
    return _joined(value, ",", explode)


def query(parameter: Parameter, value: Any) -> list[str]:
    """The parts `name=value` of a query that a value becomes, escaped."""
    safe = _RESERVED.replace("&", "").replace("#", "").replace("+", "") if parameter.reserved else ""
    return [f"{name}={written}" for name, written in _pairs(parameter, value, safe)]


def cookie(parameter: Parameter, value: Any) -> list[str]:
    """The parts `name=value` of a cookie header."""
    return [f"{name}={written}" for name, written in _pairs(parameter, value, "")]


def header(parameter: Parameter, value: Any) -> str:
    """The value of a header.

    Raises:
        BusinessError: It holds what no header can.
    """
    if parameter.json or not isinstance(value, list | dict):
        written = plain_text(value)
    elif isinstance(value, list):
        written = ",".join(map(plain_text, cast("list[Any]", value)))
    else:
        members = cast("dict[str, Any]", value).items()
        mark = "=" if parameter.explode else ","
        written = ",".join(f"{name}{mark}{plain_text(one)}" for name, one in members)
    if _CONTROL & set(written):
        raise BusinessError(f"{parameter.argument} must not hold line breaks or other control characters")
    return written.strip()


def _pairs(parameter: Parameter, value: Any, safe: str) -> Iterable[tuple[str, str]]:
    name = _quoted(parameter.name)
    if parameter.json or not isinstance(value, list | dict):
        yield name, _quoted(plain_text(value), safe)
    elif parameter.style == "deepObject":
        yield from _deep(name, cast("Any", value), safe)
    elif isinstance(value, list):
        members = [_quoted(plain_text(one), safe) for one in cast("list[Any]", value)]
        if parameter.explode:
            yield from ((name, one) for one in members)
        elif members:
            yield name, _SEPARATORS[parameter.style].join(members)
    elif parameter.explode:
        for key, one in cast("dict[str, Any]", value).items():
            yield _quoted(key), _quoted(plain_text(one), safe)
    elif value:
        pairs = cast("dict[str, Any]", value).items()
        flat = [part for key, one in pairs for part in (_quoted(key), _quoted(plain_text(one), safe))]
        yield name, _SEPARATORS[parameter.style].join(flat)


def _deep(name: str, value: Any, safe: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield from _deep(f"{name}%5B{_quoted(key)}%5D", one, safe)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _deep(name, one, safe)
    else:
        yield name, _quoted(plain_text(value), safe)


def _joined(value: Any, between: str, explode: bool) -> str:
    if isinstance(value, list):
        return between.join(_quoted(plain_text(one)) for one in cast("list[Any]", value))
    if isinstance(value, dict):
        mark = "=" if explode else ","
        members = cast("dict[str, Any]", value).items()
        return between.join(f"{_quoted(key)}{mark}{_quoted(plain_text(one))}" for key, one in members)
    return _quoted(plain_text(value))


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield key
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _leaves(one)
    else:
        yield plain_text(value)


def _quoted(written: str, safe: str = "") -> str:
    return quote(written, safe=safe)
