"""Which schemas apply to a place, and what is secret."""

from typing import Any

import pytest

from surehand.spec.places import MAX_SCHEMAS, Places, follow

SECRET = {"type": "string", "writeOnly": True}
SCHEMA: dict[str, Any] = {
    "properties": {
        "plain": {"type": "string"},
        "marked": SECRET,
        "password": {"format": "password"},
        "referred": {"$ref": "#/$defs/s"},
        "beside": {"type": "string", "allOf": [{"writeOnly": True}]},
        "either": {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}]},
        "if": {"if": {"const": 1}, "then": {"writeOnly": True}},
        "rows": {"items": {"properties": {"pin": SECRET}}},
        "pair": {"prefixItems": [{"type": "string"}, SECRET]},
        "map": {"patternProperties": {"^x": SECRET}},
        "whole": {"writeOnly": True, "properties": {"a": {}}},
        "gone": {"$ref": "#/$defs/missing"},
        "dynamic": {"$dynamicRef": "#x"},
        "node": {"$ref": "#/$defs/node"},
        "never": False,
        "always": {"$ref": "#/$defs/always"},
    },
    "$defs": {
        "s": SECRET,
        "node": {"properties": {"next": {"$ref": "#/$defs/node"}, "key": SECRET}},
        "always": True,
    },
}


@pytest.mark.parametrize(
    ("path", "secret_from"),
    [
        (["plain"], None),
        (["marked"], 1),
        (["password"], 1),
        (["referred"], 1),
        (["beside"], 1),
        (["either"], 1),
        (["if"], 1),
        (["rows"], None),
        (["rows", 3, "pin"], 3),
        (["rows", 3, "other"], None),
        (["pair", 0], None),
        (["pair", 1], 2),
        (["map", "x"], 2),
        (["whole", "a", "b"], 1),
        (["gone"], 1),
        (["dynamic"], 1),
        (["node", "next", "next", "key"], 4),
        (["node", "next"], None),
        (["never"], None),
        (["always"], None),
        (["unknown"], None),
        ([], None),
    ],
)
def test_secret_places(path: list[str | int], secret_from: int | None) -> None:
    assert Places(SCHEMA).secret_from(path) == secret_from


@pytest.mark.parametrize(
    ("path", "holds"),
    [(["plain"], False), (["marked"], True), (["rows"], True), (["node"], True), (["whole", "a"], True), ([], True)],
)
def test_what_holds_a_secret(path: list[str | int], holds: bool) -> None:
    assert Places(SCHEMA).holds_secret(path) is holds


def test_in_doubt_a_place_is_secret() -> None:
    assert Places({"anyOf": [{"type": "string"} for _ in range(MAX_SCHEMAS + 1)]}).secret_from([]) == 0


def test_references() -> None:
    document: dict[str, Any] = {"a/b": {"~": [{"x": 1}, 5]}}
    assert follow(document, "#") is document
    assert follow(document, "#/a~1b/~0/0") == {"x": 1}
    for nowhere in ("#/a~1b/~0/1", "#/a~1b/~0/7", "#/a~1b/~0/x", "#/a~1b/~0/1/x", "other#", "#name"):
        assert follow(document, nowhere) is None
