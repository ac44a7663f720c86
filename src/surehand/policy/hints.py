"""What to write instead, for the mistakes in a policy's syntax that Cedar reports as an unexpected token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_HIDDEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*', re.DOTALL)
_FRACTION: Final = re.compile(r"(?:(<=?|>=?|[!=]=)\s{0,9})?(-?\d{0,20}\.\d{1,20})")
_HEAD: Final = re.compile(r"\b(?:permit|forbid)\s*\(")
_METHODS: Final = {"<": "lessThan", "<=": "lessThanOrEqual", ">": "greaterThan", ">=": "greaterThanOrEqual"}


def syntax_hint(text: str) -> str:
    """What to do about a policy that does not parse."""
    plain = _HIDDEN.sub(lambda match: " " * len(match[0]), text)
    return "; ".join(_found(plain)) or "correct the syntax of this policy"


def _found(plain: str) -> Iterator[str]:
    if len(_HEAD.findall(plain)) > 1:
        yield "there is no `;` after one of the policies here; end each policy with `;`"
    elif not plain.rstrip().endswith(";"):
        yield "there is no `;` at its end; end each policy with `;`"
    fraction = _FRACTION.search(plain)
    if fraction is not None:
        yield f"numbers with a point are decimals: {_decimal(fraction[1], fraction[2])}"
    if "'" in plain:
        yield 'strings stand in double quotes: "text"'


def _decimal(operator: str | None, digits: str) -> str:
    number = f'decimal("{_as_decimal(digits)}")'
    if operator in _METHODS:
        return f"instead of `{operator} {digits}` write `.{_METHODS[operator]}({number})`"
    return f"instead of `{digits}` write `{number}`"


def _as_decimal(digits: str) -> str:
    """As Cedar takes it: with a digit before the point."""
    return re.sub(r"^(-?)\.", r"\g<1>0.", digits)
