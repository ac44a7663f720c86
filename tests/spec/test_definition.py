"""The builders of contracts: what they build, and what they refuse with a path."""

from typing import Any

import pytest

from surehand.errors import SpecError
from surehand.schema import compile_parameters
from surehand.spec import Definition, Parameter, ParameterSchema, Retry


def definition(*parameters: Parameter) -> Definition:
    return Definition(name="ship", description="Ships an order.", display="Shipping {order}", parameters=parameters)


def test_builds_json_schema() -> None:
    address = {"zip": ParameterSchema(type="string", pattern="^[0-9]{5}$"), "note": ParameterSchema(type="string")}
    spec = definition(
        Parameter(name="order", type="string", description="Which.", required=True),
        Parameter(name="speed", type="string", enum=["slow", "fast"]),
        Parameter(name="kilos", type="number", minimum=0, maximum=30),
        Parameter(name="to", type="object", properties=address),
        Parameter(
            name="boxes",
            type="array",
            items=ParameterSchema(
                type="object",
                description="A box.",
                properties={"cm": ParameterSchema(type="integer", minimum=1)},
                required=["cm"],
            ),
        ),
        Parameter(name="labels", type="object"),
        Parameter(name="gift", type="boolean"),
    ).to_spec(version="2.0.0", risk="medium", retry="simple")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "order": {"type": "string", "description": "Which."},
            "speed": {"type": "string", "enum": ["slow", "fast"]},
            "kilos": {"type": "number", "minimum": 0, "maximum": 30},
            "to": {
                "type": "object",
                "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}, "note": {"type": "string"}},
                "required": [],
                "additionalProperties": False,
            },
            "boxes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "A box.",
                    "properties": {"cm": {"type": "integer", "minimum": 1}},
                    "required": ["cm"],
                    "additionalProperties": False,
                },
            },
            "labels": {"type": "object", "additionalProperties": True},
            "gift": {"type": "boolean"},
        },
        "required": ["order"],
        "additionalProperties": False,
    }
    assert (spec.id, spec.risk, spec.retry, spec.display) == (
        "ship@2.0.0",
        "medium",
        Retry(kind="simple"),
        "Shipping {order}",
    )
    compile_parameters(spec.parameters, "ship")


def test_without_parameters() -> None:
    validator = compile_parameters(definition().to_spec().parameters, "ship")
    assert validator.is_valid({})
    assert not validator.is_valid({"a": 1})


def wrong(**fields: Any) -> Parameter:
    given: dict[str, Any] = {"name": "x", "type": "string", **fields}
    return Parameter(**given)


STRING = ParameterSchema(type="string")


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ([wrong(type="text")], "parameters.x: unknown type 'text'"),
        ([wrong(items=STRING)], "parameters.x: items needs type 'array'"),
        ([wrong(properties={})], "parameters.x: properties needs type 'object'"),
        ([wrong(minimum=1)], "parameters.x: minimum needs type 'number' or 'integer'"),
        ([wrong(type="integer", pattern="a")], "parameters.x: pattern needs type 'string'"),
        ([wrong(type="number", minimum=2, maximum=1)], "parameters.x: minimum 2 is above maximum 1"),
        ([wrong(enum=[])], "parameters.x: enum must be a list"),
        ([wrong(enum="abc")], "parameters.x: enum must be a list"),
        ([wrong(enum=[1])], "parameters.x: enum holds 1"),
        ([wrong(type="integer", enum=[True])], "parameters.x: enum holds True"),
        ([wrong(type="array", enum=[[]])], "parameters.x: enum needs type"),
        ([wrong(), wrong()], "parameters.x: named twice"),
        ([wrong(name="")], "the name is empty"),
        (
            [wrong(type="array", items=ParameterSchema(type="object", properties={"a": STRING}, required=["b"]))],
            "parameters.x.items: required names 'b'",
        ),
        ([wrong(type="array", items=ParameterSchema(type="object", required=["b"]))], "required names 'b'"),
        (
            [wrong(type="array", items=ParameterSchema(type="string", required=["b"]))],
            "required is a list of properties",
        ),
        (
            [wrong(type="object", properties={"a": ParameterSchema(type="object", required="ab")})],
            "parameters.x.properties.a: required of a nested object is a list",
        ),
        (
            [wrong(type="object", properties={"a": ParameterSchema(type="array", items=ParameterSchema(type="int"))})],  # pyright: ignore[reportArgumentType]
            "parameters.x.properties.a.items: unknown type 'int'",
        ),
        ([wrong(type=5)], "parameters.x: unknown type 5"),
        ([wrong(type="strng")], "did you mean 'string'?"),
        ([wrong(required="no")], "parameters.x: required must be True or False"),
        ([wrong(description=5)], "parameters.x: description must be a string"),
        ([wrong(type="number", minimum="1")], "parameters.x: minimum must be a finite number"),
        ([wrong(type="number", maximum=float("nan"))], "parameters.x: maximum must be a finite number"),
        ([wrong(type="number", maximum=True)], "parameters.x: maximum must be a finite number"),
        ([wrong(pattern=5)], "parameters.x: pattern must be a string"),
        ([wrong(type="array", items={"type": "string"})], "parameters.x: items must be a ParameterSchema"),
        ([wrong(type="object", properties=["a"])], "parameters.x: properties must be a mapping"),
        ([wrong(type="object", properties={"a": 5})], "parameters.x.properties.a must be a ParameterSchema"),
        ([wrong(enum=5)], "parameters.x: enum must be a list"),
        ([wrong(name=5)], "parameters[0]: name must be a string"),
        ([5], "parameters[0] must be a Parameter, not 5"),
        (
            [wrong(type="object", properties={"a": ParameterSchema(type="object", required=[1])})],  # pyright: ignore[reportArgumentType]
            "parameters.x.properties.a: required of a nested object is a list",
        ),
    ],
)
def test_refused(parameters: list[Parameter], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        definition(*parameters).to_spec()
    assert why in str(caught.value)
    assert "tool 'ship'" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": 5}, "name must be a string"),
        ({"description": 5}, "description must be a string"),
        ({"display": 5}, "display must be a string"),
        ({"parameters": 5}, "parameters must be a list of Parameter"),
    ],
)
def test_a_definition_is_refused(fields: dict[str, Any], why: str) -> None:
    given: dict[str, Any] = {"name": "ship", "description": "Ships.", **fields}
    with pytest.raises(SpecError) as caught:
        Definition(**given).to_spec()
    assert why in str(caught.value)


def test_a_field_that_does_not_exist() -> None:
    with pytest.raises(SpecError, match="there is no field 'read_onyl'; did you mean 'read_only'"):
        definition().to_spec(read_onyl=True)  # pyright: ignore[reportCallIssue]
