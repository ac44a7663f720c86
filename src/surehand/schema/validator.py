"""`Validator`: a compiled JSON Schema 2020-12. The only room that knows `jsonschema-rs`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs as rs

from ..errors import SpecError
from ..spec.numbers import EXACT
from ..spec.places import Places
from .bounds import MAX_DEPTH, check_expansion, check_references, is_older, plain
from .keywords import Schema, pointer, walk
from .plan import Coercion, Plan, build_plan
from .violations import Violation, json_path, too_large, unknown, violations

MAX_VIOLATIONS: Final = 5
_BACKTRACK_LIMIT: Final = 10_000


class Validator:
    """A schema, compiled. Made by `compile_schema` and `compile_parameters`; cannot be pickled."""

    __slots__ = ("_forbidden", "_integers", "_judge", "_listing_depth", "_plan", "schema", "unfit_defaults")

    def __init__(
        self,
        schema: Schema,
        judge: rs.Validator,
        listing_depth: int,
        plan: Plan,
        *,
        unfit_defaults: tuple[str, ...] = (),
        forbidden: frozenset[str] | None = None,
    ) -> None:
        self.schema = schema
        """Plain JSON, as compiled. Not to be changed."""
        self.unfit_defaults = unfit_defaults
        """Where in the schema there is a default that the schema beside it refuses."""
        self._judge = judge
        self._listing_depth = listing_depth
        self._plan = plan
        self._forbidden = forbidden or frozenset()
        # Only arguments come from a model; an output is what it is.
        self._integers = forbidden is not None and any("integer" in _types(node) for _, node in walk(schema))

    def is_valid(self, instance: Any) -> bool:
        """Whether the schema accepts a value. One that cannot be judged, because it is not JSON, is not valid."""
        return self._accepts(instance) and next(self._beyond_schema(instance), None) is None

    def errors(self, instance: Any) -> list[Violation]:
        """What is wrong, at most 5 violations, in words for the model; empty if and only if the value is valid."""
        found = list(islice(self._beyond_schema(instance), MAX_VIOLATIONS))
        if found and self._forbidden and isinstance(instance, dict):
            members = cast("dict[str, Any]", instance)
            instance = {name: item for name, item in members.items() if name not in self._forbidden}
        if self._accepts(instance):
            return found
        if self._listing_depth < MAX_DEPTH and _deeper(instance, self._listing_depth):
            listed = self._shallow_errors(instance)
        else:
            listed = self._listed(instance)
        plain_json = _whole("$", "plain JSON: text without lone surrogates, string keys")
        return [*found, *(listed or [plain_json])][:MAX_VIOLATIONS]

    def _accepts(self, instance: Any) -> bool:
        try:
            return self._judge.is_valid(instance)
        except ValueError:  # no JSON: surrogates, other types
            return False

    def _beyond_schema(self, instance: Any) -> Iterator[Violation]:
        """What the schema lets pass, and this validator does not."""
        if self._forbidden and isinstance(instance, dict):
            members = cast("dict[str, Any]", instance)
            yield from (unknown(self.schema, name) for name in members if name in self._forbidden)
        if not self._integers:
            return
        places = Places(self.schema)
        for path, value in _inexact(instance, ()):
            kinds = [kind for schema in places.at(path) for kind in _types(schema)]
            if "integer" in kinds and "number" not in kinds:
                secret_from = places.secret_from(path)
                yield (
                    too_large(path, value)
                    if secret_from is None
                    else _whole(json_path(path[:secret_from]), "an integer, written in digits")
                )

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

    def coerce(
        self, arguments: dict[str, Any], *, numbers: bool = False
    ) -> tuple[dict[str, Any], tuple[Coercion, ...]]:
        """See `coerce`; with `numbers`, equal numbers get one form, and nothing else changes."""
        return self._plan.coerce(arguments, numbers=numbers)

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


def compile_parameters(
    schema: Mapping[str, Any], where: str, forbidden: Collection[str] = frozenset(), *, fill: bool = True
) -> Validator:
    """Like `compile_schema`, for the arguments of a call.

    The root must be an object. Unknown top-level arguments are refused, unless the schema itself lets them in by
    `additionalProperties`, `unevaluatedProperties` or a matching `patternProperties`. Integers beyond 2**53 must be
    written as such: a float of that size equals an integer by chance.

    Args:
        schema: JSON Schema 2020-12.
        where: As for `compile_schema`.
        forbidden: Top-level names that are unknown arguments whatever the schema says: those that the engine injects.
        fill: Whether defaults are filled in.

    Raises:
        SpecError: As `compile_schema`, or the root is not an object, or it names what is forbidden.
    """
    closed = plain(schema, where)
    if closed.get("type") != "object":
        raise SpecError(f"{where}: arguments are an object: write 'type': 'object' at the root of the schema")
    if not closed.keys() & {"additionalProperties", "unevaluatedProperties"}:
        composed = closed.keys() & {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}
        closed["unevaluatedProperties" if composed else "additionalProperties"] = False
    validator = _compile(closed, where, frozenset(forbidden), fill=fill)
    for node in Places(closed).at(()):
        for name in forbidden:
            if name in node.get("properties", ()) or name in node.get("required", ()):
                raise SpecError(f"{where}: argument {name!r} is injected, so the schema may not name it")
    return validator


def _compile(schema: Schema, where: str, forbidden: frozenset[str] | None = None, *, fill: bool = True) -> Validator:
    check_references(schema, where)
    if is_older(schema):
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
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
    fitting, unfit = _defaults(schema, pattern_options)
    plan = build_plan(schema, fitting if fill else frozenset())
    return Validator(schema, judge, listing_depth, plan, unfit_defaults=unfit, forbidden=forbidden)


def _judge(schema: Schema, pattern_options: rs.PatternOptionsType) -> rs.Validator:
    return rs.Draft202012Validator(schema, validate_formats=True, offline=True, pattern_options=pattern_options)


def _defaults(schema: Schema, pattern_options: rs.PatternOptionsType) -> tuple[frozenset[int], tuple[str, ...]]:
    """The `id` of each schema whose default it accepts itself, and where the others are."""
    holders = [(path, node) for path, node in walk(schema) if "default" in node]
    if not holders:
        return frozenset(), ()
    judges = rs.validator_map_for(schema, validate_formats=True, offline=True, pattern_options=pattern_options)

    def fits(path: tuple[str | int, ...], node: Schema) -> bool:
        tokens = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
        judge = judges.get("#" + "".join(f"/{token}" for token in tokens))
        return judge is not None and judge.is_valid(node["default"])

    fitting = frozenset(id(node) for path, node in holders if fits(path, node))
    return fitting, tuple(pointer(path) for path, node in holders if id(node) not in fitting)


def _types(schema: Mapping[str, Any]) -> list[Any]:
    kinds = schema.get("type")
    return cast("list[Any]", kinds) if isinstance(kinds, list) else [kinds]


def _inexact(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """Floats so large that each stands for several integers."""
    if isinstance(value, float):
        if abs(value) > EXACT:
            yield path, value
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            if isinstance(item, float | dict | list):
                yield from _inexact(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            if isinstance(item, float | dict | list):
                yield from _inexact(item, (*path, index))


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
