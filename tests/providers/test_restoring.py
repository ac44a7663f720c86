"""Names that an export had to change come back wherever a schema can speak of them."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.providers import dialect
from surehand.testing.dialect_wire import spec_of, view_of

BOX: dict[str, Any] = {"type": "object", "properties": {"a b": {"type": "integer"}}, "additionalProperties": False}
OTHER: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]}
SENT: dict[str, Any] = {"a_b": 1}
MEANT: dict[str, Any] = {"a b": 1}


def nested(levels: int) -> dict[str, Any]:
    """A schema within so many `allOf`."""
    return BOX if levels == 0 else {"allOf": [nested(levels - 1)]}


IN_A_MEMBER: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "a map": ({"type": "object", "additionalProperties": BOX}, {"x": SENT}, {"x": MEANT}),
    "what no other schema names": ({"type": "object", "unevaluatedProperties": BOX}, {"x": SENT}, {"x": MEANT}),
    "names by a pattern": ({"type": "object", "patternProperties": {"^x": BOX}}, {"x": SENT}, {"x": MEANT}),
    "a tuple": ({"type": "array", "prefixItems": [OTHER, BOX]}, [{"q": 2}, SENT], [{"q": 2}, MEANT]),
    "after a tuple": ({"type": "array", "prefixItems": [OTHER], "items": BOX}, [{"q": 2}, SENT], [{"q": 2}, MEANT]),
    "contained": ({"type": "array", "contains": BOX}, [SENT], [MEANT]),
    "an alternative array": (
        {"anyOf": [{"type": "array", "items": OTHER}, {"type": "array", "items": BOX}]},
        [SENT],
        [MEANT],
    ),
    "deep in allOf": (nested(12), SENT, MEANT),
    "only required": ({"type": "object", "required": ["a b"]}, SENT, MEANT),
    "only where another is there": ({"type": "object", "dependentRequired": {"k": ["a b"]}}, SENT, MEANT),
    "a condition": ({"type": "object", "if": {"required": ["k"]}, "then": BOX}, {"k": 1, **SENT}, {"k": 1, **MEANT}),
    "a dependent schema": ({"type": "object", "dependentSchemas": {"k": BOX}}, {"k": 1, **SENT}, {"k": 1, **MEANT}),
    "both names at once": (
        {"type": "object", "properties": {"a b": {"type": "integer"}}},
        {"a b": 1, "a_b": 2},
        {"a b": 1, "a_b": 2},
    ),
    "what no schema names": ({"type": "object", "properties": {}}, SENT, SENT),
}
"""The schema of a member, what the model writes, what it means."""


@pytest.mark.parametrize("case", IN_A_MEMBER)
@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini"])
def test_names_come_back(provider: str, case: str) -> None:
    schema, sent, meant = IN_A_MEMBER[case]
    root = {"type": "object", "properties": {"m": schema, "the name": BOX}}
    export = dialect(provider).export(view_of(spec_of("f", root)))
    assert export.restorations["f"].apply({"m": sent}) == {"m": meant}


def test_a_reference_with_an_escaped_name_still_leads_there() -> None:
    schema = {"type": "object", "properties": {"a b": {"type": "integer"}, "c": {"$ref": "#/properties/a%20b"}}}
    (tool,) = dialect("anthropic").export(view_of(spec_of("f", schema))).tools
    assert tool["input_schema"]["properties"] == {"a_b": {"type": "integer"}, "c": {"$ref": "#/properties/a_b"}}


def test_alternatives_deep_in_each_other_take_no_time() -> None:
    schema: dict[str, Any] = BOX
    for _ in range(25):
        schema = {"anyOf": [schema, OTHER]}
    root = {"type": "object", "properties": {"m": schema}}
    export = dialect("anthropic").export(view_of(spec_of("f", root)))
    assert export.restorations["f"].apply({"m": {"zzz": 1}}) == {"m": {"zzz": 1}}
