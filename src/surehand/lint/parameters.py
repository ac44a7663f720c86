"""What a model may write: bounded, with units, and in a schema that providers can carry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..providers import PROVIDERS
from ..schema.keywords import Schema
from ..spec import ToolSpec
from .finding import Problem, Rule, schemas
from .portability import alone, said

_BOUNDS: Final = ("maxLength", "enum", "const", "format", "pattern")
_MEASURES_TEXT: Final = """
age amount area balance bandwidth budget capacity cost credit debit delay deposit depth discount distance duration
elapsed fee height interval latency length limit_bytes lifetime mass memory money payment period power pressure
price quota rate salary size span speed sum temperature timeout total ttl value volume wait weight width
"""
_MEASURES: Final = frozenset(_MEASURES_TEXT.split())
_UNITS_TEXT: Final = """
s sec secs second seconds ms millisecond milliseconds us microsecond microseconds ns minute minutes min mins hour
hours h day days week weeks month months year years b byte bytes kb kib mb mib gb gib tb cent cents euro euros eur
usd dollar dollars gbp pound pounds chf yen jpy percent pct ratio fraction km m cm mm metre metres meter meters
mile miles inch inches foot feet ft kg g gram grams mg tonne tonnes lb lbs litre litres liter liters ml l celsius
fahrenheit kelvin degrees watt watts kw kwh volt volts hz khz mhz pixel pixels px token tokens character
characters chars word words row rows item items page pages piece pieces unit units iso minor count number times
people currency kmh mph basis
"""
_UNITS: Final = frozenset(_UNITS_TEXT.split())
_WORD: Final = re.compile(r"[a-z]+")


def _types(node: Schema) -> set[str]:
    given: Any = node.get("type")
    return set(given) if isinstance(given, list) else {given} if isinstance(given, str) else set()  # pyright: ignore[reportUnknownArgumentType]


def _string(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, _, node in schemas(spec):
        if "string" in _types(node) and not any(name in node for name in _BOUNDS):
            yield Problem(where, "a string without an end; add maxLength, an enum, a format or a pattern")


def _array(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, _, node in schemas(spec):
        if "array" in _types(node) and "maxItems" not in node:
            yield Problem(where, "a list without an end; add maxItems")


def _unit(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, name, node in schemas(spec):
        if not _types(node) & {"integer", "number"} or not name:
            continue
        named = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
        said = _WORD.findall(str(node.get("description", "")).lower())
        if _MEASURES.intersection(named) and not _UNITS.intersection([*named, *said]) and "%" not in str(node):
            yield Problem(where, f"`{name}` has no unit; put it into the name, such as `{name}_cents`, or describe it")


def _carried(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for note, names in _told(spec, strict=False).items():
        if note.startswith("left out"):
            yield Problem("parameters", f"{names} cannot carry it, so it is {note}")


def _narrowed(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for note, names in _told(spec, strict=True).items():
        if note.startswith("unsupported") or "renamed" in note or "cut to" in note:
            yield Problem("parameters", f"{names}: {note}")


def _told(spec: ToolSpec, *, strict: bool) -> dict[str, str]:
    """What exports say of a tool -> the providers that it is about.

    In strict mode those have no say that have none, or whose strict mode wants a required property in every object:
    that would be said of most tools. The matrix of `tools lint --portability` shows them all.
    """
    found: dict[str, list[str]] = {}
    for name, one in PROVIDERS.items():
        rules = one.profile.strict
        if strict and (rules is None or rules.needs_required):
            continue
        for note in said(one.export(alone(spec), strict=strict), spec):
            found.setdefault(note, []).append(name)
    return {note: ", ".join(names) for note, names in found.items()}


PARAMETER_RULES: Final = (
    Rule("string-unbounded", "warning", "Each string argument has an end.", _string),
    Rule("array-unbounded", "warning", "Each list argument has an end.", _array),
    Rule("unit-missing", "warning", "Numbers that measure something say in what unit.", _unit),
    Rule("schema-not-carried", "error", "Every provider can be told the schema.", _carried),
    Rule("schema-narrowed", "warning", "Every provider can be told all of it, in strict mode too.", _narrowed),
)
