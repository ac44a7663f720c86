"""Python types as JSON Schema, and values between the two. Only this module knows pydantic."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter as _Signature
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError

from ..errors import SpecError
from ..types import Attachment, Output

_NO_JSON_FORM: Final = (PydanticUserError, SpecError, NameError, TypeError, AttributeError)
DECIMAL: Final = r"^-?[0-9]+(\.[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills in."""

    name: str
    annotation: Any
    default: Any
    """`inspect.Parameter.empty` if there is none."""
    description: str
    """From the docstring; one in `Field` wins."""


@dataclass(frozen=True, slots=True)
class DerivedArguments:
    """What the annotations of parameters come to."""

    schema: dict[str, Any]
    bind: Callable[[bytes], dict[str, Any]] | None
    canonical: Callable[[dict[str, Any]], dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class DerivedOutput:
    """What a return annotation comes to."""

    schema: dict[str, Any] | None
    dump: Callable[[Any], Any] | None


class _Generator(GenerateJsonSchema):
    """Closed objects, no titles that nobody wrote, decimals that stay exact."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        return _closed(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        return _closed(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: Any) -> JsonSchemaValue:
        return _closed(super().typed_dict_schema(schema), schema.get("cls"))

    def generate(self, schema: Any, mode: Any = "validation") -> JsonSchemaValue:
        # Pydantic names enums in metadata, which it applies after `enum_schema`.
        generated = super().generate(schema, mode)
        for node in (generated, *generated.get("$defs", {}).values()):
            if "enum" in node:
                node.pop("title", None)
        return generated

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        # As a number it would go through a float, and pydantic's own pattern needs look-around.
        return {"type": "string", "pattern": DECIMAL}

    def emit_warning(self, kind: Any, detail: str) -> None:
        raise SpecError(detail)


def _closed(schema: JsonSchemaValue, cls: type | None) -> JsonSchemaValue:
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def derive_arguments(tool: str, parameters: Sequence[Parameter]) -> DerivedArguments:
    """The schema of a function's arguments and the way between JSON and its types.

    Raises:
        SpecError: A type or a default has no JSON form.
    """
    for parameter in parameters:
        _refuse_lossy(tool, parameter)
    # Field names of pydantic may not begin with '_' or shadow its methods; parameters may. So they are aliases.
    names = {f"p{index}": _json_name(parameter) for index, parameter in enumerate(parameters)}
    if len(set(names.values())) < len(names):
        raise SpecError(f"tool {tool!r}: two parameters have the same name in JSON: {', '.join(names.values())}")
    try:
        model = _model(parameters, names)
        schema = model.model_json_schema(schema_generator=_Generator)
    except _NO_JSON_FORM as error:
        raise SpecError(f"tool {tool!r}: {_culprit(parameters)}: {_first_line(error)}") from None
    schema.pop("title", None)
    schema.setdefault("properties", {})
    if all(_is_plain(parameter.annotation) and _json_name(parameter) == parameter.name for parameter in parameters):
        return DerivedArguments(schema, None, None)
    fields = [(parameter.name, f"p{index}") for index, parameter in enumerate(parameters)]

    def bind(data: bytes) -> dict[str, Any]:
        try:
            values = model.model_validate_json(data, strict=True).__dict__
        except ValidationError as error:
            raise ValueError(_say(error)) from None
        return {name: values[field] for name, field in fields}

    def canonical(typed: dict[str, Any]) -> dict[str, Any]:
        known = {names[field]: typed[name] for name, field in fields if name in typed}
        try:
            return model.model_construct(**known).model_dump(mode="json", by_alias=True, warnings="error")
        except PydanticSerializationError:  # its text holds values
            raise ValueError("$: the values are not of the types that the function declares") from None

    return DerivedArguments(schema, bind, canonical)


def derive_output(tool: str, annotation: Any) -> DerivedOutput:
    """The schema of what a function returns. Text, bytes, `Output`, `None` and `Any` promise nothing.

    Raises:
        SpecError: The type has no JSON form.
    """
    if annotation in (None, type(None), Any, str, bytes, Attachment, Output):
        return DerivedOutput(None, None)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        schema = adapter.json_schema(mode="serialization", schema_generator=_Generator)
    except _NO_JSON_FORM as error:
        raise SpecError(
            f"tool {tool!r}: the return type has no JSON form: {_first_line(error)}; write a model, a dataclass, or Any"
        ) from None
    if _is_plain(annotation):
        return DerivedOutput(schema, None)
    return DerivedOutput(schema, lambda value: adapter.dump_python(value, mode="json", by_alias=True, warnings=False))


def _model(parameters: Sequence[Parameter], names: dict[str, str]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter, (field, alias) in zip(parameters, names.items(), strict=True):
        info = _field_info(parameter)
        extra: dict[str, Any] = {"alias": alias}
        if parameter.description and not (info and info.description):
            extra["description"] = parameter.description
        default = ... if parameter.default is _Signature.empty else parameter.default
        fields[field] = (Annotated[parameter.annotation, Field(**extra)], default)
    return create_model("Arguments", __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _field_info(parameter: Parameter) -> FieldInfo | None:
    marks = [parameter.default, *get_args(parameter.annotation)[1:]] if _annotated(parameter) else [parameter.default]
    return next((mark for mark in marks if isinstance(mark, FieldInfo)), None)


def _annotated(parameter: Parameter) -> bool:
    return get_origin(parameter.annotation) is Annotated


def _json_name(parameter: Parameter) -> str:
    info = _field_info(parameter)
    return (info.alias if info else None) or parameter.name


def _culprit(parameters: Sequence[Parameter]) -> str:
    """Which parameter cannot be derived, found by deriving each alone."""

    def fails(parameter: Parameter) -> bool:
        try:
            _model([parameter], {"p0": _json_name(parameter)}).model_json_schema(schema_generator=_Generator)
        except _NO_JSON_FORM:
            return True
        return False

    return next((f"parameter {parameter.name!r}" for parameter in parameters if fails(parameter)), "its parameters")


def _is_plain(annotation: Any) -> bool:
    """Whether a JSON value that fits the schema already is what the annotation says."""
    if annotation in (str, int, float, bool, None, type(None), Any, list, dict, JsonValue):
        return True
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_plain(inner[0]) and all(map(_only_constrains, inner[1:]))
    if origin is Literal:
        return all(type(value) in (str, int, bool, type(None)) for value in inner)
    if origin in (Union, types.UnionType, list):
        return all(map(_is_plain, inner))
    return origin is dict and inner[0] is str and _is_plain(inner[1])


def _only_constrains(mark: Any) -> bool:
    if not isinstance(mark, FieldInfo):
        return False
    described = type(mark).__module__.startswith("pydantic.")
    return described and all(type(inner).__module__ == "annotated_types" for inner in mark.metadata)


def _refuse_lossy(tool: str, parameter: Parameter) -> None:
    """Refuses annotations that pydantic takes, but through which no value comes back from JSON."""
    for inner in _inside(parameter.annotation):
        if inner in (SecretStr, SecretBytes):
            raise SpecError(
                f"tool {tool!r}: parameter {parameter.name!r} is a pydantic secret, which loses its value in JSON; "
                "write Annotated[str, Field(json_schema_extra={'writeOnly': True})]"
            )
        if isinstance(inner, Enum) and not isinstance(inner, str):
            raise SpecError(
                f"tool {tool!r}: parameter {parameter.name!r} is a Literal of {inner}, which no JSON value equals; "
                "write the enum itself, or a Literal of its values"
            )


def _inside(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _inside(inner)


def _say(error: ValidationError) -> str:
    """Where and what, without the value: it may be a secret."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{_path(item['loc'])}: {item['msg']}" for item in found[:5])


def _path(parts: tuple[int | str, ...]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
