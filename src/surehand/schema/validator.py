"""`Validator`: a compiled JSON Schema 2020-12. The only room that knows `jsonschema-rs`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs as rs

from ..errors import SpecError
from .bounds import MAX_DEPTH, check_expansion, check_references, plain
from .keywords import Schema, pointer, walk
from .plan import Coercion, Plan, build_plan
from .violations import Violation, json_path, violations

MAX_VIOLATIONS: Final = 5
_BACKTRACK_LIMIT: Final = 10_000


class Validator:
    """A schema, compiled. Made by `compile_schema` and `compile_parameters`; cannot be pickled."""

    __slots__ = ("_judge", "_listing_depth", "_plan", "schema")

    def __init__(self, schema: Schema, judge: rs.Validator, listing_depth: int, plan: Plan) -> None:
        self.schema = schema
        """Plain JSON, as compiled. Not to be changed."""
        self._judge = judge
        self._listing_depth = listing_depth
        self._plan = plan

    def is_valid(self, instance: Any) -> bool:
        """Whether the schema accepts a value. One that cannot be judged, because it is not JSON, is not valid."""
        try:
            return self._judge.is_valid(instance)
        except ValueError:  # no JSON: surrogates, other types
            return False

    def errors(self, instance: Any) -> list[Violation]:
        """What is wrong, at most 5 violations, in words for the model; empty if and only if the value is valid."""
        if self.is_valid(instance):
            return []
        if self._listing_depth < MAX_DEPTH and _deeper(instance, self._listing_depth):
            return self._shallow_errors(instance)
        return self._listed(instance) or [_whole("$", "plain JSON: text without lone surrogates, string keys")]

    def _listed(self, instance: Any) -> list[Violation]:
        try:
            return list(islice(violations(self.schema, self._judge.iter_errors(instance)), MAX_VIOLATIONS))
        except ValueError:
            return []

    def _shallow_errors(self, instance: Any) -> list[Violation]:
        """Lists without the members that are too deep for it; if the rest is right, one of them is not."""
        members = cast("dict[str, Any]", instance) if isinstance(instance, dict) else {}
        deep = {json_path([name]) for name, item in members.items() if _deeper(item, self._listing_depth - 1)}
        rest = {name: item for name, item in members.items() if json_path([name]) not in deep}
        found = [violation for violation in self._listed(rest) if violation.path not in deep] if rest else []
        why = f"what the schema says; below level {self._listing_depth} it is too deep to tell where it is not"
        return found or [_whole(path, why) for path in sorted(deep)[:MAX_VIOLATIONS] or ["$"]]

    def coerce(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[Coercion, ...]]:
        """See `coerce`."""
        return self._plan.coerce(arguments)

    def fill_defaults(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """See `fill_defaults`; a default that its own schema refuses is not filled in."""
        return self._plan.fill_defaults(arguments)


def compile_schema(schema: Mapping[str, Any], *, where: str) -> Validator:
    """Checks and compiles a schema. Nothing is ever fetched; formats are asserted, unknown formats are annotations.

    Patterns run in linear time; where one needs look-around or back-references the whole schema falls back to
    a backtracking engine with a limit of 10,000 steps, beyond which a value is refused.

    Args:
        schema: JSON Schema 2020-12.
        where: Names the schema in errors, such as `tool 'refund@1': parameters`.

    Raises:
        SpecError: Not a valid 2020-12 schema, or one of the limits in `bounds` is exceeded.
    """
    return _compile(plain(schema, where), where)


def compile_parameters(schema: Mapping[str, Any], where: str) -> Validator:
    """Like `compile_schema`, for the arguments of a call.

    The root must be an object. Unknown top-level arguments are refused, unless the schema itself lets them in by
    `additionalProperties`, `unevaluatedProperties` or a matching `patternProperties`.

    Raises:
        SpecError: As `compile_schema`, or the root is not an object.
    """
    closed = plain(schema, where)
    if closed.get("type") != "object":
        raise SpecError(f"{where}: arguments are an object: write 'type': 'object' at the root of the schema")
    if not closed.keys() & {"additionalProperties", "unevaluatedProperties"}:
        composed = closed.keys() & {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}
        closed["unevaluatedProperties" if composed else "additionalProperties"] = False
    return _compile(closed, where)


def _compile(schema: Schema, where: str) -> Validator:
    check_references(schema, where)
    try:
        rs.meta.validate(schema)
    except (ValueError, rs.ReferencingError) as error:
        raise SpecError(f"{where}: not a valid JSON Schema 2020-12: {_say(error)}") from None
    listing_depth = check_expansion(schema, where)
    try:
        judge = _judge(schema, rs.RegexOptions())
        pattern_options: rs.PatternOptionsType = rs.RegexOptions()
    except ValueError:
        pattern_options = rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT)
        try:
            judge = _judge(schema, pattern_options)
        except ValueError as error:
            raise SpecError(f"{where}: the schema does not compile: {_say(error)}") from None
    return Validator(schema, judge, listing_depth, build_plan(schema, _fitting_defaults(schema, pattern_options)))


def _judge(schema: Schema, pattern_options: rs.PatternOptionsType) -> rs.Validator:
    return rs.Draft202012Validator(schema, validate_formats=True, offline=True, pattern_options=pattern_options)


def _fitting_defaults(schema: Schema, pattern_options: rs.PatternOptionsType) -> frozenset[int]:
    """The `id` of each schema whose default it accepts itself."""
    holders = [(path, node) for path, node in walk(schema) if "default" in node]
    if not holders:
        return frozenset()
    judges = rs.validator_map_for(schema, validate_formats=True, offline=True, pattern_options=pattern_options)

    def fits(path: tuple[str | int, ...], node: Schema) -> bool:
        tokens = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
        judge = judges.get("#" + "".join(f"/{token}" for token in tokens))
        return judge is not None and judge.is_valid(node["default"])

    return frozenset(id(node) for path, node in holders if fits(path, node))


def _say(error: Exception) -> str:
    at = pointer(tuple(getattr(error, "instance_path", ())))
    return f"at {at}: {getattr(error, 'message', error)!s:.200}"


def _whole(path: str, expected: str) -> Violation:
    return Violation(path=path, message=f"expected {expected}", expected=expected)


def _deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict | list):
        items = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        return levels == 0 or any(_deeper(item, levels - 1) for item in items)
    return False
