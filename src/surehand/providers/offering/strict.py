"""A schema as a provider can hold a model to it, or why it cannot.

Only what the model may write is narrowed. The arguments of a call are always checked against the original schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NoReturn, cast

import msgspec

from ...schema.keywords import Schema, children, pointer, walk
from ...schema.nulls import accepts_null
from ...spec.places import follow
from ..profile import StrictRules
from .words import extended, told

Verdict = Literal["lossless", "lossy", "unsupported"]
"""Whether strict mode says all that the schema says, less, or nothing."""

_LIMITS: Final[dict[str, tuple[str, ...]]] = {
    "string": ("pattern", "format", "minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
}
_NEVER: Final = (
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames",
    "contains", "prefixItems", "unevaluatedItems",
)  # fmt: skip
_ASSERTIONS: Final = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf"}
    | {"$ref", "unevaluatedProperties", *(word for words in _LIMITS.values() for word in words), *_NEVER}
)
"""All that says anything about a value; the rest is for people."""
HARD_PATTERN: Final = re.compile(r"\(\?[=!<]|\\[bB1-9]|\{\d{3,}")
"""(D) Anthropic: no look-around, back-reference, `\\b` or large repetition. (E) OpenAI: "regex lookaround is not
supported", pydantic/pydantic-ai pull 5519."""
_TYPES: Final[dict[type, str]] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array", dict: "object",
}  # fmt: skip
_NODES_MAX: Final = 5000


class StrictSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one schema."""

    schema: Schema | None
    """`None` if it is not supported."""
    losses: tuple[str, ...] = ()
    """What it no longer says, each with its place; or the one reason why it is not supported."""
    properties: int = 0
    optional: int = 0
    """Properties that are not required."""
    unions: int = 0
    """Schemas with several types or alternatives."""

    @property
    def verdict(self) -> Verdict:
        """In one word."""
        return "unsupported" if self.schema is None else "lossy" if self.losses else "lossless"


class _Unsupported(Exception):
    """Strict mode cannot say this. Caught in `to_strict`."""


def to_strict(schema: Schema, rules: StrictRules) -> StrictSchema:
    """Closes every object, requires what must be required, and moves into descriptions what cannot be said.

    An object that says nothing about other properties is taken to mean none.

    Args:
        schema: The root, an object without combinators; not changed.
        rules: The provider's.
    """
    walker = _Walker(schema, rules)
    try:
        strict = walker.document()
        _check_size(strict, rules)
    except _Unsupported as error:
        return StrictSchema(schema=None, losses=(str(error),))
    nodes = [node for _, node in walk(strict)]
    return StrictSchema(
        schema=strict,
        losses=tuple(dict.fromkeys(walker.losses)),
        properties=sum(len(node.get("properties", {})) for node in nodes),
        optional=sum(len(node.get("properties", {})) - len(node.get("required", [])) for node in nodes),
        unions=sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes),
    )


class _Walker:
    def __init__(self, root: Schema, rules: StrictRules) -> None:
        self.root = root
        self.rules = rules
        self.losses: list[str] = []
        self.inside: list[str] = []
        """References that are being written out."""
        self.nodes = 0

    def refuse(self, why: str, path: tuple[str, ...]) -> NoReturn:
        raise _Unsupported(f"{why} at {pointer(path)}")

    def lose(self, what: str, path: tuple[str, ...]) -> None:
        self.losses.append(f"{what} at {pointer(path)}")

    def document(self) -> Schema:
        strict = self.node(self.root, ())
        for keyword in ("$defs", "definitions"):
            definitions = cast("Mapping[str, Any]", self.root.get(keyword, {}))
            if definitions:
                strict[keyword] = {}
                for name, sub in definitions.items():
                    self.inside = [f"#/{keyword}/{name}"]
                    strict[keyword][name] = self.node(sub, (keyword, name))
        return strict

    def node(self, schema: Any, path: tuple[str, ...]) -> Schema:
        self.nodes += 1
        if self.nodes > _NODES_MAX or len(path) > 200:
            self.refuse("too large for strict mode", path)
        if not isinstance(schema, dict):
            self.refuse("a schema that says no type", path)
        schema = self.unwrapped(cast("Schema", schema))
        for keyword in _NEVER:
            if keyword in schema:
                self.refuse(f"`{keyword}`", (*path, keyword))
        if "$ref" in schema:
            return self.reference(schema, path)
        if "anyOf" in schema or "oneOf" in schema:
            strict, said = self.union(schema, path), list[str]()
        else:
            strict, said = self.typed(schema, path)
        return self.described(strict, schema, said)

    def unwrapped(self, schema: Schema) -> Schema:
        """Without an `allOf` around a single schema."""
        inner = schema.get("allOf")
        if isinstance(inner, list) and len(cast("list[Any]", inner)) == 1 and isinstance(inner[0], dict):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            if not _ASSERTIONS & rest.keys():
                return self.unwrapped({**cast("Schema", inner[0]), **rest})
        return schema

    def described(self, strict: Schema, schema: Schema, said: list[str]) -> Schema:
        if "default" in schema:
            if self.rules.keeps_default:
                strict["default"] = schema["default"]
            elif schema["default"] is not None:
                said.append(told("default", schema["default"]))
        if isinstance(schema.get("examples"), list) and schema["examples"]:
            said.append(told("examples", schema["examples"]))
        description = extended(str(schema.get("description", "")), said)
        if description:
            strict["description"] = description
        return strict

    def reference(self, schema: Schema, path: tuple[str, ...]) -> Schema:
        ref = schema["$ref"]
        target = follow(self.root, ref) if isinstance(ref, str) else None
        known = ref == "#" or re.fullmatch(r"#/(\$defs|definitions)/[^/]+", str(ref))
        if not known or not isinstance(target, dict):
            self.refuse("a `$ref` that leads to no definition", path)
        if _ASSERTIONS & schema.keys() - {"$ref"}:
            self.refuse("keywords beside a `$ref`", path)
        if not self.rules.recursion and _recursive(self.root, ref):
            self.refuse("a schema that refers to itself", path)
        rest = {key: value for key, value in schema.items() if key in ("description", "default", "examples")}
        if not rest:
            return {"$ref": ref}
        if ref in self.inside or ref == "#":
            return self.described({"anyOf": [{"$ref": ref}]}, schema, [])
        self.inside.append(ref)  # a description has no place beside a `$ref`, so the definition is written out
        strict = self.node({**target, **rest}, path)
        self.inside.pop()
        return strict

    def union(self, schema: Schema, path: tuple[str, ...]) -> Schema:
        keyword = "anyOf" if "anyOf" in schema else "oneOf"
        if _ASSERTIONS & schema.keys() - {keyword}:
            self.refuse(f"keywords beside `{keyword}`", path)
        if keyword == "oneOf":
            self.lose("`oneOf`, sent as `anyOf`", path)
        branches = enumerate(cast("list[Any]", schema[keyword]))
        return {"anyOf": [self.node(branch, (*path, keyword, str(index))) for index, branch in branches]}

    def typed(self, schema: Schema, path: tuple[str, ...]) -> tuple[Schema, list[str]]:
        kinds = _kinds(schema)
        if not kinds or "allOf" in schema:
            self.refuse("`allOf`" if kinds else "a schema that says no type", path)
        mixed = not {"array", "object"}.isdisjoint(kinds)
        if len(kinds) > 1 and (mixed or not (self.rules.type_lists or "enum" in schema)):
            if mixed and "enum" in schema:
                self.refuse("`enum` over objects or arrays", path)
            bare = {key: value for key, value in schema.items() if key in _ASSERTIONS}
            return {"anyOf": [self.node({**bare, "type": kind}, path) for kind in kinds]}, []
        strict: Schema = {"type": kinds if len(kinds) > 1 else kinds[0]}
        if len(kinds) > 1 and not self.rules.type_lists:
            del strict["type"]  # the values of the `enum` say it
        for keyword in ("enum", "const"):
            if keyword in schema:
                strict[keyword] = self.values(schema[keyword], keyword, path)
        if "object" in kinds:
            strict |= self.object(schema, path)
        if "array" in kinds:
            strict["items"] = self.node(schema.get("items"), (*path, "items"))
        return strict, self.limits(strict, schema, kinds, path)

    def values(self, value: Any, keyword: str, path: tuple[str, ...]) -> Any:
        listed: list[Any] = value if keyword == "enum" else [value]
        if self.rules.primitive_enums and any(isinstance(one, dict | list) for one in listed):
            self.refuse(f"`{keyword}` with values that are not primitive", path)
        return value

    def limits(self, strict: Schema, schema: Schema, kinds: list[str], path: tuple[str, ...]) -> list[str]:
        """Copies the limits that are accepted; gives the others in words."""
        said: list[str] = []
        for keyword in dict.fromkeys(word for kind in kinds for word in _LIMITS.get(kind, ())):
            if keyword not in schema:
                continue
            if self.keeps(keyword, schema[keyword]):
                strict[keyword] = schema[keyword]
            else:
                said.append(told(keyword, schema[keyword]))
                self.lose(f"`{keyword}`, said in the description", path)
        return said

    def keeps(self, keyword: str, value: Any) -> bool:
        rules = self.rules
        if keyword == "format" and value not in rules.formats:
            return False
        if keyword == "pattern" and HARD_PATTERN.search(str(value)):
            return False
        if keyword == "minItems" and rules.min_items_max is not None and value > rules.min_items_max:
            return False
        return keyword in rules.keeps

    def object(self, schema: Schema, path: tuple[str, ...]) -> Schema:
        properties = cast("Mapping[str, Any]", schema.get("properties", {}))
        required = cast("list[str]", schema.get("required", []))
        self.check_closing(schema, properties, path)
        if not set(required) <= properties.keys():
            self.refuse("a required property without a schema", path)
        strict: Schema = {"properties": {}, "required": list(required), "additionalProperties": False}
        for name, sub in properties.items():
            below = (*path, "properties", name)
            strict["properties"][name] = self.node(sub, below)
            if self.rules.all_required and name not in required:
                self.make_nullable(strict["properties"], name, sub, below)
        if self.rules.all_required:
            strict["required"] = list(properties)
        if self.rules.needs_required and not strict["required"]:
            self.refuse("an object without a required property", path)
        return strict

    def check_closing(self, schema: Schema, properties: Mapping[str, Any], path: tuple[str, ...]) -> None:
        """Refuses maps; notes an object that said that it takes anything else."""
        others = [schema[key] for key in ("additionalProperties", "unevaluatedProperties") if key in schema]
        if any(one and one is not True for one in others):
            self.refuse("a map (`additionalProperties` with a schema)", path)
        is_open = any(one is not False for one in others)
        if not properties and (is_open or (path and not others)):
            self.refuse("an object with any properties", path)
        if is_open:
            self.lose("other properties than the named ones", path)

    def make_nullable(self, properties: Schema, name: str, original: Any, path: tuple[str, ...]) -> None:
        """Lets an optional property be null, which stands for leaving it out."""
        strict = cast("Schema", properties[name])
        if accepts_null(self.root, original):
            if cast("Schema", original).get("default", ...) is not None:
                self.lose("leaving it out, since null is a value of its own", path)
            return
        said = "null leaves it out"
        if "anyOf" in strict:
            strict["anyOf"] = [*strict["anyOf"], {"type": "null"}]
        elif strict.keys() & {"$ref", "enum", "const"} or strict["type"] in ("object", "array"):
            inner = {key: value for key, value in strict.items() if key != "description"}
            rest = {key: value for key, value in strict.items() if key == "description"}
            properties[name] = strict = {"anyOf": [inner, {"type": "null"}], **rest}
        else:
            strict["type"] = [*_kinds(strict), "null"]
        strict["description"] = extended(str(strict.get("description", "")), [said])


def _kinds(schema: Schema) -> list[str]:
    """The types that a schema names, or that follow from what it names."""
    kinds: Any = schema.get("type")
    if isinstance(kinds, str):
        return [kinds]
    if isinstance(kinds, list):
        return list(cast("list[str]", kinds))
    for keyword, kind in (("properties", "object"), ("items", "array")):
        if keyword in schema:
            return [kind]
    values: Iterable[Any] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return list(dict.fromkeys(_TYPES[type(value)] for value in values))


def _recursive(root: Schema, ref: str) -> bool:
    """Whether a reference leads back to itself."""
    seen: set[str] = set()
    pending = [ref]
    while pending:
        target = follow(root, pending.pop())
        for _, node in walk(target) if isinstance(target, dict) else ():
            inner = node.get("$ref")
            if inner == ref:
                return True
            if isinstance(inner, str) and inner not in seen:
                seen.add(inner)
                pending.append(inner)
    return False


def _check_size(strict: Schema, rules: StrictRules) -> None:
    nodes = [node for _, node in walk(strict)]
    names = [name for node in nodes for key in ("properties", "$defs", "definitions") for name in node.get(key, {})]
    values = [value for node in nodes for value in node.get("enum", [node["const"]] if "const" in node else [])]
    limits = (
        ("properties", sum(len(node.get("properties", {})) for node in nodes), rules.properties_max),
        ("levels of nesting", _depth(strict), rules.depth_max),
        ("values in `enum`", len(values), rules.enum_values_max),
        ("characters of names and values", sum(len(str(text)) for text in [*names, *values]), rules.name_chars_max),
    )
    for what, size, most in limits:
        if most is not None and size > most:
            raise _Unsupported(f"{size} {what}, more than {most}")


def _depth(schema: Schema) -> int:
    inner = [_depth(child.schema) + (child.in_place is False) for child in children(schema)]
    return max(inner, default=1)
