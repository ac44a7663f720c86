"""A schema in the subset of OpenAPI 3.0 that Gemini's `parameters` take: no references, and one type a schema.

(S) google-genai 3.6.1, `types.Schema`: the fields that there are, and that values of `enum` are text. (E) Errors of the
API, as several projects report them: "only 'enum' and 'date-time' are supported for STRING type", "enum: only allowed
for STRING type", "enum[0]: cannot be empty", "items: missing field", "didn't specify the schema type field",
"required[0]: property is not defined", "when using any_of, it must be the only field set". (D) Function calling of
Google Cloud: 32 levels.

What cannot be said is told in descriptions. The arguments of a call are always checked against the original schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from ...schema.keywords import Schema, pointer
from ...schema.nulls import accepts_null
from .merge import as_list, flat, written
from .root import plain_root
from .strict import HARD_PATTERN
from .words import extended, told, told_values, told_whole

ROOT_FORBIDS: Final = frozenset({"anyOf", "oneOf"})
"""An alternative stands alone in its schema, and the root is an object."""
_LEVELS: Final = 32
"""Where it ends, an array and its items are two more."""
_NODES: Final = 2000
"""Schemas in one export; what comes after them is cut."""
_REPEATS: Final = 2
"""How often a definition is written out inside itself."""
_FORMATS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"date-time"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_LIMITS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "integer": ("format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
    "boolean": (),
}
_IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
    "array": ("items", "prefixItems", "contains"),
    "string": (),
    "number": (),
}
"""Keywords besides limits that are only ever written of one type."""
_TOLD: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"}),
    "array": frozenset({"contains", "minContains", "maxContains"}),
}
_TOLD_OF_ANY: Final = ("not", "if", "then", "else")
_BESIDE: Final = ("title", "description", "default", "examples", *_TOLD_OF_ANY)
"""What is said beside an alternative, once."""
_ANY: Final = ("string", "number", "boolean", "object", "array")
_TYPES: Final[Mapping[type, str]] = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array",
}  # fmt: skip
_NULL: Final = "always null"
_BIGGEST: Final = 2**63 - 1
_LARGEST: Final = 1.7e308


class OpenApiSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one schema."""

    schema: Schema
    """Empty for a tool that takes nothing: (E) an object without properties is refused."""
    rules: tuple[str, ...] = ()
    """What the root cannot say, in words."""
    losses: tuple[str, ...] = ()
    """What the schema no longer says, each with its place."""


def to_openapi(root: Schema) -> OpenApiSchema:
    """Writes a schema down as OpenAPI.

    Args:
        root: An object's schema without `anyOf` and `oneOf`; not changed.
    """
    writer = _Writer(root)
    top = flat(root, root)
    plain, rules = plain_root(top.schema, ROOT_FORBIDS)
    schema = writer.typed(plain, "object", ())
    schema = writer.described(schema, {}, writer.untold(plain, top.left, ()))
    rules = [*rules, *([schema.pop("description")] if "description" in schema else [])]
    if "properties" not in schema:
        rules += [told(keyword, schema[keyword]) for keyword in _LIMITS["object"] if keyword in schema]
        schema = {}
    return OpenApiSchema(
        schema=schema,
        rules=tuple(rules),
        losses=tuple(dict.fromkeys(writer.losses)),
    )


