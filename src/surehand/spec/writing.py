"""How typed values are written so that reading makes equal ones of them.

Pydantic's own way of writing is made for output: it masks secrets, leaves out fields marked `exclude`, adds computed
ones, uses names that reading does not know, and writes sets in any order. Here its schema is changed so that each
value is written as it is read. With `typed`, the only module that knows pydantic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, TypeAdapter
from pydantic_core import SchemaSerializer

from .hashes import canonical_json

_HOLDERS: Final = frozenset(
    {
        *("schema", "items_schema", "keys_schema", "values_schema", "extras_schema", "choices", "fields"),
        *("lax_schema", "strict_schema", "json_schema", "python_schema", "steps", "definitions"),
    }
)
"""Where a core schema holds others."""

WRITES_SECRET: Final = cast("dict[str, Any]", TypeAdapter(Secret[int]).core_schema)["serialization"]["function"]
"""How pydantic's own schema of a `Secret[T]` can be told: its JSON Schema does not say `writeOnly`."""

Write = Callable[[BaseModel], dict[str, Any]]


def writers(model: type[BaseModel]) -> list[Write]:
    """The ways to write a model, the likeliest to be read back first.

    A serializer that a user put on a model or a field may be the counterpart of a validator, or may only be for
    output; that shows when its text is read. So there is a way with them and, if there are any, one without.
    """
    schema = cast("dict[str, Any]", model.__pydantic_core_schema__)
    found: list[Any] = []
    rewritten = [_rewrite(schema, True, found)]
    if found:
        rewritten.append(_rewrite(schema, False, []))
    return [_writer(one) for one in rewritten]


def _writer(schema: Any) -> Write:
    # Otherwise the classes inside would be written by their own serializers.
    serializer = SchemaSerializer(schema, _use_prebuilt=False)

    def write(value: BaseModel) -> dict[str, Any]:
        return serializer.to_python(value, mode="json", by_alias=True, round_trip=True, warnings="error")

    return write


def _rewrite(value: Any, keep: bool, found: list[Any]) -> Any:
    """A core schema, or what is between two, with each value written as it is read.

    Args:
        value: Not changed.
        keep: Whether serializers of models and fields are kept.
        found: Collects those serializers.
    """
    if isinstance(value, list | tuple):
        items = [_rewrite(item, keep, found) for item in cast("list[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if not isinstance(members.get("type"), str):  # names of fields, or tags of choices
        return {name: _rewrite(item, keep, found) for name, item in members.items()}
    node = {key: _rewrite(item, keep, found) if key in _HOLDERS else item for key, item in members.items()}
    node.pop("computed_fields", None)
    if node["type"].endswith("-field"):
        _rename(node)
    serialization = node.get("serialization")
    if serialization is not None:
        if node["type"] in ("model", "dataclass") or serialization.get("is_field_serializer"):
            found.append(serialization)
            if not keep:
                del node["serialization"]
        elif serialization["type"] == "function-plain":
            node["serialization"] = {**serialization, "function": _revealing(serialization["function"])}
    if node["type"] in ("set", "frozenset") and "serialization" not in node:
        node["serialization"] = {"type": "function-wrap", "function": _sorted, "schema": _unnamed(node)}
    return node


def _rename(field: dict[str, Any]) -> None:
    """Lets a field be written under the name that it is read by."""
    for keyword in ("serialization_exclude", "serialization_exclude_if", "serialization_alias"):
        field.pop(keyword, None)
    if field.get("init") is False:  # worked out by the class itself
        field["serialization_exclude"] = True
    alias = field.get("validation_alias")
    if isinstance(alias, list):  # one path, or several to choose from
        paths = cast("list[Any]", alias)
        choices = paths if isinstance(paths[0], list) else [paths]
        alias = next((choice[0] for choice in choices if len(choice) == 1), None)
    if isinstance(alias, str):
        field["serialization_alias"] = alias


def _unnamed(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in node.items() if key != "ref"}


def _sorted(value: Any, handler: Callable[[Any], list[Any]]) -> list[Any]:
    return sorted(handler(value), key=canonical_json)


def _revealing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A type's own way of writing, but a secret is written as it is: arguments are sealed where they rest."""

    def write(value: Any, *info: Any) -> Any:
        reveal = _reveal(value)
        return reveal(value) if reveal is not None else function(value, *info)

    return write


def _reveal(value: Any) -> Callable[[Any], Any] | None:
    """How a secret gives its value; `None` if it is none."""
    kind = cast("type[Any]", type(value))
    if issubclass(kind, Secret | SecretStr | SecretBytes):
        return lambda secret: secret.get_secret_value()
    # So has `surehand.Secret`, whose room lies above.
    reveal = getattr(kind, "reveal", None)
    return reveal if callable(reveal) else None


def holds_secret(value: Any) -> bool:
    """Whether a value is a secret object, or has one in it."""
    if _reveal(value) is not None:
        return True
    if isinstance(value, Mapping):
        return any(map(holds_secret, cast("Mapping[Any, Any]", value).values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(holds_secret, cast("list[Any]", value)))
    if isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return any(map(holds_secret, getattr(value, "__dict__", {}).values()))
    return False


def same(one: Any, other: Any) -> bool:
    """Whether two values, each made from JSON text, are equal: also the parts that are not written."""
    if type(one) is not type(other):
        return False
    try:
        if one == other:
            return True
    except Exception:
        return False
    if isinstance(one, float):
        return one != one and other != other
    if isinstance(one, Mapping):
        return _same_members(cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other))
    if isinstance(one, list | tuple):
        pairs = zip(cast("list[Any]", one), cast("list[Any]", other), strict=False)
        return len(cast("list[Any]", one)) == len(other) and all(same(a, b) for a, b in pairs)
    return _same_objects(one, other)


def _same_members(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return one.keys() == other.keys() and all(same(item, other[name]) for name, item in one.items())


def _same_objects(one: Any, other: Any) -> bool:
    if isinstance(one, BaseModel):
        # Private attributes may be locks, or the time.
        fields = type(one).model_fields
        return _same_members(*({name: vars(it).get(name) for name in fields} for it in (one, other))) and same(
            one.model_extra, other.model_extra
        )
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one) if field.compare]
        return _same_members(*({name: getattr(it, name, None) for name in names} for it in (one, other)))
    # A class that says nothing of equality: what it was written as has to do.
    return type(one).__eq__ is object.__eq__ and same(getattr(one, "__dict__", None), getattr(other, "__dict__", None))
