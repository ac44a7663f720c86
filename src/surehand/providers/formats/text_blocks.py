"""Calls written into an answer's text: how blocks are found in it, read and written. Strict: nothing is guessed.

A block begins with a line of three backticks and `tool_call`, and ends with a line of three backticks. Between them
stands one JSON object of `name` and `arguments`. Line breaks next to a block belong to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from ...schema import parse_arguments
from ..arguments import as_text, is_blank

FENCE: Final = "```"
OPENING: Final = f"{FENCE}tool_call"
RESULT: Final = f"{FENCE}tool_result"
_MARKS: Final = re.compile(r"```(?=\s*tool_(?:call|result))")
_BREAKS: Final = re.compile(r"\A(?:\r*\n)+")
_NAME: Final = re.compile(r'\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")')


class Block(msgspec.Struct, frozen=True):
    """A block as it was written."""

    lines: tuple[str, ...]
    """Without line breaks, the fences included."""
    closed: bool

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def body(self) -> str:
        """What stands between the fences."""
        return "\n".join(self.lines[1:-1] if self.closed and len(self.lines) > 1 else self.lines[1:])


Piece: TypeAlias = str | Block
"""Text outside of blocks, or a block."""


class Scanner:
    """Tells text from blocks as they arrive. The same blocks and the same text however it is cut."""

    def __init__(self) -> None:
        self._line = ""
        """What has come of the last line and was not given yet."""
        self._begun = False
        """Whether some of the last line was given."""
        self._gap = ""
        """Line breaks that belong to the text, unless a block follows."""
        self._block: list[str] | None = None
        self._any = False
        self._after_block = False

    def feed(self, text: str) -> list[Piece]:
        """What is certain by a further piece of the answer."""
        *whole, rest = text.split("\n")
        pieces: list[Piece] = []
        for line in whole:
            self._line += line
            pieces.extend(self._end_line())
        self._line += rest
        pieces.extend(self._early())
        return pieces

    def end(self) -> list[Piece]:
        """The rest, when the answer is over. A block that is still open counts as not closed."""
        line, self._line = self._line, ""
        pieces: list[Piece] = []
        if self._block is not None or self._opens(line):
            pieces = [*self._within(line)] if line else []
            if self._block is not None:
                pieces.append(Block(tuple(self._block), closed=False))
            self._block = None
        else:
            pieces = [*self._given(self._gap + line)]
        self._gap, self._begun = "", False
        return pieces

    def _opens(self, line: str) -> bool:
        """Whether a block begins with a line: what follows the word may be wrong, but is no longer word."""
        return not self._begun and re.match(rf"{OPENING}(?!\w)", line) is not None

    def _end_line(self) -> Iterator[Piece]:
        line, self._line = self._line, ""
        if self._block is not None or self._opens(line):
            self._gap = ""
            yield from self._within(line)
            return
        text = line.rstrip("\r")
        if text:
            yield from self._given(self._gap + text)
            self._gap = ""
        self._gap += line[len(text) :] + "\n"
        self._begun = False

    def _within(self, line: str) -> Iterator[Piece]:
        """Takes a line of a block, the first one included. One that opens and closes it in one is wrong, but whole."""
        first = self._block is None
        if self._block is None:
            self._block = []
        self._block.append(line)
        if line.rstrip().endswith(FENCE) if first else line.rstrip() == FENCE:
            yield Block(tuple(self._block), closed=True)
            self._block, self._after_block = None, True

    def _early(self) -> Iterator[Piece]:
        """What of an unfinished line can be no beginning of a block."""
        may_open = not self._begun and (OPENING.startswith(self._line) or self._line.startswith(OPENING))
        text = self._line.rstrip("\r")
        if self._block is not None or may_open or not text:
            return
        yield from self._given(self._gap + text)
        self._gap, self._line, self._begun = "", self._line[len(text) :], True

    def _given(self, text: str) -> Iterator[Piece]:
        if self._after_block:
            text = _BREAKS.sub("", text)
            if text and self._any:
                text = f"\n{text}"
        if text:
            self._any, self._after_block = True, False
            yield text


def read_block(block: Block) -> tuple[str, dict[str, Any] | str]:
    """The name and the arguments of a block.

    Returns:
        The name as it was written, or none if there is none; and the arguments. Of a block that is not as it must be,
        they are the whole block: with its fence it is no JSON however leniently it is read, so that the call is
        refused.
    """
    parsed = {} if is_blank(block.body) else parse_arguments(block.body)
    if not isinstance(parsed, dict):
        return _name_in(block.body), block.text
    name, arguments = parsed.get("name"), parsed.get("arguments")
    if not isinstance(name, str):
        return "", block.text
    alone = block.closed and block.lines[0].rstrip() == OPENING and not parsed.keys() - {"name", "arguments"}
    if alone and isinstance(arguments, dict):
        return name, cast("dict[str, Any]", arguments)
    if alone and (arguments is None or isinstance(arguments, str)):
        return name, arguments or ""
    return name, block.text


def _name_in(body: str) -> str:
    """The name at the start of a body that is no JSON, for the words of the refusal."""
    found = _NAME.match(body)
    try:
        return json.loads(found[1]) if found else ""
    except ValueError:
        return ""


def written_call(name: str, arguments: dict[str, Any]) -> str:
    """A call as a block."""
    return f"{OPENING}\n{as_text({'name': name, 'arguments': arguments})}\n{FENCE}"


def written_result(number: int, name: str, content: str, *, is_error: bool) -> str:
    """A result as a block that nothing in it can close: each of its lines has a mark before it."""
    lines = [f"| {line}" for line in defanged(content).splitlines()]
    return "\n".join([f"{RESULT} {number} {name}{' error' if is_error else ''}", *lines, FENCE])


def defanged(text: str) -> str:
    """Text that is not the model's, so that it holds no block even if the model repeats it without its marks."""
    return _MARKS.sub("` ` `", text)


def split(text: str) -> tuple[str, Sequence[Block]]:
    """The text outside of the blocks of a whole answer, and the blocks."""
    scanner = Scanner()
    pieces = [*scanner.feed(text), *scanner.end()]
    spoken = "".join(piece for piece in pieces if isinstance(piece, str))
    return spoken, [piece for piece in pieces if isinstance(piece, Block)]
