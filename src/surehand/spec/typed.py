"""Python types as JSON Schema, and values between the two. With `writing`, the only module that knows pydantic."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter as _Signature
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from ..errors import SpecError
from ..types import Attachment, Output
from .hashes import canonical_json
from .numbers import one_form
from .places import Places
from .writing import WRITES_SECRET, Write, holds_secret, same, writers

MAX_SAID: Final = 300
"""Characters of one message of a type."""
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

    def json_or_python_schema(self, schema: Any) -> JsonSchemaValue:
        generated = super().json_or_python_schema(schema)
        secret = schema.get("serialization", {}).get("function") is WRITES_SECRET
        return {**generated, "writeOnly": True} if secret else generated

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        if holds_secret(schema.get("default")):  # the model would see it, or its mask be taken for it
            schema = {key: value for key, value in schema.items() if key != "default"}
        return super().default_schema(schema)

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
    except Exception as error:
        raise SpecError(f"tool {tool!r}: {_culprit(parameters)}: {_first_line(error)}") from None
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for parameter, field in zip(parameters, model.model_fields.values(), strict=True):
        if field.default_factory_takes_validated_data:
            raise SpecError(
                f"tool {tool!r}: parameter {parameter.name!r} has a default_factory that takes other arguments; "
                "work the value out in the function"
            )
    if all(map(_passes_as_it_is, parameters, model.model_fields.values())):
        return DerivedArguments(schema, None, None)
    _require_fitting_defaults(tool, schema, parameters)
    way = _Way(model, schema, {parameter.name: field for parameter, field in zip(parameters, names, strict=True)})
    return DerivedArguments(schema, way.bind, way.canonical)


def _require_fitting_defaults(tool: str, schema: dict[str, Any], parameters: Sequence[Parameter]) -> None:
    """Reads the defaults of a schema by the types: JSON Schema does not say all that a type does."""
    defaults = {name: node["default"] for name, node in schema["properties"].items() if "default" in node}
    given = [parameter for parameter in parameters if _json_name(parameter) in defaults]
    names = {f"p{index}": _json_name(parameter) for index, parameter in enumerate(given)}
    way = _Way(_model(given, names), schema, {parameter.name: f for parameter, f in zip(given, names, strict=True)})
    try:
        way.canonical(way.bind(msgspec.json.encode(defaults)))
    except ValueError as error:
        raise SpecError(f"tool {tool!r}: a default is not of the type that it stands in: {error}") from None


class _Way:
    """Between JSON and the types of one function's arguments."""

    def __init__(self, model: type[BaseModel], schema: dict[str, Any], fields: dict[str, str]) -> None:
        self.model = model
        self.schema = schema
        self.fields = fields
        """Parameter -> field of the model."""
        self.names = {field: str(info.alias) for field, info in model.model_fields.items()}
        """Field -> name in JSON."""
        self.writers = writers(model)

    def bind(self, data: bytes) -> dict[str, Any]:
        """See `Tool.bind`."""
        values = vars(self._read(data))
        return {name: values[field] for name, field in self.fields.items()}

    def canonical(self, typed: dict[str, Any]) -> dict[str, Any]:
        """See `Tool.canonical`."""
        known = {self.names[field]: typed[name] for name, field in self.fields.items() if name in typed}
        value = self.model.model_construct(**known)
        problem = ""
        for write in self.writers:
            written = _written(write, value)
            if written is not None:
                problem = self._problem(written, value, write)
                if not problem:
                    return written
        raise ValueError(problem or "$: the values are not of the types that the function declares")

    def _read(self, data: bytes) -> BaseModel:
        try:
            return self.model.model_validate_json(data, strict=True)
        except ValidationError as error:
            raise ValueError(self._say(error)) from None
        except Exception:  # of a validator; its text may be anything
            raise ValueError(f"{self._raising(data)}: the type of this argument cannot take the value") from None

    def _problem(self, written: dict[str, Any], value: BaseModel, write: Write) -> str:
        """Why written values would not be read as the same; empty if they would."""
        try:
            again = self._read(msgspec.json.encode(written))
        except ValueError as error:
            return str(error)
        rewritten = _written(write, again) or {}
        for field, name in self.names.items():
            equal = same(vars(value).get(field), vars(again)[field])
            if not equal or canonical_json(written.get(name)) != canonical_json(rewritten.get(name)):
                return (
                    f"$.{name}: the tool cannot take this value: its type makes another value of it each time it is "
                    "read; send another value, or tell the people who run the tool"
                )
        return ""

    def _raising(self, data: bytes) -> str:
        """Which argument's type raises something else than an error of validation, found by giving each alone."""
        try:
            given: dict[str, Any] = msgspec.json.decode(data)
        except ValueError:
            return "$"
        for name in self.names.values():
            if name in given:
                try:
                    self.model.model_validate_json(msgspec.json.encode({name: given[name]}), strict=True)
                except ValidationError:
                    continue
                except Exception:
                    return f"$.{name}"
        return "$"

    def _say(self, error: ValidationError) -> str:
        """Where and what, without the value: it may be a secret."""
        places = Places(self.schema)
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(_message(places, item["loc"], item["msg"]) for item in found[:5])


def _message(places: Places, parts: tuple[int | str, ...], said: str) -> str:
    argument = parts[:1]
    if argument and places.holds_secret(argument):
        # A validator may say the value. A key inside a secret is part of it.
        inside = places.secret_from(argument) is None
        return f"{_path(parts if inside else argument)}: not a value that this argument can have"
    return f"{_path(parts)}: {_cut(said)}"


def _written(write: Write, value: BaseModel) -> dict[str, Any] | None:
    try:
        return one_form(write(value))
    except Exception:  # its text holds values
        return None


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
    except Exception as error:
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
        annotation = Annotated[parameter.annotation, Field(**extra)]
        # Without one, a default inside the annotation counts.
        fields[field] = annotation if parameter.default is _Signature.empty else (annotation, parameter.default)
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
        except Exception:
            return True
        return False

    return next((f"parameter {parameter.name!r}" for parameter in parameters if fails(parameter)), "its parameters")


def _passes_as_it_is(parameter: Parameter, field: FieldInfo) -> bool:
    """Whether the JSON value is the argument, under the same name, and its default is in the schema."""
    return (
        _is_plain(parameter.annotation)
        and field.alias == parameter.name
        and field.default_factory is None
        and not isinstance(parameter.default, FieldInfo)
    )


def _is_plain(annotation: Any) -> bool:
    """Whether a JSON value that fits the schema already is what the annotation says."""
    if annotation in (str, int, bool, None, type(None), Any, list, dict, JsonValue):  # a float may be written 5
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
        if isinstance(inner, Enum) and not isinstance(inner, str):
            raise SpecError(
                f"tool {tool!r}: parameter {parameter.name!r} is a Literal of {inner}, which no JSON value equals; "
                "write the enum itself, or a Literal of its values"
            )


def _inside(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _inside(inner)


def _path(parts: tuple[int | str, ...]) -> str:
    return _cut("$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SAID else text[: MAX_SAID - 1] + "…"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