class _Writer:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.losses: list[str] = []
        self.inside = ["#"]
        """References that are being written out."""
        self.levels = 1
        self.nodes = 0

    def lose(self, what: str, path: tuple[str, ...]) -> None:
        self.losses.append(f"{what} at {pointer(path)}")

    def node(self, schema: Any, path: tuple[str, ...]) -> Schema:
        """One schema below the root."""
        given = flat(self.root, cast("Schema", schema) if isinstance(schema, dict) else {})
        again = next((ref for ref in given.refs if self.inside.count(ref) >= _REPEATS), None)
        self.nodes += 1
        if again is not None or self.levels >= _LEVELS - 2 or self.nodes > _NODES:
            self.losses.append("what goes too deep" if again is None else f"`{again}` inside itself, written out twice")
            return self.cut(given.schema)
        self.inside += given.refs
        self.levels += 1
        found = self.written(given.schema, given.left, path)
        self.levels -= 1
        del self.inside[len(self.inside) - len(given.refs) :]
        return found

    def cut(self, here: Schema) -> Schema:
        """Where it ends, with the right type."""
        kind = next(iter(_kinds(here)), "object")
        schema: Schema = {"type": kind.upper(), "description": "more of the same, not written out here"}
        return {**schema, "items": {"type": "STRING"}} if kind == "array" else schema

    def written(self, here: Schema, left: Iterable[Any], path: tuple[str, ...]) -> Schema:
        union = next((keyword for keyword in ("anyOf", "oneOf") if keyword in here), None)
        kinds = _kinds(here)
        if union is not None:
            schema = self.union(here, union, path)
        elif len(kinds) == 1:
            schema = self.typed(here, kinds[0], path)
        else:
            if not kinds and not _is_null(here):
                self.lose("any value", path)
                here = {"items": {"type": "string"}, **here}
            schema = _one_of([self.typed(here, kind, path) for kind in kinds or _ANY])
        schema = self.described(schema, here, self.untold(here, left, path))
        is_said = union is not None or not kinds or "type" in here or "enum" in here
        if is_said and accepts_null(self.root, here):
            _first(schema)["nullable"] = True
        elif schema.get("description", "").endswith(_NULL):
            self.lose("no value", path)
        return schema

    def untold(self, here: Schema, left: Iterable[Any], path: tuple[str, ...]) -> list[str]:
        """In words what has no keyword for any type."""
        rules = {keyword: here[keyword] for keyword in _TOLD_OF_ANY if keyword in here}
        others = [*([rules] if rules else []), *left]
        for one in others:
            self.lose(", ".join(f"`{key}`" for key in cast("Schema", one)) if one else "`false`", path)
        return [told_whole(one) for one in others]

    def described(self, schema: Schema, here: Schema, said: list[str]) -> Schema:
        """With the description, and in it all that is only told."""
        if here.get("default") is not None:
            said.append(told("default", here["default"]))
        if isinstance(here.get("examples"), list) and here["examples"]:
            said.append(told("examples", here["examples"]))
        first = _first(schema)
        inner = first.pop("description", "")
        text = extended(str(here.get("description", "")), said)
        description = f"{text} {inner}" if text and inner else text or inner
        if description:
            first["description"] = description
        return schema

    def union(self, here: Schema, keyword: str, path: tuple[str, ...]) -> Schema:
        """An alternative. It stands alone, so what is said beside it goes into each branch."""
        base = {key: value for key, value in here.items() if key not in (keyword, *_BESIDE)}
        branches: list[Any] = [one for one in here[keyword] if one is not False]
        found: list[Schema] = []
        for index, branch in enumerate(branches):
            inner = flat(self.root, {"allOf": [branch]})
            if not _is_null(inner.schema):
                schema = {"allOf": [branch, base]} if base else branch
                one = self.node(schema, (*path, keyword, str(index)))
                found += one.get("anyOf", [one])
        if keyword == "oneOf" and len(found) > 1:
            self.lose("`oneOf`, sent as `anyOf`", path)
        return _one_of(found) if found else self.nothing()

    def nothing(self) -> Schema:
        """A schema that only null satisfies, or no value."""
        return {"type": "STRING", "description": _NULL}

    def typed(self, here: Schema, kind: str, path: tuple[str, ...]) -> Schema:
        """A schema of one type, without the description."""
        if _is_null(here):
            return self.nothing()
        schema: Schema = {"type": kind.upper()}
        said = self.values(schema, here, kind, path) + self.limits(schema, here, kind, path)
        if kind == "object":
            said += self.object(schema, here, path)
        if kind == "array":
            said += self.array(schema, here, path)
        rules = {keyword: here[keyword] for keyword in here if keyword in _TOLD.get(kind, ())}
        if rules:
            self.lose(", ".join(f"`{keyword}`" for keyword in rules), path)
            said.append(told_whole(rules))
        return self.described(schema, {}, said)

    def values(self, schema: Schema, here: Schema, kind: str, path: tuple[str, ...]) -> list[str]:
        """`enum`, which takes text alone; other values are told."""
        if "enum" not in here:
            return []
        values = [value for value in cast("list[Any]", here["enum"]) if _is_a(value, kind)]
        if kind == "string" and values and "" not in values:
            schema |= {"format": "enum", "enum": list(dict.fromkeys(values))}
            return []
        self.lose("`enum`, said in the description", path)
        return [told_values(values or cast("list[Any]", here["enum"]))]

    def limits(self, schema: Schema, here: Schema, kind: str, path: tuple[str, ...]) -> list[str]:
        said: list[str] = []
        for keyword in _LIMITS[kind]:
            value = here.get(keyword)
            if value is None or value is False or (keyword == "format" and "enum" in schema):
                continue
            if _keeps(keyword, value, kind):
                schema[keyword] = int(value) if keyword in _COUNTS else value
            else:
                said.append(told(keyword, value))
                self.lose(f"`{keyword}`, said in the description", path)
        return said

    def object(self, schema: Schema, here: Schema, path: tuple[str, ...]) -> list[str]:
        named = cast("Mapping[str, Any]", here.get("properties", {}))
        wanted = dict.fromkeys(cast("list[str]", here.get("required", [])))
        names = [name for name in dict.fromkeys([*named, *wanted]) if named.get(name) is not False]
        if names:
            schema["properties"] = {
                name: self.node(named.get(name, True), (*path, "properties", name)) for name in names
            }
        required = [name for name in wanted if name in names]
        if required:
            schema["required"] = required
        others = here.get("additionalProperties")
        if not others or (others is True and not names):
            return []
        self.lose("other properties than the named ones", path)
        return ["takes other properties too" if others is True else f"any other property {told_whole(others)}"]

    def array(self, schema: Schema, here: Schema, path: tuple[str, ...]) -> list[str]:
        """The items, which are never left out. A tuple's are one of its kinds."""
        items, places = here.get("items", True), cast("list[Any]", here.get("prefixItems", []))
        kinds = {written(one): one for one in [*places, *([] if isinstance(items, bool) else [items])]}
        if items is False:
            schema["maxItems"] = min(schema.get("maxItems", len(places)), len(places))
        if not kinds:
            schema["items"] = self.node({}, (*path, "items")) if items is not False else {"type": "STRING"}
            return []
        one = next(iter(kinds.values())) if len(kinds) == 1 else {"anyOf": list(kinds.values())}
        schema["items"] = self.node(one, (*path, "prefixItems" if places else "items"))
        if len(kinds) == 1:
            return []
        self.lose("`prefixItems`, said in the description", path)
        return [told_whole({"prefixItems": places})]


