"""Schemas of descriptions as JSON Schema 2020-12, for what is sent. Recursion stays: what is referred to is in `$defs`.

Rules are those of the specification: in 2.0 and 3.0 a schema is a dialect of its own (Schema Object), in 3.1 it is
2020-12 with a few words more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from .document import Document, UnusableError
from .plain import Node, items, node, text

Schema: TypeAlias = "Node | bool"

DEFS: Final = "$defs"
_BY_NAME: Final = ("properties", "patternProperties", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_INNER: Final = (
    "items", "contains", "propertyNames", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_COPIED: Final = (
    "type", "enum", "const", "title", "description", "default", "multipleOf", "maximum", "exclusiveMaximum",
    "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "format", "maxItems", "minItems",
    "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required", "dependentRequired",
    "deprecated", "writeOnly", "contentEncoding", "contentMediaType", "$dynamicRef",
)  # fmt: skip
_TYPES: Final = {"null", "boolean", "object", "array", "number", "string", "integer"}
_BINARY: Final = ("binary", "byte", "base64")
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]")
_NOBODY: Final[frozenset[str]] = frozenset()


class Schemas:
    """The schemas of one operation.

    Args:
        document: Where they are from.
    """

    def __init__(self, document: Document) -> None:
        self.defs: dict[str, Schema] = {}
        """What was referred to so far."""
        self._document = document
        self._old = document.version != "3.1"
        self._names: dict[str, str] = {}

    def convert(self, schema: object, above: frozenset[str] = _NOBODY) -> Schema:
        """One schema.

        Args:
            schema: As the description has it.
            above: References that stand for the very value that this schema is about.

        Raises:
            UnusableError: A reference leads outside or nowhere.
        """
        if isinstance(schema, bool):
            return schema
        given = node(schema)
        if "$ref" not in given:
            return self._finished(given, self._members(given, above))
        found = self._reference(text(given["$ref"]), above)
        beside = {} if self._old else self._members({key: one for key, one in given.items() if key != "$ref"}, above)
        return {**beside, **found}

    def _reference(self, pointer: str, above: frozenset[str]) -> Node:
        if pointer in above:  # a base that lists its kinds, each of which is made of the base
            return {}
        if pointer not in self._names:
            target = self._document.at(pointer)
            self._names[pointer] = name = self._new_name(pointer)
            self.defs[name] = True  # its place among the others, whatever it refers to itself
            self.defs[name] = self.convert(target, above | {pointer})
        return {"$ref": f"#/{DEFS}/{self._names[pointer]}"}

    def _new_name(self, pointer: str) -> str:
        base = _NAME.sub("_", pointer.rpartition("/")[2])[:64] or "Schema"
        name, count = base, 1
        while name in self.defs:
            count += 1
            name = f"{base}_{count}"
        return name

    def _members(self, given: Node, above: frozenset[str]) -> Node:
        made: Node = {key: given[key] for key in _COPIED if key in given and given[key] != []}
        for key in _BY_NAME:
            if isinstance(given.get(key), dict):
                inner = above if key == "dependentSchemas" else _NOBODY
                made[key] = {name: self.convert(one, inner) for name, one in self._sendable(key, given)}
        for key in _LISTS:
            if items(given.get(key)):
                made[key] = [self.convert(one, above) for one in items(given[key])]
        for key, inside in (*((one, above) for one in _IN_PLACE), *((one, _NOBODY) for one in _INNER)):
            if isinstance(given.get(key), dict | bool):
                made[key] = self.convert(given[key], inside)
        for key in ("items", "prefixItems"):
            if items(given.get(key)):
                made["prefixItems"] = [self.convert(one) for one in items(given[key])]
        self._discriminate(given, made)
        return made

    def _sendable(self, key: str, given: Node) -> Iterable[tuple[str, Any]]:
        members = node(given.get(key)).items()
        return members if key != "properties" else [(name, one) for name, one in members if not self._read_only(one)]

    def _read_only(self, schema: object) -> bool:
        return node(schema).get("readOnly") is True or self._document.follow(schema).get("readOnly") is True

    def _discriminate(self, given: Node, made: Node) -> None:
        """Says with each alternative by which value it is chosen: otherwise several may fit."""
        property_name = text(node(given.get("discriminator")).get("propertyName"))
        mapping = node(node(given.get("discriminator")).get("mapping"))
        if not property_name:
            return
        for key in ("oneOf", "anyOf"):
            for index, one in enumerate(items(given.get(key))):
                pointer = text(node(one).get("$ref"))
                values = [value for value, to in mapping.items() if _same(text(to), pointer)]
                values = values or ([pointer.rpartition("/")[2]] if pointer else [])
                if values:
                    chosen = {"properties": {property_name: {"enum": values}}, "required": [property_name]}
                    made[key][index] = {"allOf": [made[key][index], chosen]}

    def _finished(self, given: Node, made: Node) -> Node:
        if isinstance(made.get("required"), list):
            hidden = {name for name, one in node(given.get("properties")).items() if self._read_only(one)}
            made["required"] = [name for name in dict.fromkeys(made["required"]) if name not in hidden]
        else:
            made.pop("required", None)
        _binary(made)
        _types(made)
        if self._old:
            _bounds(made)
            return _nullable(made) if given.get("nullable") is True or given.get("x-nullable") is True else made
        return made


def is_binary(document: Document, schema: object) -> bool:
    """Whether the values of a schema are bytes, which models write as base64 and the wire carries as they are.

    Raises:
        UnusableError: A reference leads outside or nowhere.
    """
    found = document.follow(schema)
    if found.get("type") == "file" or found.get("format") == "binary":
        return True
    media = text(found.get("contentMediaType"))
    return bool(media) and not media.startswith("text/") and "json" not in media and not found.get("contentEncoding")


def kind_of(document: Document, schema: object) -> str:
    """`object`, `array` or something else, as far as a schema says."""
    try:
        found = document.follow(schema)
    except UnusableError:
        return ""
    if found.get("type") in ("object", "array"):
        return text(found["type"])
    if isinstance(found.get("properties"), dict):
        return "object"
    return next((kind for one in items(found.get("allOf")) if (kind := kind_of(document, one))), "")


def _same(written: str, pointer: str) -> bool:
    """Whether an entry of a mapping means a reference: it is one, or the name of a schema."""
    return bool(pointer) and (written == pointer or pointer.endswith(f"/{written}"))


def _types(made: Node) -> None:
    kinds = made.get("type")
    if isinstance(kinds, str):
        if kinds not in _TYPES:
            del made["type"]
    elif kinds is not None:
        known = [one for one in items(kinds) if one in _TYPES]
        made["type"] = known
        if not known:
            del made["type"]


def _binary(made: Node) -> None:
    if made.get("type") == "file" or made.get("format") in _BINARY:
        made.pop("format", None)
        made.update(type="string", contentEncoding="base64")
    if made.get("contentEncoding") == "base64" or made.get("contentMediaType") == "application/octet-stream":
        made.setdefault("type", "string")
        made["contentEncoding"] = "base64"
        if "base64" not in text(made.get("description")):
            made["description"] = f"{text(made.get('description'))} (base64)".strip()


def _bounds(made: Node) -> None:
    """In 2.0 and 3.0 `exclusiveMinimum` says of `minimum` that it is excluded itself."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        excluded = made.get(exclusive)
        if isinstance(excluded, bool):
            del made[exclusive]
            if excluded and bound in made:
                made[exclusive] = made.pop(bound)


def _nullable(made: Node) -> Node:
    told: Mapping[str, Any] = {key: made[key] for key in ("title", "description", "default") if key in made}
    kinds = made.get("type")
    if isinstance(kinds, str) and not made.keys() & {*_LISTS, "not"}:
        made["type"] = [kinds, "null"]
        if "enum" in made and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return made
    rest = {key: one for key, one in made.items() if key not in told}
    return {**told, "anyOf": [rest, {"type": "null"}]} if rest else dict(told)
