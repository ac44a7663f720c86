"""The root of a schema as a provider accepts it: an object without references and combinators.

What combinators said goes into words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from ...schema.keywords import Schema
from ...spec.places import follow
from .words import told_rule

_LISTS = ("allOf", "anyOf", "oneOf")
_OWN = frozenset({"title", "description", "default", "examples", "$comment", "$schema", "$id", "$defs", "definitions"})
_DEPTH = 8


def plain_root(schema: Schema, forbidden: frozenset[str]) -> tuple[Schema, list[str]]:
    """Takes from the root what may not stand there.

    The properties that a combinator names become properties of the root, optional unless all of `allOf` require them,
    so that a model can still give them. Which belong together is said in words, and checked when the call comes.

    Args:
        schema: An object's schema; not changed.
        forbidden: Keywords that may not stand at the root.

    Returns:
        The schema, and a sentence for each keyword that it lost.
    """
    schema = _entered(schema)
    lost = sorted(forbidden & schema.keys())
    plain: Schema = {"type": "object", **{key: value for key, value in schema.items() if key not in lost}}
    plain["type"] = "object"  # whatever else it lists: arguments are nothing else
    properties: dict[str, Any] = dict(plain.get("properties", {}))
    required: list[str] = list(plain.get("required", []))
    for keyword in (keyword for keyword in lost if keyword in _LISTS):
        _gather(schema, keyword, properties, required)
    plain["properties"] = properties
    if required:
        plain["required"] = required
    return plain, [told_rule(keyword, schema[keyword]) for keyword in lost]


def _entered(schema: Schema) -> Schema:
    """The root itself where it is a reference, as Pydantic writes a recursive model.

    Its own annotations win. Where both say something else of the same, both hold.
    """
    for _ in range(_DEPTH):
        ref = schema.get("$ref")
        target = follow(schema, ref) if isinstance(ref, str) else None
        if not isinstance(target, dict) or target is schema:
            break
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        if any(target[key] != rest[key] for key in target.keys() & rest.keys() - _OWN):
            return {**rest, "allOf": [*rest.get("allOf", []), {"$ref": ref}]}
        schema = {**target, **rest}
    return schema


def _gather(root: Schema, keyword: str, properties: dict[str, Any], required: list[str]) -> None:
    """Adds what the branches of one combinator name to the root's own properties, which win."""
    found: dict[str, list[Any]] = {}
    for branch, certain in _branches(root, {keyword: root[keyword]}, True, _DEPTH):
        for name, sub in cast("dict[str, Any]", branch.get("properties", {})).items():
            alternatives = found.setdefault(name, [])
            if sub not in alternatives:
                alternatives.append(sub)
        if certain:
            required.extend(name for name in branch.get("required", []) if name not in required)
    if root.get("additionalProperties") is not False:  # else no other property is ever accepted
        for name, alternatives in found.items():
            one = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
            properties.setdefault(name, one)


def _branches(root: Schema, schema: Schema, certain: bool, levels: int) -> Iterator[tuple[Schema, bool]]:
    """What the combinators of a schema hold, to any depth, each with whether it applies to all arguments."""
    for keyword in _LISTS:
        branches: Any = schema.get(keyword)
        for branch in cast("list[Any]", branches) if isinstance(branches, list) and levels else []:
            target = branch
            if isinstance(branch, dict) and isinstance(ref := cast("Schema", branch).get("$ref"), str):
                target = follow(root, ref)
            if isinstance(target, dict):
                applies = certain and keyword == "allOf"
                yield cast("Schema", target), applies
                yield from _branches(root, cast("Schema", target), applies, levels - 1)
