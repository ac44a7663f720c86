"""Which parts of a value a JSON Schema calls secret: `writeOnly: true`, or `format: password` on a string.

Where it cannot be told without running a schema's own patterns or fetching another document, the answer is
"secret": a pattern may hang, and a summary may show too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

Schema: TypeAlias = Mapping[str, Any]

_ALSO_HERE = ("allOf", "anyOf", "oneOf")
_ALSO_HERE_ONE = ("if", "then", "else")
_UNKNOWN: Schema = {"writeOnly": True}
MAX_SCHEMAS = 10_000
"""Per position of a value; beyond, the position is secret."""


class SchemaSecrets:
    """The secret parts of the values of one schema."""

    def __init__(self, root: Schema) -> None:
        self._anchors: dict[str, Schema] = {}
        self._any = False
        for schema in _all_mappings(root):
            self._any = self._any or schema.get("writeOnly") is True or schema.get("format") == "password"
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := schema.get(keyword), str):
                    self._anchors[anchor] = schema
        self._root = root

    def start(self) -> tuple[Schema, ...]:
        """What applies to the whole value; empty if nothing in the schema is secret."""
        return self._here([self._root]) if self._any else ()

    def property(self, here: Iterable[Schema], name: str) -> tuple[Schema, ...]:
        """What applies to one member of an object."""
        found: list[Any] = []
        for schema in here:
            named = _mapping(schema.get("properties"))
            found += [named[name]] if name in named else [schema.get("additionalProperties")]
            found += _mapping(schema.get("patternProperties")).values()
            found.append(schema.get("unevaluatedProperties"))
        return self._here(found)

    def item(self, here: Iterable[Schema], index: int) -> tuple[Schema, ...]:
        """What applies to one element of an array."""
        found: list[Any] = []
        for schema in here:
            prefix = schema.get("prefixItems")
            if isinstance(prefix, list | tuple) and index < len(cast("Sequence[Any]", prefix)):
                found.append(prefix[index])
            else:
                found.append(schema.get("items"))
            found += [schema.get("contains"), schema.get("unevaluatedItems")]
        return self._here(found)

    def _here(self, schemas: Iterable[Any]) -> tuple[Schema, ...]:
        """The schemas themselves, and all that they refer to or are composed of."""
        found: dict[int, Schema] = {}
        waiting: list[Any] = list(schemas)
        while waiting:
            item = waiting.pop()
            if not isinstance(item, Mapping) or id(cast("Schema", item)) in found:
                continue
            schema = cast("Schema", item)
            if len(found) >= MAX_SCHEMAS:
                return (_UNKNOWN,)
            found[id(schema)] = schema
            waiting += self._composed(schema)
        return tuple(found.values())

    def _composed(self, schema: Schema) -> Iterator[Schema]:
        for keyword in _ALSO_HERE:
            for part in schema.get(keyword) or ():
                if isinstance(part, Mapping):
                    yield cast("Schema", part)
        for keyword in _ALSO_HERE_ONE:
            if isinstance(part := schema.get(keyword), Mapping):
                yield cast("Schema", part)
        yield from _mapping(schema.get("dependentSchemas")).values()
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(reference := schema.get(keyword), str):
                yield self._resolve(reference)

    def _resolve(self, reference: str) -> Schema:
        document, _, fragment = reference.partition("#")
        if document and document != self._root.get("$id"):
            return _UNKNOWN
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment, _UNKNOWN)
        target: Any = self._root
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping):
                target = cast("Schema", target).get(step)
            elif isinstance(target, list | tuple) and step.isdecimal() and int(step) < len(cast("list[Any]", target)):
                target = cast("list[Any]", target)[int(step)]
            else:
                return _UNKNOWN
        return cast("Schema", target) if isinstance(target, Mapping) else _UNKNOWN


def hides(here: Iterable[Schema], value: object) -> bool:
    """Whether the value at this position is secret."""
    return any(
        schema.get("writeOnly") is True or (isinstance(value, str) and schema.get("format") == "password")
        for schema in here
    )


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def _all_mappings(root: Schema) -> Iterator[Schema]:
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            yield cast("Schema", value)
            waiting += cast("Schema", value).values()
        elif isinstance(value, list | tuple):
            waiting += cast("Sequence[Any]", value)
