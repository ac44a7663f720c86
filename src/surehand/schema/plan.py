"""Exact coercions and defaults: the only ways in which a value changes, both worked out from the schema beforehand.

Text is coerced where the schema names one type (`null` beside it is allowed) that no string satisfies, so that it could
only be refused there. Text that is declared a string, or that one branch of several would take, is never touched.
Null is left out where it stands for an optional property whose schema refuses null: so do models say "none".
Numbers that are equal get one form everywhere, whatever the schema says: to it they are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, cast

import msgspec

from ..spec.numbers import one_form
from ..spec.places import follow
from .keywords import Schema
from .nulls import accepts_null
from .parse import DEFAULT_LIMITS, parse_json
from .violations import json_path

_INTEGER = re.compile(r"-?[1-9][0-9]{0,299}|0")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,299})\.[0-9]{1,300}")
_MAY_CHANGE: Final[frozenset[type]] = frozenset({str, dict, list})
_KINDS: Final = {"NoneType": "null", "UnsetType": "absent"}


@dataclass(frozen=True, slots=True)
class Coercion:
    """One recorded change of a value to the same value in the declared type."""

    path: str
    before: Any
    """`msgspec.UNSET` where a default was filled in that only the types know."""
    after: Any
    """`msgspec.UNSET` where a null was left out."""

    @property
    def kinds(self) -> tuple[str, str]:
        """The types before and after, as Python names them; `null` and `absent` by these names."""
        before, after = (_KINDS.get(name, name) for name in (type(self.before).__name__, type(self.after).__name__))
        return before, after


@dataclass(slots=True)
class _Node:
    """What may be done to the values of one schema."""

    kind: str = ""
    """The one type besides `null`; empty if there is none or it is `string`."""
    properties: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    others: _Node | None = None
    """For properties that are not named."""
    items: _Node | None = None
    defaults: dict[str, Any] = field(default_factory=dict[str, Any])
    without_null: frozenset[str] = frozenset()
    """Optional properties whose schemas refuse null."""
    fills: bool = False
    """Whether there are defaults here or further in."""

    def inner(self) -> list[_Node]:
        """The nodes of what its values hold."""
        return [*self.properties.values(), *filter(None, (self.others, self.items))]


@dataclass(frozen=True, slots=True)
class Plan:
    """All that may be done to arguments of one schema."""

    _root: _Node

    def coerce(
        self, arguments: dict[str, Any], *, numbers: bool = False
    ) -> tuple[dict[str, Any], tuple[Coercion, ...]]:
        """See `coerce`; with `numbers`, equal numbers get one form, and nothing else changes."""
        found: list[Coercion] = []
        coerced = arguments if numbers else _coerce(self._root, arguments, [], found)
        same = one_form(coerced, lambda path, before, after: found.append(Coercion(json_path(path), before, after)))
        return same, tuple(found)

    def fill_defaults(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """See `fill_defaults`."""
        return _fill(self._root, arguments)


def coerce(schema: Mapping[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[Coercion, ...]]:
    """Turns values into the declared type where that is exact.

    So `"5"` becomes 5, `"1.5"` 1.5, `"true"` true, and JSON text the object or array that it spells. Null for an
    optional property that refuses null is left out. A float that equals an integer up to 2**53 becomes that, so that
    5 and 5.0 are one value for keys and digests.

    Args:
        schema: A compiled schema's `schema`, or any that passed the same checks.
        arguments: Not changed; what does not change is shared with the result.

    Returns:
        The arguments, and each change.
    """
    return build_plan(cast("Schema", schema), None).coerce(arguments)


def fill_defaults(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Adds the defaults of properties that are absent, in the arguments and in the objects that they hold.

    Args:
        schema: A compiled schema's `schema`, or any that passed the same checks.
        arguments: Not changed; what does not change is shared with the result.
    """
    return build_plan(cast("Schema", schema), None).fill_defaults(arguments)


def build_plan(schema: Schema, fitting: frozenset[int] | None) -> Plan:
    """Works out the plan of a schema.

    Args:
        schema: Its root.
        fitting: The `id` of each schema whose default may be used; `None` for all.
    """
    builder = _Builder(schema, fitting)
    root = builder.node(schema) or _Node()
    nodes = [node for node in builder.known.values() if node is not None]
    settled = False
    while not settled:  # inner nodes come later, so that one round does unless the schema is recursive
        settled = True
        for node in reversed(nodes):
            if not node.fills and (node.defaults or any(inner.fills for inner in node.inner())):
                node.fills, settled = True, False
    return Plan(root)


