"""`Printer`: writes an answer, as one JSON document or as text for people. All text is shown as text.

On a terminal text has colours and tables; elsewhere a row is a line with tabs between its cells. Whatever the text
holds, no character of it steers the terminal, and none of its lines can pass for a line of ours.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ..redact import visible

if TYPE_CHECKING:
    from rich.console import Console

Style = Literal["", "bold", "dim", "red", "green", "yellow", "magenta"]

STYLES: dict[str, Style] = {
    "ok": "green",
    "approved": "green",
    "consumed": "green",
    "verified": "green",
    "pending": "yellow",
    "waiting": "yellow",
    "open": "yellow",
    "unknown": "magenta",
    "error": "red",
    "denied": "red",
    "rejected": "red",
    "stale": "red",
    "expired": "red",
    "pass": "green",
    "warn": "yellow",
    "fail": "red",
}
"""The colour of a state."""


_WHOLE = frozenset({"APPROVAL", "CALL", "RUN"})
"""Columns of ids, which are copied into commands: however narrow the terminal is, no line breaks one."""


class Printer:
    """Writes to one stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._rich = self._stream.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def on_terminal(self) -> bool:
        """Whether somebody reads it as it comes."""
        return self._stream.isatty()

    def flush(self) -> None:
        """Lets what was written be seen."""
        self._stream.flush()

    def document(self, value: Any) -> None:
        """The one JSON document. ASCII only: exact in every encoding, harmless on every terminal."""
        self._stream.write(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n")
        self._stream.flush()

    def line(self, text: str, style: Style = "") -> None:
        """One line of ours."""
        self._put(one_line(text), style)

    def block(self, text: str) -> None:
        """Text of somebody else's: indented, so that it cannot pass for ours."""
        for line in visible(text).split("\n"):
            self._put(f"  {line}", "")

    def nothing(self, text: str) -> None:
        """Why a list is empty. Where rows are read by a program there are none, and the sentence is on stderr."""
        (self if self.on_terminal else Printer(sys.stderr)).line(text)

    def value(self, value: Any) -> None:
        """A JSON value of somebody else's, indented."""
        self.block(json.dumps(value, indent=2, ensure_ascii=False))

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """`name: value` lines; a fact without a value is left out."""
        known = [(name, one_line(value)) for name, value in pairs if value]
        width = max((len(name) for name, _ in known), default=0) + 1
        for name, value in known:
            if self._rich:
                from rich.text import Text

                label = Text().append(f"{name}:".ljust(width + 1), style="dim")
                self._console.print(label.append(value, style=STYLES.get(value, "")), soft_wrap=True)
            else:
                self._put(f"{name}: {value}", "")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows of cells. Names of columns are shown on a terminal only."""
        cells = [[one_line(cell) or "-" for cell in row] for row in rows]
        if not self._rich:
            for row in cells:
                self._put("\t".join(row), "")
            return
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for at, name in enumerate(columns):
            whole = name in _WHOLE
            table.add_column(name, overflow="fold", no_wrap=whole, min_width=_widest(cells, at) if whole else None)
        for row in cells:
            table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
        self._console.print(table)

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream, markup=False, highlight=False, emoji=False)

    def _put(self, text: str, style: Style) -> None:
        if not (self._rich and style):
            self._stream.write(f"{text}\n")
            return
        from rich.text import Text

        self._console.print(Text(text, style=style), soft_wrap=True)


def _widest(cells: Sequence[Sequence[str]], column: int) -> int:
    return max((len(row[column]) for row in cells), default=0)


def one_line(text: str) -> str:
    r"""Text as it can be shown within a line: line breaks and tabs as `\n` and `\t`."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def local_time(at_us: int | None) -> str:
    """A time for people: ISO 8601 in the local zone, to the second; empty for none."""
    return "" if at_us is None else _moment(at_us).astimezone().isoformat(" ", timespec="seconds")


def age(seconds: float) -> str:
    """How long ago, for people: the largest unit that fits, such as `3 h`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def utc_time(at_us: int | None) -> str | None:
    """A time for programs: RFC 3339 in UTC, to the microsecond."""
    return None if at_us is None else _moment(at_us).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(at_us: int) -> datetime:
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).replace(microsecond=at_us % 1_000_000)
