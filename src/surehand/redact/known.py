"""Values that must never be shown, and where they stand in a text, in any form in which text carries them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import quote, quote_plus

import orjson

from .characters import clean_text
from .patterns import MARK

MIN_KNOWN_CHARS = 4
"""Shorter known values are hidden only where they are a whole string: inside text they would match anything."""
MAX_SEARCHED = 24
"""Forms that are looked for one by one. More are one pattern, which takes long to make."""
MAX_SPANS = 100_000
"""Places in one text that are kept in memory; with more, one value is replaced after the other."""


class Known:
    """Some known values. Cheap to make: their forms are worked out when the first text is looked at."""

    __slots__ = ("_forms", "_pattern", "values")

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(value for value in values if value)
        self._forms: tuple[str, ...] | None = None
        self._pattern: re.Pattern[str] | None = None

    @property
    def longest(self) -> int:
        """No form of a value has more characters: inside JSON or a URL, one may become six, or twelve."""
        return 12 * max(map(len, self.values), default=0)

    def spans(self, text: str) -> Iterable[tuple[int, int]]:
        """Where one of them stands in a text, in no order."""
        forms = self._prepared() if self._forms is None else self._forms
        if self._pattern is not None:
            return (match.span() for match in self._pattern.finditer(text))
        return (span for form in forms if form in text for span in _found(form, text))

    def replaced(self, text: str) -> str:
        """The text with a mark in place of each, one form after the other."""
        forms = self._prepared() if self._forms is None else self._forms
        if self._pattern is not None:
            return self._pattern.sub(MARK, text)
        for form in forms:
            text = text.replace(form, MARK)
        return text

    def _prepared(self) -> tuple[str, ...]:
        # The longest first: of two that begin at one place it is the one that leaves nothing.
        forms = tuple(sorted(_forms(self.values), key=lambda form: (-len(form), form)))
        if len(forms) > MAX_SEARCHED:
            self._pattern = re.compile("|".join(map(re.escape, forms)))
        self._forms = forms
        return forms


def without_known(text: str, layers: Iterable[Known]) -> str:
    """The text with a mark in place of each known value. Where several overlap, all that they cover goes."""
    spans: list[tuple[int, int]] = []
    for layer in layers:
        spans += islice(layer.spans(text), MAX_SPANS + 1 - len(spans))
    if not spans:
        return text
    if len(spans) > MAX_SPANS:
        for layer in layers:
            text = layer.replaced(text)
        return text
    spans.sort()
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            parts += [text[end:start], MARK]
        end = max(end, stop)
    parts.append(text[end:])
    return "".join(parts)


def _found(form: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + len(form))


def _forms(values: Iterable[str]) -> set[str]:
    """As they are, cleaned, without the space around them, inside JSON text, and inside URLs."""
    forms: set[str] = set()
    for value in values:
        if len(value) < MIN_KNOWN_CHARS:
            continue
        if value.isascii() and value.isalnum():
            forms.add(value)
            continue
        cleaned = clean_text(value)
        for one in {value, cleaned, cleaned.strip()}:
            if len(one) < MIN_KNOWN_CHARS:
                continue
            forms |= {one, _in_json(one), _in_ascii_json(one), quote(one, "", errors="replace")}
            forms |= {quote(one, errors="replace"), quote_plus(one, errors="replace")}
    return forms


def _in_json(value: str) -> str:
    return orjson.dumps(value.encode("utf-8", "replace").decode()).decode()[1:-1]


def _in_ascii_json(value: str) -> str:
    units = _in_json(value).encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 0x80 else f"\\u{code:04x}" for code in codes)
