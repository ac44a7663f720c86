"""Where a JSON Schema holds other schemas. All walks go through here: a property may be named `items`."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, cast

Schema = dict[str, Any]

_MAPS = {
    "properties": False,
    "patternProperties": False,
    "$defs": None,
    "definitions": None,
    "dependentSchemas": True,
}
_LISTS = {"allOf": True, "anyOf": True, "oneOf": True, "prefixItems": False}
_SINGLE = {
    "items": False,
    "additionalProperties": False,
    "unevaluatedItems": False,
    "unevaluatedProperties": False,
    "contains": False,
    "propertyNames": False,
    "not": True,
    "if": True,
    "then": True,
    "else": True,
}


class Child(NamedTuple):
    """A schema inside a schema."""

    path: tuple[str | int, ...]
    """From the parent."""
    schema: Schema
    in_place: bool | None
    """Whether it applies to the same value as its parent; `None` for a definition, which by itself applies to none."""


def children(schema: Schema) -> Iterator[Child]:
    """The schemas directly inside one, but not behind its `$ref`. Boolean schemas are left out: they hold nothing."""
    for keyword, value in schema.items():
        if keyword in _SINGLE:
            if isinstance(value, dict):
                yield Child((keyword,), cast("Schema", value), _SINGLE[keyword])
        elif keyword in _MAPS and isinstance(value, dict):
            for name, sub in cast("Schema", value).items():
                if isinstance(sub, dict):
                    yield Child((keyword, name), cast("Schema", sub), _MAPS[keyword])
        elif keyword in _LISTS and isinstance(value, list):
            for index, sub in enumerate(cast("list[Any]", value)):
                if isinstance(sub, dict):
                    yield Child((keyword, index), cast("Schema", sub), _LISTS[keyword])


def walk(schema: Schema) -> Iterator[tuple[tuple[str | int, ...], Schema]]:
    """Every schema of a document with its path, the root first."""
    pending: list[tuple[tuple[str | int, ...], Schema]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        yield path, node
        pending.extend((path + child.path, child.schema) for child in children(node))


def spelled_out(schema: Schema) -> Schema:
    """A schema whose properties are all objects: `true` is `{}`, and `false` is `{"not": {}}`.

    Not every server takes a schema that is only a word. One that has none comes back itself.
    """
    if not any(isinstance(sub, bool) for _, node in walk(schema) for sub in _properties(node).values()):
        return schema
    copied = deepcopy(schema)
    for _, node in walk(copied):
        for name, sub in _properties(node).items():
            if isinstance(sub, bool):
                node["properties"][name] = {} if sub else {"not": {}}
    return copied


def _properties(node: Schema) -> dict[str, Any]:
    found = node.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def pointer(path: tuple[str | int, ...]) -> str:
    """A path within a schema, for people: `properties/items/0`."""
    return "/".join(str(part) for part in path) or "the root"
