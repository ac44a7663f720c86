"""From a tool's JSON Schema to the Cedar types of its arguments. What has no one type cannot be read by a policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from ..spec import DATA_SOURCES, ToolSpec
from .syntax import Path

RESERVED: Final = frozenset({"__entity", "__extn", "__expr"})
"""Keys with which a JSON value would turn into something else in Cedar."""
_DEPTH_MAX: Final = 32
_KINDS: Final[Mapping[str, Scalar]] = {"string": "String", "integer": "Long", "boolean": "Boolean", "number": "decimal"}

Scalar: TypeAlias = Literal["String", "Long", "Boolean", "decimal"]


@dataclass(frozen=True, slots=True)
class SetOf:
    """An array whose elements all have one type. Order and repetition do not exist for a policy."""

    element: CedarType


@dataclass(frozen=True, slots=True)
class RecordOf:
    """An object."""

    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property: its type, `None` if a policy cannot read it, and whether it is always there and not null."""

    type: CedarType | None
    required: bool


CedarType: TypeAlias = Scalar | SetOf | RecordOf


def argument_types(spec: ToolSpec) -> RecordOf:
    """The Cedar type of a tool's final arguments: what the model may write, and injected facts as strings.

    Injected objects of the running call, such as `logger`, are no data: a policy never sees them.
    """
    read = _Reader(spec.parameters)
    found = read.type_of({"type": "object", **spec.parameters}, 0, ())
    attributes = dict(found.attributes) if isinstance(found, RecordOf) else {}
    attributes.update((name, Attribute("String", required=True)) for name in _facts(spec))
    return RecordOf(attributes)


def _facts(spec: ToolSpec) -> Iterable[str]:
    return (name for name, source in spec.injected.items() if source in DATA_SOURCES)


def top_level_names(spec: ToolSpec) -> Iterable[str]:
    """Names of a tool's arguments, without working out their types unless the schema hides them."""
    properties = spec.parameters.get("properties")
    if isinstance(properties, Mapping):
        return (*cast("Mapping[str, Any]", properties), *_facts(spec))
    return argument_types(spec).attributes


class _Reader:
    """Follows references inside one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def type_of(self, node: object, depth: int, seen: tuple[str, ...]) -> CedarType | None:
        """The one type of a schema, null aside; `None` if it has none or several."""
        if not isinstance(node, Mapping) or depth > _DEPTH_MAX:
            return None
        schema = cast("Mapping[str, Any]", node)
        reference = schema.get("$ref")
        if reference is not None:
            target = None if reference in seen else self._resolve(reference)
            return self.type_of(target, depth + 1, (*seen, reference))
        for word in ("anyOf", "oneOf", "allOf"):
            branches = schema.get(word)
            if isinstance(branches, list) and "type" not in schema:
                return self._one(cast("list[Any]", branches), depth, seen)
        kind = _kind(schema)
        if kind == "array":
            element = self.type_of(schema.get("items"), depth + 1, seen) if "prefixItems" not in schema else None
            return None if element is None else SetOf(element)
        if kind == "object":
            return self._record(schema, depth, seen)
        return None if kind is None else _KINDS.get(kind)

    def nullable(self, node: object, depth: int, seen: tuple[str, ...]) -> bool:
        """Whether null may be valid. In doubt it may."""
        if not isinstance(node, Mapping) or depth > _DEPTH_MAX:
            return True
        schema = cast("Mapping[str, Any]", node)
        reference = schema.get("$ref")
        if reference is not None:
            return reference in seen or self.nullable(self._resolve(reference), depth + 1, (*seen, reference))
        for word, decides in (("anyOf", any), ("oneOf", any), ("allOf", all)):
            branches = schema.get(word)
            if isinstance(branches, list) and "type" not in schema:
                return decides(self.nullable(b, depth + 1, seen) for b in cast("list[Any]", branches))
        type_ = schema.get("type")
        if type_ is not None:
            return type_ == "null" or (isinstance(type_, list) and "null" in type_)
        values = _constants(schema)
        return values is None or None in values

    def _one(self, branches: list[Any], depth: int, seen: tuple[str, ...]) -> CedarType | None:
        found: list[CedarType | None] = [self.type_of(b, depth + 1, seen) for b in branches if not _only_null(b)]
        return found[0] if found and all(type_ == found[0] for type_ in found) else None

    def _record(self, schema: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> RecordOf:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return RecordOf({})
        listed = schema.get("required")
        required = frozenset(cast("list[str]", listed) if isinstance(listed, list | tuple) else ())
        return RecordOf(
            {
                name: Attribute(
                    self.type_of(node, depth + 1, seen),
                    required=name in required and not self.nullable(node, depth + 1, seen),
                )
                for name, node in cast("Mapping[str, Any]", properties).items()
                if name not in RESERVED
            }
        )

    def _resolve(self, reference: object) -> object:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        node: object = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            if not isinstance(node, Mapping):
                return None
            node = cast("Mapping[str, object]", node).get(part.replace("~1", "/").replace("~0", "~"))
        return node


def _kind(schema: Mapping[str, Any]) -> str | None:
    type_ = schema.get("type")
    if isinstance(type_, list):
        kinds = [kind for kind in cast("list[str]", type_) if kind != "null"]
        return kinds[0] if len(kinds) == 1 else None
    if isinstance(type_, str):
        return type_
    values = [value for value in _constants(schema) or () if value is not None]
    names = {bool: "boolean", int: "integer", str: "string"}
    kinds = {names.get(value.__class__) for value in values}
    return kinds.pop() if len(kinds) == 1 else None


def _only_null(node: object) -> bool:
    return isinstance(node, Mapping) and cast("Mapping[str, Any]", node).get("type") == "null"


def _constants(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return cast("list[Any]", values) if isinstance(values, list) else None


def find(record: RecordOf, path: Path) -> Attribute | None:
    """The property at a path, or `None` if there is none. Below a property without a type everything is unreadable."""
    found = Attribute(record, required=True)
    for name in path:
        if found.type is None:
            return found
        inner = found.type.attributes.get(name) if isinstance(found.type, RecordOf) else None
        if inner is None:
            return None
        found = inner
    return found


def paths_of(record: RecordOf) -> Iterable[Path]:
    """All paths to a property, outer ones first."""
    for name, attribute in record.attributes.items():
        yield (name,)
        if isinstance(attribute.type, RecordOf):
            yield from ((name, *inner) for inner in paths_of(attribute.type))


def as_schema(type_: CedarType) -> dict[str, Any]:
    """A type as the JSON schema format of Cedar writes it, without what a policy cannot read."""
    if isinstance(type_, SetOf):
        return {"type": "Set", "element": as_schema(type_.element)}
    if isinstance(type_, RecordOf):
        attributes = {
            name: {**as_schema(attribute.type), "required": attribute.required}
            for name, attribute in type_.attributes.items()
            if attribute.type is not None
        }
        return {"type": "Record", "attributes": attributes}
    return {"type": "Extension", "name": "decimal"} if type_ == "decimal" else {"type": type_}
