"""Loose text to strict JSON text, token by token. What comes out is read by the strict parser, which alone decides.

Of a token only the spelling changes. No bracket, closing quote or value is ever added, so that cut text stays cut and
two objects stay two. Readers of JSON5 would not do: they know no words of Python's, and take NaN and hexadecimal
numbers; `pyjson5` takes the last of two equal keys, and `json5` seconds for what a model may write at once.
`ast.literal_eval` knows no words of JSON's, reads its surrogate pairs wrongly, and takes the last of two equal keys.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

_TOKEN: Final = re.compile(
    r"""
      "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"?
    | '(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)'?
    | (?P<word>[^\W\d]\w*+)
    | (?P<nothing>[\[{,:][ \t\r\n]*+,)                # a comma after no value is not a trailing one
    | (?P<comma>,)(?=[ \t\r\n]*+[\]}])
    """,
    re.VERBOSE | re.DOTALL,
)
_PIECE: Final = re.compile(r'\\x([0-9a-fA-F]{2})|\\U([0-9a-fA-F]{8})|\\(.)|(["\n\r\t])', re.DOTALL)
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_RAW: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NO_ESCAPE: Final = "\\?"
"""What no JSON text may hold."""

WORDS: Final = "Python's words"
COMMAS: Final = "trailing commas"
QUOTES: Final = "single quotes"
ESCAPES: Final = "Python's escapes"
BREAKS: Final = "line breaks or tabs in strings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tightened:
    """Text as the strict parser wants it, if there is such a text."""

    text: str
    liberties: tuple[str, ...]
    """What was loose, sorted; empty if the text is as it was."""
    marks: tuple[tuple[int, int], ...]
    """Where tokens begin that became longer or shorter, and end: in the new text, and in the old one."""

    def origin(self, position: int) -> int:
        """Where in the old text a character of the new one comes from; within a changed token: where that begins."""
        index = bisect_right(self.marks, position, key=itemgetter(0)) - 1
        if index < 0:
            return position
        new, old = self.marks[index]
        return old if index % 2 == 0 else old + position - new


def tighten(text: str) -> Tightened:
    """Writes as JSON what is only spelled otherwise.

    That is: `True`, `False` and `None`, strings in single quotes, Python's escapes, line breaks and tabs in strings,
    one comma after the last member. All else is left for the strict parser to refuse.
    """
    work = _Tightening()
    tight = _TOKEN.sub(work.token, text)
    return Tightened(text=tight, liberties=tuple(sorted(work.liberties)), marks=tuple(work.marks))


class _Tightening:
    def __init__(self) -> None:
        self.liberties: set[str] = set()
        self.marks: list[tuple[int, int]] = []
        self.longer = 0

    def token(self, found: re.Match[str]) -> str:
        """One token, tightened."""
        old = found[0]
        if found["double"] is not None or found["single"] is not None:
            new = self.string(found)
        elif found["word"] in _WORDS:
            self.liberties.add(WORDS)
            new = _WORDS[old]
        elif found["comma"]:
            self.liberties.add(COMMAS)
            new = " "
        else:
            return old
        if len(new) != len(old):
            self.marks.append((found.start() + self.longer, found.start()))
            self.longer += len(new) - len(old)
            self.marks.append((found.end() + self.longer, found.end()))
        return new

    def string(self, found: re.Match[str]) -> str:
        """A string in double quotes; without the last one, if it had none."""
        single = found["double"] is None
        if single:
            self.liberties.add(QUOTES)
        old = found["single"] if single else found["double"]
        body = _PIECE.sub(lambda piece: self.piece(piece, single=single), old)
        return f'"{body}"' if len(found[0]) == len(old) + 2 else f'"{body}'

    def piece(self, found: re.Match[str], *, single: bool) -> str:
        """An escape, or a character that has to be one."""
        byte, point, escaped, raw = found.groups()
        if raw is not None:
            if raw == '"':
                return '\\"'
            self.liberties.add(BREAKS)
            return _RAW[raw]
        if byte is not None:
            self.liberties.add(ESCAPES)
            return f"\\u00{byte}"
        if point is not None:
            self.liberties.add(ESCAPES)
            return _character(int(point, 16))
        if escaped == "'":
            self.liberties.add(ESCAPES)
            return "'"
        if escaped == "/" and single:  # to Python these are two characters, to JavaScript one: nobody can tell
            return _NO_ESCAPE
        return found[0]


def _character(code: int) -> str:
    """What stands for a character in JSON text; itself only where it cannot end the string."""
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return _NO_ESCAPE
    return f"\\u{code:04x}" if code <= 0xFFFF else chr(code)
