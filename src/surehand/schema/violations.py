"""What is wrong with a value, worded for the model that wrote it: where, what was expected, what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias, cast

import jsonschema_rs as rs

from ..spec.places import Places, follow
from .keywords import Schema

MAX_SHOWN: Final = 80
MAX_LISTED: Final = 10

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1DT12H",
    "email": "name@example.com",
    "uuid": "7f0c1c1e-5a3b-4c44-9d3e-0b8a1c2d3e4f",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is wrong."""

    path: str
    """JSON path of the value, such as `$.items[0].qty`."""
    message: str
    """What is wrong there, without the path. Safe for the model: of the value it holds at most 80 characters."""
    expected: str
    """What was expected, such as `an integer`."""
    allowed: Any = None
    """A value that would be allowed here, or the list of all that are; `None` where none is known."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def json_path(parts: Iterable[str | int]) -> str:
    """`$.items[0].qty`; keys that are no plain words are quoted."""
    text = "$"
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part) and len(part) <= MAX_SHOWN:
            text += f".{part}"
        else:
            text += f"[{_cut(json.dumps(part))}]"
    return text


def shown(value: Any) -> str:
    """A value in at most 80 characters; of objects and arrays only what they are, for they may hold a secret."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(cast('list[Any]', value))}"
    text = _cut(json.dumps(value, ensure_ascii=False, default=str))
    return f"the string {text}" if isinstance(value, str) else text


def violations(root: Schema, errors: Iterable[rs.ValidationError]) -> Iterator[Violation]:
    """Words the errors of one value. Of what the schema calls secret, nothing is shown: no value, no key, no place."""
    places = Places(root)
    for error in errors:
        yield from _violations(root, places, error)


def unknown(root: Schema, name: str) -> Violation:
    """Says of an argument that there is none of that name."""
    return _unknown([name], name, root)


