"""Reads a description: JSON or YAML, from a file or a URL, bounded; `Document` follows its references."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec

from ...errors import SourceError
from .plain import Node, node, text

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_NODES: Final = 2_000_000
"""Values in a description, each counted as often as YAML's aliases repeat it."""
MAX_DEPTH: Final = 200
MAX_HOPS: Final = 50
"""References that lead to references."""


class UnusableError(Exception):
    """A part of a description cannot be used; the message says why, for operators."""


class Document:
    """A description, 2.0 already in the form of 3.0.

    Args:
        root: All of it, as plain JSON.
        version: `2.0`, `3.0` or `3.1`.
        url: Where it came from, for relative servers; empty for a file.
    """

    def __init__(self, root: Node, version: str, url: str = "") -> None:
        self.root = root
        self.version = version
        self.url = url

    def follow(self, value: object) -> Node:
        """An object, or the one that its reference leads to.

        Raises:
            UnusableError: The reference leads outside, nowhere or in a circle.
        """
        found = node(value)
        for _ in range(MAX_HOPS):
            if "$ref" not in found:
                return found
            found = node(self.at(found["$ref"]))
        raise UnusableError("references lead to each other in a circle")

    def at(self, reference: object) -> object:
        """What a reference into this document leads to.

        Raises:
            UnusableError: It leads outside, or nowhere.
        """
        pointer = text(reference)
        if not pointer.startswith("#/"):
            raise UnusableError(
                f"the reference {pointer!r:.200} leads out of the document; bundle the description into one file"
            )
        found: object = self.root
        for token in unquote(pointer[2:]).split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isascii() and key.isdigit() and int(key) < len(cast("list[Any]", found)):
                found = cast("list[Any]", found)[int(key)]
            elif isinstance(found, dict) and key in found:
                found = cast("Node", found)[key]
            else:
                raise UnusableError(f"the reference {pointer!r:.200} leads nowhere")
        return found


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        SourceError: It cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    if len(data) > MAX_BYTES:
        raise SourceError(f"{path} has more than {MAX_BYTES} bytes")
    return data


def parse(data: bytes, where: str) -> tuple[Node, str]:
    """A description as plain JSON, and its version.

    Args:
        data: Its text.
        where: Names it in errors.

    Raises:
        SourceError: It is no OpenAPI description, of no known version, or too large.
    """
    root = node(_plain(_loaded(data, where), where))
    for field, version in (("swagger", "2.0"), ("openapi", "3.0"), ("openapi", "3.1")):
        if re.fullmatch(rf"{re.escape(version)}(\.\d+)?([-+].*)?", str(root.get(field, ""))):
            return root, version
    said = root.get("openapi", root.get("swagger"))
    if said is None:
        raise SourceError(f"{where} is no OpenAPI description: it has neither 'openapi' nor 'swagger'")
    raise SourceError(f"{where} is written in version {said!r:.40}; versions 2.0, 3.0 and 3.1 can be read")


def _loaded(data: bytes, where: str) -> object:
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        try:
            return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
        except (msgspec.DecodeError, RecursionError):
            pass  # YAML has objects in braces too
    import yaml

    try:
        return yaml.load(data, _loader())  # noqa: S506 - a safe loader, with fewer guesses
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1}" if mark else ""
        raise SourceError(f"{where} is neither JSON nor YAML{at}") from error


def _loader() -> Any:
    """The safe loader, with the words of YAML 1.2: `no`, `12:30` and `2020-01-01` are texts, as OpenAPI wants it."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("_Loader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+", "-+.0123456789"),
        ("null", r"~|null|Null|NULL|", "~nN\0"),
        ("merge", r"<<", "<"),
    ):
        chars = ["" if char == "\0" else char for char in first]
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), chars)
    loader.add_constructor("tag:yaml.org,2002:float", _float)
    return loader


def _float(loader: Any, scalar: Any) -> float:
    """As it is written: the loader's own takes `1:30` for a number too."""
    return float(loader.construct_scalar(scalar))


def _plain(value: object, where: str) -> object:
    left = [MAX_NODES]

    def copy(value: Any, depth: int) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > MAX_DEPTH:
            raise SourceError(f"{where} holds more than {MAX_NODES} values, or is nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            return {str(key): copy(item, depth + 1) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [copy(item, depth + 1) for item in cast("list[Any]", value)]
        return _scalar(value)

    return copy(value, 0)


def _scalar(value: object) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return str(value)