class _Builder:
    def __init__(self, root: Schema, fitting: frozenset[int] | None) -> None:
        self.root = root
        self.fitting = fitting
        self.known: dict[int, _Node | None] = {}

    def node(self, schema: Any) -> _Node | None:
        """The node of a schema; `None` if nothing can be done to its values."""
        if not isinstance(schema, dict):
            return None
        schema = self.effective(cast("Schema", schema))
        if id(schema) in self.known:
            return self.known[id(schema)]
        node = self.known[id(schema)] = _Node(kind=_single_type(schema))
        self.fill(node, schema)
        if not (node.kind or node.properties or node.others or node.items or node.defaults or node.without_null):
            self.known[id(schema)] = None
            return None
        return node

    def fill(self, node: _Node, schema: Schema) -> None:
        properties = cast("Schema", schema.get("properties", {}))
        optional = properties.keys() - set(schema.get("required", ()))
        node.without_null = frozenset(name for name in optional if not accepts_null(self.root, properties[name]))
        for name, sub in properties.items():
            inner = self.node(sub)
            if inner is not None:
                node.properties[name] = inner
            self.default(node, name, sub)
        if "patternProperties" not in schema:
            node.others = self.node(schema.get("additionalProperties"))
        if "prefixItems" not in schema:
            node.items = self.node(schema.get("items"))

    def default(self, node: _Node, name: str, sub: Any) -> None:
        if not isinstance(sub, dict):
            return
        for holder in (cast("Schema", sub), self.effective(cast("Schema", sub))):
            if "default" in holder and (self.fitting is None or id(holder) in self.fitting):
                node.defaults[name] = one_form(holder["default"])
                return

    def effective(self, schema: Schema) -> Schema:
        """The one schema that says the type: behind a `$ref`, a lone `allOf`, or beside a `null`."""
        for _ in range(8):
            inner = self._inner(schema)
            if inner is None:
                return schema
            schema = inner
        return schema

    def _inner(self, schema: Schema) -> Schema | None:
        if "type" in schema or "properties" in schema:
            return None
        found: Any = None
        if isinstance(schema.get("$ref"), str):
            found = follow(self.root, schema["$ref"])
        else:
            alternatives = schema.get("anyOf", schema.get("oneOf", schema.get("allOf")))
            if isinstance(alternatives, list):
                others = [
                    one for one in cast("list[Any]", alternatives) if one != {"type": "null"} or "allOf" in schema
                ]
                found = others[0] if len(others) == 1 else None
        return cast("Schema", found) if isinstance(found, dict) else None


def _single_type(schema: Schema) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        kinds = others[0] if len(others) == 1 else None
    return kinds if isinstance(kinds, str) and kinds not in ("string", "null") else ""


def _coerce(node: _Node, value: Any, path: list[str | int], found: list[Coercion]) -> Any:
    kind = cast("type[object]", type(value))
    if kind is str:
        after = _from_text(node.kind, value, DEFAULT_LIMITS.max_depth - len(path)) if node.kind else value
        if after is not value:
            found.append(Coercion(json_path(path), value, after))
            value, kind = after, cast("type[object]", type(after))
    if kind is dict:
        return _coerce_members(node, value, path, found)
    if kind is list and node.items is not None:
        return _coerce_items(node.items, value, path, found)
    return value


def _coerce_members(node: _Node, value: dict[str, Any], path: list[str | int], found: list[Coercion]) -> dict[str, Any]:
    changed: dict[str, Any] | None = None
    for name, item in value.items():
        if item is None and name in node.without_null:
            found.append(Coercion(json_path([*path, name]), None, msgspec.UNSET))
            changed = dict(value) if changed is None else changed
            del changed[name]
            continue
        inner = node.properties.get(name, node.others)
        if inner is not None and type(item) in _MAY_CHANGE:
            path.append(name)
            after = _coerce(inner, item, path, found)
            path.pop()
            if after is not item:
                changed = dict(value) if changed is None else changed
                changed[name] = after
    return value if changed is None else changed


def _coerce_items(inner: _Node, value: list[Any], path: list[str | int], found: list[Coercion]) -> list[Any]:
    changed: list[Any] | None = None
    for index, item in enumerate(value):
        if type(item) in _MAY_CHANGE:
            path.append(index)
            after = _coerce(inner, item, path, found)
            path.pop()
            if after is not item:
                changed = list(value) if changed is None else changed
                changed[index] = after
    return value if changed is None else changed


def _from_text(kind: str, value: str, levels: int) -> Any:
    """The same value in another type, or the text itself where there is no exact one."""
    if kind == "integer":
        return int(value) if _INTEGER.fullmatch(value) else value
    if kind == "number":
        return _number(value)
    if kind == "boolean":
        return value == "true" if value in ("true", "false") else value
    return _decoded(value, dict if kind == "object" else list, levels)


def _number(value: str) -> str | int | float:
    if _INTEGER.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        number = float(value)
        if Decimal(repr(number)) == Decimal(value):
            return one_form(number)
    return value


def _decoded(value: str, wanted: type, levels: int) -> Any:
    try:
        decoded = parse_json(value, levels)
    except ValueError:
        return value
    return decoded if type(decoded) is wanted else value


def _fill(node: _Node, value: Any) -> Any:
    """The value with its defaults; the value itself if nothing is absent."""
    kind = cast("type[object]", type(value))
    if not node.fills:
        return value
    if kind is dict:
        return _fill_members(node, value)
    if kind is list and node.items is not None:
        return _fill_items(node.items, value)
    return value


def _fill_members(node: _Node, value: dict[str, Any]) -> dict[str, Any]:
    filled = {name: deepcopy(default) for name, default in node.defaults.items() if name not in value}
    for name, item in value.items():
        inner = node.properties.get(name, node.others)
        if inner is not None:
            after = _fill(inner, item)
            if after is not item:
                filled[name] = after
    return {**value, **filled} if filled else value


def _fill_items(inner: _Node, value: list[Any]) -> list[Any]:
    filled = [_fill(inner, item) for item in value]
    return filled if any(new is not old for new, old in zip(filled, value, strict=True)) else value