def too_large(path: Sequence[str | int], value: float) -> Violation:
    """Says of a float that it is no integer, although it equals one: which one, nobody can tell."""
    expected = "an integer, written in digits without point or exponent"
    return Violation(path=json_path(path), message=f"expected {expected}, got {shown(value)}", expected=expected)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _json(values: Iterable[Any]) -> str:
    listed = [_cut(json.dumps(value, ensure_ascii=False, default=str)) for value in values]
    more = len(listed) - MAX_LISTED
    return ", ".join(listed[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _nouns(types: Iterable[str]) -> str:
    return " or ".join(_NOUNS.get(kind, kind) for kind in types)


@dataclass(frozen=True, slots=True)
class _Place:
    """An error with the schema that it is about."""

    error: rs.ValidationError
    schema: Schema
    path: list[str | int]
    """To the value, or to the secret that it is in."""
    secret: bool
    """Whether nothing of the value may be shown."""

    @property
    def got(self) -> str:
        return "what was sent" if self.secret else shown(self.error.instance)

    @property
    def detail(self) -> Any:
        return self.error.kind.value


def _place(root: Schema, places: Places, error: rs.ValidationError) -> _Place:
    node: Any = root
    schema = root
    for part in error.evaluation_path:
        if isinstance(node, dict):
            schema = cast("Schema", node)
            reference = schema.get("$ref") if part == "$ref" else None
            node = follow(root, reference) if isinstance(reference, str) else schema.get(str(part))
        else:
            node = cast("list[Any]", node)[int(part)] if isinstance(node, list) else None
    path = list(error.instance_path)
    secret_from = places.secret_from(path)
    return _Place(error, schema, path[:secret_from], secret_from is not None)


def _violations(root: Schema, places: Places, error: rs.ValidationError) -> Iterator[Violation]:
    kind = error.kind
    if isinstance(kind, rs.ValidationErrorKind.AnyOf | rs.ValidationErrorKind.OneOfNotValid):
        yield from _branches(root, places, error, kind.context)
        return
    place = _place(root, places, error)
    path = json_path(place.path)
    if isinstance(kind, rs.ValidationErrorKind.AdditionalProperties | rs.ValidationErrorKind.UnevaluatedProperties):
        if place.secret:
            yield Violation(path=path, message="expected known names only", expected="known names only")
            return
        for name in kind.unexpected[:MAX_LISTED]:
            yield _unknown([*place.path, name], name, place.schema)
        return
    if isinstance(kind, rs.ValidationErrorKind.Required):
        yield _missing(root, place, kind.property)
        return
    word = _WORDING.get(type(kind).__name__)
    expected, allowed = word(place) if word else (f"to satisfy {kind.name!r}", _example(place.schema))
    example = "" if allowed is None or isinstance(allowed, list) else f"; an allowed value is {_json([allowed])}"
    yield Violation(
        path=path, message=f"expected {expected}, got {place.got}{example}", expected=expected, allowed=allowed
    )


def _unknown(path: Iterable[str | int], name: str, schema: Schema) -> Violation:
    known = [key for key in schema.get("properties", {}) if isinstance(key, str)]
    close = get_close_matches(name[:256], known, n=1, cutoff=0.6)
    expected = f"one of the known names {_json(known)}" if known else "no such name"
    hint = f"did you mean {_json(close)}?" if close else (f"known: {_json(known)}" if known else "remove it")
    return Violation(
        path=json_path(path),
        message=f"unknown; {hint}",
        expected=expected,
        allowed=close[0] if close else known or None,
    )


def _missing(root: Schema, place: _Place, name: str) -> Violation:
    schema: Any = place.schema.get("properties", {}).get(name, {})
    if isinstance(schema, dict) and isinstance(reference := cast("Schema", schema).get("$ref"), str):
        schema = follow(root, reference)
    schema = cast("Schema", schema) if isinstance(schema, dict) else {}
    kinds = _types(schema)
    expected = _nouns(kinds) if kinds else "a value"
    allowed = _example(schema)
    path = json_path(place.path if place.secret else [*place.path, name])
    example = "" if allowed is None else f"; an allowed value is {_json([allowed])}"
    return Violation(
        path=path,
        message=f"required but missing, expected {expected}{example}",
        expected=expected,
        allowed=allowed,
    )


def _branches(
    root: Schema, places: Places, error: rs.ValidationError, branches: list[list[rs.ValidationError]]
) -> Iterator[Violation]:
    """What is wrong with the closest of several alternatives."""
    here = error.instance_path

    def wrong_kind(item: rs.ValidationError) -> bool:
        return isinstance(item.kind, rs.ValidationErrorKind.Type) and item.instance_path == here

    def distance(branch: list[rs.ValidationError]) -> tuple[int, int, int]:
        tags = (rs.ValidationErrorKind.Constant, rs.ValidationErrorKind.Enum)
        return sum(map(wrong_kind, branch)), sum(isinstance(item.kind, tags) for item in branch), len(branch)

    failed = [branch for branch in branches if branch]
    if failed and not all(any(map(wrong_kind, branch)) for branch in failed):
        for inner in min(failed, key=distance):
            yield from _violations(root, places, inner)
        return
    kinds = [kind for branch in failed for item in branch if wrong_kind(item) for kind in item.kind.value]
    expected = _nouns(dict.fromkeys(kinds)) or "one of the alternatives"
    place = _place(root, places, error)
    path = json_path(place.path)
    yield Violation(path=path, message=f"expected {expected}, got {place.got}", expected=expected)


def _types(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else [str(kind) for kind in kinds]


def _example(schema: Schema) -> Any:
    """A value that the schema itself names, or the plainest of its type; `None` if that would be a guess."""
    for keyword in ("const", "default"):
        if schema.get(keyword) is not None:
            return schema[keyword]
    for keyword in ("examples", "enum"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return schema[keyword][0]
    if schema.get("format") in _EXAMPLES:
        return _EXAMPLES[schema["format"]]
    kinds = _types(schema)
    if not kinds or "pattern" in schema or "multipleOf" in schema:
        return None
    return _plainest(kinds[0], schema)


def _plainest(kind: str, schema: Schema) -> Any:
    match kind:
        case "integer" | "number":
            if "exclusiveMinimum" in schema or "exclusiveMaximum" in schema:
                return None
            return schema.get("minimum", schema.get("maximum", 1))
        case "boolean":
            return True
        case "string":
            return None if "minLength" in schema or "maxLength" in schema else "text"
        case _:
            return None


_Wording: TypeAlias = Callable[[_Place], tuple[str, Any]]


def _limit(text: str) -> _Wording:
    return lambda place: (text.format(place.detail), place.detail)


def _size(text: str) -> _Wording:
    return lambda place: (text.format(place.detail), _example(place.schema))


_WORDING: Final[dict[str, _Wording]] = {
    "Type": lambda place: (_nouns(place.detail), _example(place.schema)),
    "Enum": lambda place: (f"one of {_json(place.detail)}", list(place.detail)[:MAX_LISTED]),
    "Constant": lambda place: (_json([place.detail]), [place.detail]),
    "Minimum": _limit("at least {}"),
    "Maximum": _limit("at most {}"),
    "ExclusiveMinimum": _size("more than {}"),
    "ExclusiveMaximum": _size("less than {}"),
    "MultipleOf": _limit("a multiple of {}"),
    "MinLength": _size("at least {} characters"),
    "MaxLength": _size("at most {} characters"),
    "MinItems": _size("at least {} items"),
    "MaxItems": _size("at most {} items"),
    "MinProperties": _size("at least {} properties"),
    "MaxProperties": _size("at most {} properties"),
    "Pattern": lambda place: (f"text that matches {str(place.detail)[:200]}", _example(place.schema)),
    "Format": lambda place: (f"text in the format {place.detail}", _EXAMPLES.get(str(place.detail))),
    "UniqueItems": lambda _: ("items that all differ", None),
    "Contains": lambda _: ("an item of the required kind", None),
    "Not": lambda _: ("a value that the schema does not exclude", None),
    "FalseSchema": lambda _: ("nothing here", None),
    "OneOfMultipleValid": lambda _: ("a value that fits exactly one alternative", None),
    "BacktrackLimitExceeded": lambda _: ("text that its pattern can be checked against", None),
}
