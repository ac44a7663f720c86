"""Anthropic's own transform of schemas has next to nothing to add to ours."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from anthropic.lib._parse import _transform  # what the SDK does to schemas of its own; private

from surehand.schema.keywords import walk
from surehand.testing.dialect_wire import spec_of, view_of
from tests.providers.test_openai_strict import SCHEMAS
from tests.providers.wire import AnthropicWire

MORE: list[Any] = [
    pytest.param({"type": "object", "properties": {"x": {"type": ["string", "integer"], "maximum": 3}}}, id="types"),
    pytest.param({"type": "object", "properties": {"x": {"type": ["string", "null"], "enum": ["a", None]}}}, id="both"),
]


def reduced(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what the API takes by its documentation, and the transform says in words or leaves out."""
    copied = deepcopy(schema)
    for _, node in list(walk(copied)):
        for keyword in ("pattern", "default"):
            node.pop(keyword, None)
        if "enum" in node or "const" in node:
            node.pop("type", None)
        if "definitions" in node:
            node["$defs"] = node.pop("definitions")
    return copied


@pytest.mark.parametrize("schema", [*SCHEMAS, *MORE])
def test_the_transform_leaves_a_strict_schema_as_it_is(schema: dict[str, Any]) -> None:
    (tool,) = AnthropicWire().tools(
        AnthropicWire().dialect.export(view_of(spec_of("f", deepcopy(schema))), strict=True)
    )
    if tool.strict:
        wanted = reduced(tool.parameters)
        assert _transform.transform_schema(deepcopy(wanted)) == wanted


def test_most_of_the_table_is_strict() -> None:
    exports = [
        AnthropicWire().dialect.export(view_of(spec_of("f", deepcopy(one.values[0]))), strict=True)
        for one in [*SCHEMAS, *MORE]
    ]
    assert sum(one.verdicts["f"] != "unsupported" for one in exports) > len(exports) // 2
