"""Where values come from: what a model read in results that nobody vouches for, and which values stood only there.

A value that the user, the application or a trusted tool wrote too is vouched for. What the model wrote itself vouches
for nothing. Pure: texts in, labels out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from .types import Trust

_CHARS: Final = 4
"""A shorter text is found everywhere and tells nothing."""
_DIGITS: Final = 3
"""Likewise a number."""
_COMPACT_CHARS: Final = 8
"""From this length on a value is also found if it was written with other spaces and hyphens."""
_WORD: Final = re.compile(r"""[^\s,;:()\[\]{}<>"'|=]+""")
_NUMBER: Final = re.compile(r"\d(?:[\d.,' ]*\d)?")
_WRITTEN_BREAK: Final = re.compile(r"\\[nrt]")
_NOT_WORDS: Final = re.compile(r"[\W_]+")


class Text:
    """Some texts, to look values up in, whatever their case and invisible characters."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self._parts = parts

    @cached_property
    def plain(self) -> str:
        """All of it in one case, without what cannot be seen."""
        return "\n".join(_plain(part) for part in self._parts)

    @cached_property
    def compact(self) -> str:
        """Letters and digits alone, line by line."""
        return "\n".join(_NOT_WORDS.sub("", line) for line in self.plain.split("\n"))

    @cached_property
    def joined(self) -> str:
        """Letters and digits alone, over the ends of lines, also where JSON writes those as escapes."""
        texts = [_plain(part) for part in self._parts]
        texts += [_WRITTEN_BREAK.sub("", text) for text in texts if "\\" in text]
        return "\n".join(_NOT_WORDS.sub("", text) for text in texts)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Each number as its digits."""
        return frozenset(form for found in _NUMBER.findall(self.plain) for form in _digits(found))

    def says(self, value: str) -> bool:
        """Whether a value stands in it, by itself and not as a part of a longer word."""
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", self.plain) is not None


@dataclass(frozen=True)
class Provenance:
    """What a model, or a handler, has read before it wrote some arguments.

    Attributes:
        trusted: Texts that vouch for the values in them.
        untrusted: Texts from outside.
    """

    trusted: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()

    @cached_property
    def _trusted(self) -> Text:
        return Text(self.trusted)

    @cached_property
    def _untrusted(self) -> Text:
        return Text(self.untrusted)

    @cached_property
    def _known(self) -> dict[str, Trust]:
        """Labels that were worked out: policies, the ledger and the record ask for the same ones."""
        return {}

    def plus(self, text: str, trust: Trust) -> Provenance:
        """With one more text."""
        if trust == "trusted":
            return Provenance((*self.trusted, text), self.untrusted)
        return Provenance(self.trusted, (*self.untrusted, text))

    def label(self, value: object) -> Trust:
        """`untrusted` if some part of a value was seen in untrusted texts only."""
        if not self.untrusted:
            return "trusted"
        key = repr(value)
        if key not in self._known:
            self._known[key] = "untrusted" if any(self._only_outside(part) for part in _parts(value)) else "trusted"
        return self._known[key]

    def _only_outside(self, part: str | float) -> bool:
        if not isinstance(part, str):
            return self._number_outside(repr(part))
        text = _plain(part).strip()
        if self._trusted.says(text):
            return False
        if self._number_outside(text):
            return True
        if len(text) < _CHARS:
            return False
        compact = _NOT_WORDS.sub("", text)
        long = len(compact) >= _COMPACT_CHARS
        if long and compact in self._trusted.compact:
            return False
        if text in self._untrusted.plain or (long and compact in self._untrusted.joined):
            return True
        return any(self._word_outside(word.strip(".!?")) for word in _WORD.findall(text))

    def _word_outside(self, word: str) -> bool:
        if len(word) < _CHARS or self._trusted.says(word):
            return False
        if self._untrusted.says(word):
            return True
        compact = _NOT_WORDS.sub("", word)
        number = len(compact) >= _COMPACT_CHARS and any(c.isdigit() for c in compact)
        return number and compact in self._untrusted.joined and compact not in self._trusted.compact

    def _number_outside(self, text: str) -> bool:
        if not _NUMBER.fullmatch(text.removeprefix("-")):
            return False
        forms = [form for form in _digits(text) if len(form) >= _DIGITS]
        return any(form in self._untrusted.numbers for form in forms) and not any(
            form in self._trusted.numbers for form in forms
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is known of where the arguments of one call come from."""

    untrusted: bool = False
    """Whether a result from outside had been read before they were written."""
    seen: Provenance | None = None
    labels: Mapping[str, Trust] | None = None
    """As they were when the call was stored; instead of `seen`, which is not kept."""

    def label(self, name: str, value: object) -> Trust:
        """Of one argument. What was not labelled when the call was stored is not vouched for."""
        if not self.untrusted:
            return "trusted"
        if self.labels is not None:
            return self.labels.get(name, "untrusted")
        return "untrusted" if self.seen is None else self.seen.label(value)


CLEAN: Final = Origin()
"""Nothing from outside was read."""


def origin_of(seen: Provenance | None) -> Origin:
    """Of arguments that were written after some texts had been read."""
    return CLEAN if seen is None else Origin(untrusted=bool(seen.untrusted), seen=seen)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded if folded.isascii() else "".join(c for c in folded if unicodedata.category(c) != "Cf")


def _digits(number: str) -> set[str]:
    """The ways to write a number without marks: 1,250.00 is 125000 and 1250."""
    whole = re.sub(r"[.,]0+$", "", number)
    return {re.sub(r"\D", "", form) for form in (number, whole)}


def _parts(value: object) -> Iterator[str | float]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Mapping):
            items = cast("Mapping[str, Any]", one)
            stack.extend((*items.keys(), *items.values()))
        elif isinstance(one, list | tuple):
            stack.extend(cast("list[Any]", one))
        elif isinstance(one, str) or (isinstance(one, int | float) and not isinstance(one, bool)):
            yield one
