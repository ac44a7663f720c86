"""What a field of a contract must be. Each rule looks at one value; a class names its rules in one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeAlias, cast

from ..errors import SpecError

Rule: TypeAlias = Callable[[object], str | None]
"""What a value must be and is not, as the end of a sentence; `None` if it is."""

MAX_SECONDS: Final = 100 * 365 * 86400
"""A hundred years: what is longer is a mistake, and overflows a database's microseconds."""


def check_fields(where: str, holder: object, rules: Mapping[str, Rule]) -> None:
    """Holds the attributes of an object against a table.

    Raises:
        SpecError: One is not what it must be; the message names it and what it must be.
    """
    for name, rule in rules.items():
        wrong = rule(getattr(holder, name))
        if wrong is not None:
            raise SpecError(f"{where}: {name} must be {wrong}")


def check_names(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses names of fields that do not exist.

    Raises:
        SpecError: There is one; the message says which was probably meant.
    """
    names = sorted(known)
    for name in given:
        if name not in names:
            raise SpecError(f"{where}: there is no field {name!r}{did_you_mean(name, names) or known_names(names)}")


def did_you_mean(value: object, names: Iterable[str]) -> str:
    """A hint for who wrote a name that does not exist; empty if no name is close."""
    close = get_close_matches(value[:64], list(names), n=1) if isinstance(value, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def known_names(names: Iterable[str]) -> str:
    """`; write one of 'a', 'b'`."""
    return f"; write one of {', '.join(map(repr, names))}"


def one_of(allowed: Iterable[str]) -> Rule:
    """One of some words."""
    words = tuple(allowed)

    def rule(value: object) -> str | None:
        if isinstance(value, str) and value in words:
            return None
        listed = ", ".join(map(repr, words))
        return _not(f"one of {listed}", value) + did_you_mean(value, words)

    return rule


def instance_of(kind: type | tuple[type, ...], must: str) -> Rule:
    """An instance of a class."""
    return lambda value: None if isinstance(value, kind) else _not(must, value)


def all_of(kind: type, must: str) -> Rule:
    """A list of instances of a class."""

    def rule(value: object) -> str | None:
        items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
        return (
            None if all(isinstance(item, kind) for item in items) else _not(f"a list of {must}", cast("object", value))
        )

    return rule


def optional(rule: Rule) -> Rule:
    """What the rule says, or nothing."""
    return lambda value: None if value is None else rule(value)


def text(value: object) -> str | None:
    """A string that can be written: without lone surrogates."""
    if isinstance(value, str) and not any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        return None
    return _not("a string of valid Unicode", value)


def flag(value: object) -> str | None:
    """A boolean and nothing that is taken for one."""
    return None if isinstance(value, bool) else _not("True or False", value)


def function(value: object) -> str | None:
    """Something that can be called."""
    return None if callable(value) else _not("a function", value)


def names(value: object) -> str | None:
    """A list of strings that are not empty."""
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
    if all(item and text(item) is None for item in items):
        return None
    return _not("a list of non-empty strings", cast("object", value))


def mapping(value: object) -> str | None:
    """A mapping whose keys are strings."""
    keys = cast("Mapping[object, Any]", value) if isinstance(value, Mapping) else [None]
    if all(isinstance(key, str) for key in keys):
        return None
    return _not("a mapping with strings as keys", cast("object", value))


def number(value: object) -> str | None:
    """A finite number."""
    return None if _finite(value) else _not("a finite number", value)


def seconds(*, zero: bool) -> Rule:
    """A time span that is not negative, or else above zero."""
    bound = "at least" if zero else "above"

    def rule(value: object) -> str | None:
        if _finite(value) and 0 <= cast("float", value) <= MAX_SECONDS and (zero or value != 0):
            return None
        return _not(f"a number of seconds {bound} 0 and at most {MAX_SECONDS}", value)

    return rule


def count(at_least: int, at_most: int) -> Rule:
    """A whole number between two."""

    def rule(value: object) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool) and at_least <= value <= at_most:
            return None
        return _not(f"a whole number from {at_least} to {at_most}", value)

    return rule


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _not(must: str, value: object) -> str:
    return f"{must}, not {value!r:.80}"
