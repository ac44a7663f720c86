"""What release checks find."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from ..types import Stage
from .diff import Diff

Verdict: TypeAlias = Literal["pass", "warn", "fail"]

_FROM_CANARY: Final = frozenset(
    {"samples", "idempotency.tested", "timeout", "difference", "health", "alert", "rollback"}
)
"""What a version may still lack at stage `test`; everything else is needed there too."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One check."""

    id: str
    """Such as `owner` or `sample.1`."""
    wants: str
    verdict: Verdict
    text: str
    """What was found, and for `warn` and `fail` what to do."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All checks of one version for one stage."""

    tool: str
    """`name@version`."""
    to: Stage
    previous: str | None
    """The version that it was compared with; `None` for the first."""
    hash: str
    """Of what was checked and compared: contract and binding of both versions."""
    rows: tuple[Row, ...]
    diff: Diff | None

    @property
    def green(self) -> bool:
        """Whether no check failed. What is only a warning should be looked at."""
        return not self.failed

    @property
    def failed(self) -> tuple[Row, ...]:
        """The checks that failed."""
        return tuple(row for row in self.rows if row.verdict == "fail")


def met(id: str, wants: str, text: str) -> Row:
    """A check that found what it wants."""
    return Row(id=id, wants=wants, verdict="pass", text=text)


def doubtful(id: str, wants: str, text: str) -> Row:
    """A check that somebody should look at."""
    return Row(id=id, wants=wants, verdict="warn", text=text)


def unmet(id: str, wants: str, text: str, to: Stage) -> Row:
    """A check that did not find what it wants: a failure, or at stage `test` a warning where it is early yet."""
    early = to not in ("canary", "active") and id in _FROM_CANARY
    return Row(id=id, wants=wants, verdict="warn" if early else "fail", text=text)
