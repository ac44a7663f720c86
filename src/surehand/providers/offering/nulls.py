"""Whether a schema accepts null: what decides if null can stand for an optional property that is left out."""

from __future__ import annotations

from typing import Any, cast

from ...schema.keywords import Schema
from ...spec.places import follow

_DEPTH = 64


def accepts_null(root: Schema, schema: Any, levels: int = _DEPTH) -> bool:
    """Whether null satisfies a schema, so far as types, values, references and combinators say.

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
    return "not" not in here or not accepts_null(root, here["not"], levels - 1)
