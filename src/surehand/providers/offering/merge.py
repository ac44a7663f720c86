"""A schema without `$ref` and `allOf`: what they bring is merged into it where that says exactly the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import msgspec

from ...schema.keywords import Schema
from ...spec.places import follow

_DROPPED: Final = frozenset({"$ref", "allOf", "$defs", "definitions", "$schema", "$id", "$anchor", "$comment"})
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_LEAST: Final = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "uniqueItems", "minContains"}
)
_MOST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})


class Flat(msgspec.Struct, frozen=True, kw_only=True):
    """One schema with what applies to the same value."""

    schema: Schema
    """Without `$ref`, `allOf` and `const`, which is an `enum` of one."""
    refs: tuple[str, ...] = ()
    """The references that were followed."""
    left: tuple[Any, ...] = ()
    """Schemas that hold too, and could not be merged."""


def flat(root: Schema, schema: Schema, above: frozenset[str] = frozenset()) -> Flat:
    """Follows references and merges what applies to the same value.

    Args:
        root: The document, for references.
        schema: A schema in it; not changed.
        above: References that are being followed. One that leads back to itself says nothing more.
    """
    here = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in here:
        here = _both(here, {"enum": [here.pop("const")]}) or here
    refs: list[str] = []
    left: list[Any] = []
    parts: list[Any] = list(cast("list[Any]", schema.get("allOf", [])))
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref not in above:
        parts.insert(0, follow(root, ref))
        refs.append(ref)
        above = above | {ref}
    for part in parts:
        if part is False:
            left.append(False)
        elif isinstance(part, dict):
            inner = flat(root, cast("Schema", part), above)
            refs += inner.refs
            left += inner.left
            both = _both(here, inner.schema)
            here = here if both is None else both
            left += [inner.schema] if both is None else []
    return Flat(schema=here, refs=tuple(refs), left=tuple(left))


def _both(one: Schema, other: Schema) -> Schema | None:
    """The schema that says what two say; `None` if no single one does. Of descriptions the first one's stays."""
    merged = dict(one)
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif keyword not in _ANNOTATIONS and keyword not in ("properties", "additionalProperties"):
            found = _joined(keyword, merged[keyword], value)
            if found is None:
                return None
            merged[keyword] = found
    if "properties" in one or "properties" in other:
        merged["properties"] = _properties(one, other)
    if "additionalProperties" in one and "additionalProperties" in other:
        merged["additionalProperties"] = _all_of(one["additionalProperties"], other["additionalProperties"])
    return merged


def _joined(keyword: str, one: Any, other: Any) -> Any:
    """What a keyword says if two of its values hold; `None` if it cannot say that."""
    if keyword in _LEAST:
        return max(one, other)
    if keyword in _MOST:
        return min(one, other)
    joined = _JOINS.get(keyword)
    if joined is not None:
        return joined(one, other)
    return one if written(one) == written(other) else None


def _types(one: Any, other: Any) -> Any:
    mine, others = as_list(one), as_list(other)
    both = [kind for kind in mine if kind in others or (kind == "integer" and "number" in others)]
    if "number" in mine and "integer" in others and "integer" not in both:
        both.append("integer")
    return (both if len(both) > 1 else both[0]) if both else None


def _enums(one: Any, other: Any) -> Any:
    others = {written(value) for value in other}
    return [value for value in one if written(value) in others] or None


def _required(one: Any, other: Any) -> Any:
    return list(dict.fromkeys([*one, *other]))


def _all_of(one: Any, other: Any) -> Any:
    if one is True or other is True or written(one) == written(other):
        return other if one is True else one
    return False if one is False or other is False else {"allOf": [one, other]}


_JOINS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "enum": _enums,
    "required": _required,
    "items": _all_of,
}


def _properties(one: Schema, other: Schema) -> Schema:
    """Both schemas' properties; each is held to what the other schema says about properties that it does not name."""
    mine = cast("Mapping[str, Any]", one.get("properties", {}))
    others = cast("Mapping[str, Any]", other.get("properties", {}))
    return {
        name: _all_of(
            mine.get(name, one.get("additionalProperties", True)),
            others.get(name, other.get("additionalProperties", True)),
        )
        for name in dict.fromkeys([*mine, *others])
    }


def as_list(value: Any) -> list[str]:
    """The types that `type` names."""
    return cast("list[str]", value) if isinstance(value, list) else [value]


def written(value: Any) -> str:
    """A value as text, to tell 1 from true."""
    return json.dumps(value, sort_keys=True)