def _first(schema: Schema) -> Schema:
    """Where descriptions and null go: an alternative has nothing beside it, so into its first branch."""
    return schema["anyOf"][0] if "anyOf" in schema else schema


def _one_of(branches: list[Schema]) -> Schema:
    different = list({written(one): one for one in branches}.values())
    return different[0] if len(different) == 1 else {"anyOf": different}


def _is_null(here: Schema) -> bool:
    """Whether nothing but null is accepted."""
    return here.get("type") in ("null", ["null"]) or ("enum" in here and all(one is None for one in here["enum"]))


def _kinds(here: Schema) -> list[str]:
    """The types that a schema accepts, null aside; empty if it says nothing of them."""
    if "type" in here:
        kinds = [kind for kind in as_list(here["type"]) if kind != "null"]
    elif "enum" in here:
        kinds = list(dict.fromkeys(_TYPES[type(value)] for value in here["enum"] if value is not None))
    else:
        kinds = [
            kind
            for kind, words in _IMPLIED.items()
            if any(word in here for word in (*words, *_LIMITS[kind]) if word != "format" or kind == "string")
        ]
    if "enum" in here:
        values = cast("list[Any]", here["enum"])
        kinds = [kind for kind in kinds if any(_is_a(value, kind) for value in values)]
    return [kind for kind in kinds if kind != "integer" or "number" not in kinds]


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    types = {"string": str, "integer": int, "number": (int, float), "object": dict, "array": list}
    return kind != "boolean" and isinstance(value, types[kind])


def _keeps(keyword: str, value: Any, kind: str) -> bool:
    if keyword == "format":
        return value in _FORMATS[kind]
    if keyword == "pattern":
        return not HARD_PATTERN.search(str(value))
    if keyword in _COUNTS:
        return 0 <= value <= _BIGGEST
    return keyword in ("minimum", "maximum") and abs(value) <= _LARGEST
