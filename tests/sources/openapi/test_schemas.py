"""Schemas of each version, as JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.schema import compile_parameters
from surehand.sources.openapi.document import Document, UnusableError
from surehand.sources.openapi.schemas import Schemas

CAT = {"type": "object", "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}}
DOG = {"type": "object", "properties": {"kind": {"type": "string"}, "bark": {"type": "boolean"}}}


def converted(schema: Any, version: str = "3.0", **components: Any) -> Any:
    document = Document({"components": {"schemas": components}}, version)
    schemas = Schemas(document)
    made = schemas.convert(schema)
    return {**made, "$defs": schemas.defs} if schemas.defs and isinstance(made, dict) else made


@pytest.mark.parametrize(
    ("schema", "version", "expected"),
    [
        ({"type": "string", "nullable": True}, "3.0", {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, "3.0",
            {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "x-nullable": True}, "2.0", {"type": ["string", "null"]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "3.0",
            {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, "3.0", {"type": "integer", "maximum": 9}),
        ({"exclusiveMinimum": 1}, "3.1", {"exclusiveMinimum": 1}),
        ({"type": ["string", "null"]}, "3.1", {"type": ["string", "null"]}),
        ({"type": "string", "format": "byte"}, "3.0",
            {"type": "string", "contentEncoding": "base64", "description": "(base64)"}),
        ({"type": "string", "example": "x", "xml": {}, "externalDocs": {}, "x-go": 1}, "3.0", {"type": "string"}),
        ({"type": "any"}, "3.0", {}),
        ({"type": "integer", "enum": []}, "3.1", {"type": "integer"}),
        (True, "3.1", True),
        ({"const": 1, "$comment": "no", "$schema": "https://x.test"}, "3.1", {"const": 1}),
        ({"type": "array", "items": [{"type": "string"}]}, "2.0",
            {"type": "array", "prefixItems": [{"type": "string"}]}),
        ({"properties": {"id": {"readOnly": True}, "a": {}}, "required": ["id", "a"]}, "3.0",
            {"properties": {"a": {}}, "required": ["a"]}),
        ({"properties": {"p": {"type": "string", "writeOnly": True}}}, "3.0",
            {"properties": {"p": {"type": "string", "writeOnly": True}}}),
        ({"type": "string", "required": True}, "2.0", {"type": "string"}),
    ],
)  # fmt: skip
def test_keywords(schema: Any, version: str, expected: Any) -> None:
    assert converted(schema, version) == expected


def test_a_reference_may_be_null() -> None:
    schema = {"allOf": [{"$ref": "#/components/schemas/Cat"}], "nullable": True, "description": "Perhaps a cat."}
    assert converted(schema, Cat=CAT) == {
        "description": "Perhaps a cat.",
        "anyOf": [{"allOf": [{"$ref": "#/$defs/Cat"}]}, {"type": "null"}],
        "$defs": {"Cat": CAT},
    }


def test_beside_a_reference_words_count_since_3_1() -> None:
    schema = {"$ref": "#/components/schemas/Cat", "description": "Mine."}
    assert converted(schema, "3.0", Cat=CAT) == {"$ref": "#/$defs/Cat", "$defs": {"Cat": CAT}}
    assert converted(schema, "3.1", Cat=CAT)["description"] == "Mine."


def accepts(schema: Any, value: Any) -> bool:
    definitions = schema.pop("$defs", {})
    whole = {"type": "object", "properties": {"v": schema}, "$defs": definitions}
    return compile_parameters(whole, "test").is_valid({"v": value})


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"kind": "cat", "lives": 9}, True),
        ({"kind": "Dog", "bark": True}, True),
        ({"kind": "cat", "lives": "many"}, False),
        ({"kind": "Cat", "lives": 9}, False),
        ({"kind": "bird"}, False),
        ({"lives": 9}, False),
    ],
)
def test_a_discriminator_chooses(value: Any, fits: bool) -> None:
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}},
    }
    assert accepts(converted(schema, Cat=CAT, Dog=DOG), value) is fits


def test_recursion_stays() -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "children": {
        "type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}}  # fmt: skip
    made = converted({"$ref": "#/components/schemas/Tree"}, Tree=tree)
    assert made["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert accepts(dict(made), {"name": "a", "children": [{"name": "b", "children": []}]})
    assert not accepts(dict(made), {"children": [{"children": [{"name": 7}]}]})


def test_a_base_that_lists_its_kinds_ends() -> None:
    base = {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "oneOf": [{"$ref": "#/components/schemas/Circle"}],
        "discriminator": {"propertyName": "kind"},
    }
    circle = {"allOf": [{"$ref": "#/components/schemas/Shape"}, {"properties": {"radius": {"type": "number"}}}]}
    for start in ("Shape", "Circle"):
        made = converted({"$ref": f"#/components/schemas/{start}"}, Shape=base, Circle=circle)
        assert accepts(dict(made), {"kind": "Circle", "radius": 1.5})
    made = converted({"$ref": "#/components/schemas/Shape"}, Shape=base, Circle=circle)
    assert not accepts(made, {"kind": "Circle", "radius": "wide"})


def test_schemas_of_one_name_in_two_places_are_two() -> None:
    root = {"components": {"schemas": {"A": {"type": "string"}}}, "other": {"A": {"type": "integer"}}}
    schemas = Schemas(Document(root, "3.1"))
    made = [schemas.convert({"$ref": ref}) for ref in ("#/components/schemas/A", "#/other/A")]
    assert made == [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("other.yaml#/Cat", "leads out of the document"),
        ("https://evil.test/cat.json", "leads out of the document"),
        ("file:///etc/passwd", "leads out of the document"),
        ("#/components/schemas/None", "leads nowhere"),
        (7, "leads out of the document"),
    ],
)
def test_references_that_cannot_be_followed(reference: Any, why: str) -> None:
    with pytest.raises(UnusableError, match=why):
        converted({"properties": {"a": {"$ref": reference}}})
