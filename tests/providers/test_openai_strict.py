"""OpenAI's own helper for strict schemas has nothing to add to ours, in either of its formats."""

from __future__ import annotations

from copy import deepcopy
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pydantic
import pytest
from openai.lib import _pydantic, _tools  # the helper is private, and what `pydantic_function_tool` does
from pydantic import BaseModel, Field

from surehand.testing.dialect_wire import BOX, EITHER, WireFormat, spec_of, view_of
from tests.providers.wire import OpenAIChatWire
from tests.providers.wire_openai_responses import OpenAIResponsesWire


class Unit(Enum):
    CM = "cm"
    INCH = "inch"


class Size(BaseModel):
    """How large."""

    width: Annotated[int, Field(gt=0, description="In units.")]
    unit: Unit = Unit.CM


class Tree(BaseModel):
    """One node."""

    label: str
    size: Size = Field(description="Of the node alone.")
    children: list[Tree] = []
    parent: Tree | None = None


class Order(BaseModel):
    kind: Literal["new", "used"] = "new"
    when: date | None = None
    sizes: Annotated[list[Size], Field(min_length=1)]
    note: str | int | None = Field(None, description="If any.")
    best: Size | Tree | None = None


def parameters(required: bool = True, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties) if required else []}


def of_definition(**beside: Any) -> dict[str, Any]:
    """A reference, with what stands beside it."""
    node = {"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]}
    return {**parameters(x={"$ref": "#/$defs/Node", **beside}), "$defs": {"Node": node}}


RECURSIVE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node", "description": "Where to begin."}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}
SCHEMAS: list[Any] = [
    pytest.param({"type": "object"}, id="nothing"),
    pytest.param(BOX, id="C01"),
    pytest.param(EITHER, id="C05"),
    pytest.param(RECURSIVE, id="C02"),
    pytest.param(parameters(x={"type": "string"}, y={"type": "integer", "minimum": 1}), id="required"),
    pytest.param(parameters(False, x={"type": "string"}, y={"type": "number", "default": None}), id="optional"),
    pytest.param(parameters(False, x={"type": ["object", "null"], "properties": {"y": {}}}), id="types-unsupported"),
    pytest.param(parameters(False, x={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}), id="null"),
    pytest.param(parameters(False, x={"enum": ["a", "b"]}, y={"const": 3}, z={"enum": [1, None]}), id="enum"),
    pytest.param(parameters(x={"allOf": [{"type": "object", "properties": {"y": {"type": "null"}}}]}), id="allOf"),
    pytest.param(parameters(x={"oneOf": [{"type": "string"}, BOX["properties"]["box"]]}), id="oneOf"),
    pytest.param(parameters(False, x={"type": ["array", "string"], "items": BOX["properties"]["box"]}), id="array"),
    pytest.param(of_definition(), id="reference"),
    pytest.param(of_definition(description="The first."), id="reference-described"),
    pytest.param({**of_definition(title="T", default={"v": "a"}), "required": []}, id="reference-optional"),
    pytest.param(parameters(False, x={"$ref": "#", "description": "Again."}), id="itself"),
    pytest.param({**parameters(x={"$ref": "#/definitions/a"}), "definitions": {"a": {"type": "string"}}}, id="old"),
    *(pytest.param(model.model_json_schema(), id=model.__name__) for model in (Size, Tree, Order)),
]


@pytest.mark.parametrize("wire", [OpenAIChatWire(), OpenAIResponsesWire()], ids=lambda wire: wire.dialect.profile.name)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_helper_leaves_a_strict_schema_as_it_is(
    wire: WireFormat, schema: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    (tool,) = wire.tools(wire.dialect.export(view_of(spec_of("f", deepcopy(schema))), strict=True))
    assert tool.strict is ("unsupported" not in request.node.callspec.id)
    if tool.strict:
        copy = deepcopy(tool.parameters)
        assert _pydantic._ensure_strict_json_schema(copy, path=(), root=copy) == tool.parameters


@pytest.mark.parametrize("model", [Size, Tree, Order])
def test_a_tool_of_the_sdk_requires_and_closes_the_same(model: type[pydantic.BaseModel]) -> None:
    (ours,) = OpenAIResponsesWire().dialect.export(
        view_of(spec_of("f", model.model_json_schema(), description="Does it.")), strict=True
    )
    theirs: dict[str, Any] = dict(_tools.pydantic_responses_function_tool(model, name="f", description="Does it."))
    assert ours.keys() == theirs.keys()
    assert {**ours, "parameters": {}} == {**theirs, "parameters": {}}
    for key in ("type", "required", "additionalProperties"):
        assert (ours["parameters"] | resolved(ours))[key] == (theirs["parameters"] | resolved(theirs))[key]


def resolved(tool: dict[str, Any]) -> dict[str, Any]:
    """What the root refers to, if it does: Pydantic writes a recursive model so."""
    name = tool["parameters"].get("$ref", "").removeprefix("#/$defs/")
    return tool["parameters"]["$defs"][name] if name else {}
