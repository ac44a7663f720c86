"""`Definition`, `Parameter`, `ParameterSchema`: they build a `ToolSpec` without any JSON Schema written by hand.

Every object that names its properties is closed; an object that names none is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, Unpack, cast, get_args

from ..errors import SpecError
from . import rules
from .fields import SpecFields, contract_values
from .rules import Rule, check_fields, did_you_mean, known_names
from .tool_spec import ToolSpec

ParameterType: TypeAlias = Literal["string", "number", "integer", "boolean", "object", "array"]

_ENUM_OF: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSchema:
    """A nested value: the items of an array or a property of an object."""

    type: ParameterType
    description: str = ""
    enum: Sequence[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    items: ParameterSchema | None = None
    properties: Mapping[str, ParameterSchema] | None = None
    required: Sequence[str] = ()
    """Which of the properties must be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a tool. Nested values have no name of their own, so they are `ParameterSchema`."""

    name: str
    type: ParameterType
    description: str = ""
    required: bool = False
    enum: Sequence[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    items: ParameterSchema | None = None
    properties: Mapping[str, ParameterSchema] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a tool is called, says of itself and takes."""

    name: str
    description: str
    display: str = ""
    """A template for people, such as `Reading {path}`."""
    parameters: Sequence[Parameter] = field(default_factory=tuple[Parameter, ...])

    def to_spec(self, **fields: Unpack[SpecFields]) -> ToolSpec:
        """The contract, with any other field of `ToolSpec`.

        Raises:
            SpecError: A parameter contradicts itself; the message holds its path.
        """
        where = f"tool {self.name!r:.200}"
        check_fields(where, self, _DEFINITION)
        properties: dict[str, Any] = {}
        for index, parameter in enumerate(self.parameters):
            if not isinstance(parameter, Parameter):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SpecError(f"{where}: parameters[{index}] must be a Parameter, not {parameter!r:.80}")
            check_fields(f"{where}: parameters[{index}]", parameter, {"name": rules.text})
            path = f"{where}: parameters.{parameter.name}"
            if not parameter.name or parameter.name in properties:
                raise SpecError(f"{path}: " + ("named twice" if parameter.name else "the name is empty"))
            properties[parameter.name] = _schema(parameter, (), path)
        required = [parameter.name for parameter in self.parameters if parameter.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return ToolSpec(
            name=self.name,
            description=self.description,
            display=self.display,
            parameters=schema,
            **contract_values(where, fields, SpecFields),
        )


def _schema(value: Parameter | ParameterSchema, required: Sequence[str], path: str) -> dict[str, Any]:
    _check(value, path)
    schema: dict[str, Any] = {"type": value.type}
    if value.description:
        schema["description"] = value.description
    if value.enum is not None:
        schema["enum"] = list(value.enum)
    for keyword in ("minimum", "maximum", "pattern"):
        if getattr(value, keyword) is not None:
            schema[keyword] = getattr(value, keyword)
    if value.items is not None:
        schema["items"] = _nested(value.items, f"{path}.items")
    if value.type == "object":
        schema |= _object(value.properties, required, path)
    return schema


def _nested(value: ParameterSchema, path: str) -> dict[str, Any]:
    if not isinstance(value, ParameterSchema):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SpecError(f"{path} must be a ParameterSchema, not {value!r:.80}")
    if value.required and value.type != "object":
        raise SpecError(f"{path}: required is a list of properties, so it needs type 'object', not {value.type!r}")
    return _schema(value, value.required, path)


def _object(properties: Mapping[str, ParameterSchema] | None, required: Sequence[str], path: str) -> dict[str, Any]:
    if rules.names(required) is not None:
        raise SpecError(f"{path}: required of a nested object is a list of property names, not {required!r}")
    for name in required:
        if name not in (properties or {}):
            raise SpecError(f"{path}: required names {name!r}, which is not in properties")
    if properties is None:
        return {"additionalProperties": True}
    built = {name: _nested(inner, f"{path}.properties.{name}") for name, inner in properties.items()}
    return {"properties": built, "required": list(required), "additionalProperties": False}


def _check(value: Parameter | ParameterSchema, path: str) -> None:
    def refuse(why: str) -> None:
        raise SpecError(f"{path}: {why}")

    kinds = get_args(ParameterType)
    if value.type not in kinds:
        refuse(f"unknown type {value.type!r:.80}{did_you_mean(value.type, kinds)}{known_names(kinds)}")
    check_fields(path, value, _PARAMETER if isinstance(value, Parameter) else _NESTED)
    for keyword, types in (
        ("items", ("array",)),
        ("properties", ("object",)),
        ("pattern", ("string",)),
        ("minimum", ("number", "integer")),
        ("maximum", ("number", "integer")),
        ("enum", tuple(_ENUM_OF)),
    ):
        if getattr(value, keyword) is not None and value.type not in types:
            refuse(f"{keyword} needs type {' or '.join(map(repr, types))}, not {value.type!r}")
    if value.minimum is not None and value.maximum is not None and value.minimum > value.maximum:
        refuse(f"minimum {value.minimum} is above maximum {value.maximum}")
    if value.enum is not None:
        _check_enum(value.enum, value.type, path)


def _check_enum(enum: Sequence[Any], kind: str, path: str) -> None:
    if not isinstance(enum, list | tuple) or not enum:
        raise SpecError(f"{path}: enum must be a list of at least one value")
    for member in cast("Sequence[object]", enum):
        if not isinstance(member, _ENUM_OF[kind]) or (isinstance(member, bool) and kind != "boolean"):
            raise SpecError(f"{path}: enum holds {member!r}, which is not of type {kind!r}")


_NESTED: Final[Mapping[str, Rule]] = {
    "description": rules.text,
    "minimum": rules.optional(rules.number),
    "maximum": rules.optional(rules.number),
    "pattern": rules.optional(rules.text),
    "items": rules.optional(rules.instance_of(ParameterSchema, "a ParameterSchema")),
    "properties": rules.optional(rules.mapping),
}
"""What `type`, `enum` and `required` may be depends on other fields."""
_PARAMETER: Final[Mapping[str, Rule]] = {**_NESTED, "required": rules.flag}
_DEFINITION: Final[Mapping[str, Rule]] = {
    "name": rules.text,
    "description": rules.text,
    "display": rules.text,
    "parameters": rules.instance_of((list, tuple), "a list of Parameter"),
}
