"""Arguments as the original schema means them: real property names, and absent where null only stands for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, cast
from urllib.parse import quote, unquote

import msgspec

from ...schema import parse_arguments
from ...schema.keywords import Schema, walk
from ...schema.nulls import accepts_null
from ...spec.places import follow
from .names import wire_names

_DEPTH: Final = 64
_ALTERNATIVE: Final = 8
"""Levels that an alternative counts for: each is looked at twice, so many nested ones would take for ever."""
_CONDITIONS: Final = ("if", "then", "else")


class Restoration(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be undone in the arguments of one exported tool."""

    parameters: dict[str, Any]
    """The original schema."""
    drop_nulls: bool = False
    """Whether optional properties were exported as required ones that accept null."""
    names: dict[str, str] = {}
    """Property name on the wire -> the real one, for those that differ."""

    def apply(self, arguments: dict[str, Any] | str) -> dict[str, Any] | str:
        """The arguments restored; as they were written if nothing is to be undone or they are not one JSON object."""
        if isinstance(arguments, str):
            parsed = parse_arguments(arguments)
            if not isinstance(parsed, dict):
                return arguments
            restored = self._value(parsed, [self.parameters])
            return arguments if restored == parsed else restored
        return self._value(arguments, [self.parameters])

    def _value(self, value: Any, schemas: list[Any]) -> Any:
        if isinstance(value, dict):
            return self._members(cast("dict[str, Any]", value), list(self._applying(schemas, value)))
        if isinstance(value, list):
            items, nodes = cast("list[Any]", value), list(self._applying(schemas, value))
            return [
                self._value(item, [one for node in nodes for one in _of_item(node, index)])
                for index, item in enumerate(items)
            ]
        return value

    def _members(self, value: dict[str, Any], nodes: list[Schema]) -> dict[str, Any]:
        required = {name for node in nodes for name in node.get("required", [])}
        restored: dict[str, Any] = {}
        for written, item in value.items():
            real = self._real(written, nodes)
            name = written if real in value else real  # with both there, neither may take the other's place
            named = [node["properties"][name] for node in nodes if name in node.get("properties", {})]
            if item is None and name not in required and self._stands_for_nothing(named):
                continue
            inner = [one for node in nodes for one in _of_member(node, name)]
            restored[name] = self._value(item, inner)
        return restored

    def _stands_for_nothing(self, schemas: list[Any]) -> bool:
        """Whether null was only let in by the export."""
        return self.drop_nulls and not all(accepts_null(self.parameters, one) for one in schemas)

    def _real(self, written: str, nodes: list[Schema]) -> str:
        name = self.names.get(written, written)
        return name if any(_names(node, name) for node in nodes) else written

    def _applying(self, schemas: list[Any], value: Any, levels: int = _DEPTH) -> Iterator[Schema]:
        """All schemas that hold for one value, or may: behind references, in combinators and conditions.

        Of alternatives it is the one that the value fits.
        """
        for schema in schemas if levels > 0 else []:
            if not isinstance(schema, dict):
                continue
            here = cast("Schema", schema)
            yield here
            inner = [follow(self.parameters, here["$ref"])] if isinstance(here.get("$ref"), str) else []
            inner += cast("list[Any]", here.get("allOf", []))
            inner += [here[keyword] for keyword in _CONDITIONS if keyword in here]
            inner += cast("dict[str, Any]", here.get("dependentSchemas", {})).values()
            yield from self._applying(inner, value, levels - 1)
            below = levels - _ALTERNATIVE
            for keyword in ("anyOf", "oneOf"):
                fitting = (one for one in here.get(keyword, []) if self._fits(one, value, below))
                yield from self._applying([next(fitting, None)], value, below)

    def _fits(self, schema: Any, value: Any, levels: int) -> bool:
        """Whether a value looks like one of a schema: its type, fixed values, items, and just its properties."""
        wanted = "object" if isinstance(value, dict) else "array"
        for node in self._applying([schema], value, levels):
            kinds: Any = node.get("type", wanted)
            if wanted not in (kinds if isinstance(kinds, list) else [kinds]):
                return False
            if wanted == "object" and not self._looks_like(node, cast("dict[str, Any]", value)):
                return False
            if wanted == "array" and not self._holds(node, cast("list[Any]", value), levels - _ALTERNATIVE):
                return False
        return True

    def _holds(self, node: Schema, items: list[Any], levels: int) -> bool:
        return all(
            self._fits(one, item, levels)
            for index, item in enumerate(items)
            if isinstance(item, dict | list)
            for one in _of_item(node, index)
        )

    def _looks_like(self, node: Schema, value: dict[str, Any]) -> bool:
        properties = cast("Mapping[str, Any]", node.get("properties", {}))
        names = {self.names.get(name, name): item for name, item in value.items()}
        if not set(node.get("required", [])) <= names.keys() or (properties and not properties.keys() & names.keys()):
            return False
        if self.drop_nulls and properties and names.keys() != properties.keys():
            return False
        for name, sub in properties.items():
            if names.get(name) is not None and names[name] not in _fixed(sub, names[name]):
                return False
        return True


