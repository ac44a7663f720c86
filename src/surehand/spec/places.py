"""Which schemas of a document apply to a place of a value, and whether that place is secret.

Secret is what a schema marks `writeOnly` or `format: password`, and all inside it. A schema's own patterns and
conditions are not run: whatever may apply does, so that in doubt a place is secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote

Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = Sequence[str | int]

MAX_SCHEMAS: Final = 10_000
"""For one place; beyond, it is secret."""
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("if", "then", "else")
_UNKNOWN: Final[Schema] = {"writeOnly": True}


class Places:
    """The places of the values of one schema."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def at(self, path: Path) -> tuple[Schema, ...]:
        """All schemas that may apply to a place."""
        return list(self._along(path))[-1]

    def secret_from(self, path: Path) -> int | None:
        """How many parts of a path lead to a place that is secret; `None` if none of it is."""
        for length, here in enumerate(self._along(path)):
            if any(map(_is_secret, here)):
                return length
        return None

    def holds_secret(self, path: Path) -> bool:
        """Whether a place, a place above it or anything inside it is secret."""
        return self.secret_from(path) is not None or any(map(_is_secret, self._inside(self.at(path))))

    def _along(self, path: Path) -> Iterator[tuple[Schema, ...]]:
        here = self._here([self._root])
        yield here
        for part in path:
            inner = (_of_item(schema, part) if isinstance(part, int) else _of_member(schema, part) for schema in here)
            here = self._here([schema for found in inner for schema in found])
            yield here

    def _here(self, schemas: Iterable[Any]) -> tuple[Schema, ...]:
        """The schemas themselves, and all that they refer to or are composed of."""
        found: dict[int, Schema] = {}
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(cast("Schema", schema)) in found:
                continue
            schema = cast("Schema", schema)
            if len(found) >= MAX_SCHEMAS:
                return (_UNKNOWN,)
            found[id(schema)] = schema
            waiting += _composed(schema)
            waiting += self._referred(schema)
        return tuple(found.values())

    def _inside(self, schemas: Iterable[Schema]) -> Iterator[Schema]:
        """Every schema, or what may be one, that can be reached from some."""
        seen: set[int] = set()
        waiting: list[Any] = list(schemas)
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Mapping):
                schema = cast("Schema", value)
                yield schema
                waiting += schema.values()
                waiting += self._referred(schema)
            elif isinstance(value, list | tuple):
                waiting += cast("Sequence[Any]", value)

    def _referred(self, schema: Schema) -> Iterator[Schema]:
        if isinstance(reference := schema.get("$ref"), str):
            found = follow(self._root, reference)
            if not isinstance(found, bool):
                yield _UNKNOWN if found is None else found
        if "$dynamicRef" in schema:
            yield _UNKNOWN


def follow(root: Schema, ref: str) -> dict[str, Any] | bool | None:
    """What a `$ref` of the form `#/pointer` points at, or `None` if there is no schema."""
    if ref == "#":
        return cast("dict[str, Any]", root)
    if not ref.startswith("#/"):
        return None
    node: Any = root
    for token in unquote(ref[2:]).split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = cast("dict[str, Any]", node).get(key)
        elif isinstance(node, list) and key.isascii() and key.isdigit():
            items = cast("list[Any]", node)
            node = items[int(key)] if int(key) < len(items) else None
        else:
            return None
    return cast("dict[str, Any] | bool", node) if isinstance(node, dict | bool) else None


def _is_secret(schema: Schema) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _composed(schema: Schema) -> Iterator[Any]:
    for keyword in _LISTS:
        yield from _list(schema.get(keyword))
    for keyword in _SINGLE:
        yield schema.get(keyword)
    yield from _mapping(schema.get("dependentSchemas")).values()


def _of_member(schema: Schema, name: str) -> Iterator[Any]:
    named = _mapping(schema.get("properties"))
    yield named[name] if name in named else schema.get("additionalProperties")
    yield from _mapping(schema.get("patternProperties")).values()
    yield schema.get("unevaluatedProperties")


def _of_item(schema: Schema, index: int) -> Iterator[Any]:
    prefix = _list(schema.get("prefixItems"))
    yield prefix[index] if index < len(prefix) else schema.get("items")
    yield schema.get("contains")
    yield schema.get("unevaluatedItems")


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
