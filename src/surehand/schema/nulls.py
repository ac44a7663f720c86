"""Whether a schema accepts null: what decides if null can stand for an optional property that is left out."""

from __future__ import annotations

from typing import Any, cast

from ..spec.places import follow
from .keywords import Schema

_DEPTH = 64
_EXACT = {"type", "const", "enum", "title", "description"}
"""Keywords of which this tells exactly what they mean; of others a schema may refuse more."""


def accepts_null(root: Schema, schema: Any, levels: int = _DEPTH) -> bool:
    """Whether null may satisfy a schema, so far as types, values, references and combinators say.

    "No" is certain: the schema refuses null.

    Args:
        root: The document, for references.
        schema: A schema in it.
        levels: How many references and combinators may be entered.
    """
    if not isinstance(schema, dict):
        return schema is True
    here = cast("Schema", schema)
    kinds: Any = here.get("type", "null")
    if "null" not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    if ("const" in here and here["const"] is not None) or ("enum" in here and None not in here["enum"]):
        return False
    if levels == 0:
        return True
    inner = [follow(root, here["$ref"])] if isinstance(here.get("$ref"), str) else []
    inner += cast("list[Any]", here.get("allOf", []))
    if not all(accepts_null(root, one, levels - 1) for one in inner):
        return False
    for keyword in ("anyOf", "oneOf"):
        branches = cast("list[Any]", here.get(keyword, []))
        if branches and not any(accepts_null(root, one, levels - 1) for one in branches):
            return False
    refused: Any = here.get("not", False)
    exact = not isinstance(refused, dict) or cast("Schema", refused).keys() <= _EXACT
    return not (exact and accepts_null(root, refused, levels - 1))