def _names(node: Schema, name: str) -> bool:
    """Whether a schema speaks of a property by its name."""
    return (
        name in node.get("properties", {})
        or name in node.get("required", [])
        or any(name in [one, *others] for one, others in node.get("dependentRequired", {}).items())
        or name in node.get("dependentSchemas", {})
    )


def _of_member(node: Schema, name: str) -> list[Any]:
    """The schemas that a schema may hold a member to. Its patterns are not run: each of them may match."""
    if name in node.get("properties", {}):
        return [node["properties"][name], *node.get("patternProperties", {}).values()]
    others = [node[keyword] for keyword in ("additionalProperties", "unevaluatedProperties") if keyword in node]
    return [*node.get("patternProperties", {}).values(), *others]


def _of_item(node: Schema, index: int) -> list[Any]:
    """The schemas that a schema may hold an item to."""
    places = cast("list[Any]", node.get("prefixItems", []))
    own = places[index : index + 1] or [node[keyword] for keyword in ("items", "unevaluatedItems") if keyword in node]
    return [*own, *([node["contains"]] if "contains" in node else [])]


def _fixed(schema: Any, otherwise: Any) -> list[Any]:
    """The values that a schema lists; if it lists none, the other one."""
    here: Schema = cast("Schema", schema) if isinstance(schema, dict) else {}
    return here.get("enum", [here.get("const", otherwise)])


def property_names(schema: Schema, pattern: str, length_max: int, start: str = "") -> dict[str, str]:
    """Gives each property of a schema, at any depth, a name that a provider accepts.

    Returns:
        Real name -> name on the wire.
    """
    found = {name for _, node in walk(schema) for name in node.get("properties", {})}
    found |= {name for _, node in walk(schema) for name in node.get("required", [])}
    found |= {name for _, node in walk(schema) for name in node.get("dependentSchemas", {})}
    for _, node in walk(schema):
        for name, others in node.get("dependentRequired", {}).items():
            found |= {name, *others}
    return wire_names(found, pattern, length_max, start=start)


def renamed(schema: Schema, table: Mapping[str, str]) -> Schema:
    """A copy of a schema with other property names.

    Args:
        schema: Not changed.
        table: Real name -> name on the wire.
    """
    copied = deepcopy(schema)
    for _, node in list(walk(copied)):
        for keyword in ("properties", "dependentSchemas", "dependentRequired"):
            if isinstance(node.get(keyword), dict):
                node[keyword] = {table.get(name, name): sub for name, sub in node[keyword].items()}
        for holder in (node, node.get("dependentRequired", {})):
            for keyword, value in list(holder.items()):
                if isinstance(value, list) and (keyword == "required" or holder is not node):
                    holder[keyword] = [table.get(name, name) for name in cast("list[str]", value)]
        if isinstance(node.get("$ref"), str):
            node["$ref"] = _renamed_reference(node["$ref"], table)
    return copied


def _renamed_reference(ref: str, table: Mapping[str, str]) -> str:
    steps = ref.split("/")
    for index in range(1, len(steps) - 1):
        if steps[index] == "properties":
            real = unquote(steps[index + 1]).replace("~1", "/").replace("~0", "~")
            if real in table:
                steps[index + 1] = quote(table[real].replace("~", "~0").replace("/", "~1"), safe="~$")
    return "/".join(steps)
