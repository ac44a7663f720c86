"""The bounds of one engine. Every one has a default; none can be switched off."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from .errors import ConfigError
from .schema import ArgumentLimits

_MOST_S = 1e9
"""Seconds beyond this, some thirty years, do not fit the clocks of a database."""
_MOST = 1 << 40
_MOST_DEPTH = 128
"""What walks arguments does so recursively, and Python's stack has an end."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes or characters, times in seconds.

    Raises:
        ConfigError: A bound is no number of its type, not above zero, or not finite.
    """

    arguments_bytes: int = 256 * 1024
    arguments_depth: int = 64
    """At most 128."""
    result_chars: int = 20_000
    """Text beyond this goes to an artifact; the model gets its head and tail."""
    artifact_bytes: int = 16 * 1024 * 1024
    """A result larger than this is withheld."""
    hook_timeout_s: float = 5.0
    concurrent_calls: int = 100
    """Handlers that run at once in one engine."""
    queued_calls: int = 1000
    """Calls that wait for a free place; more are refused as unavailable."""
    threads: int = 64
    """For sync handlers, those given up after a timeout included."""
    cancel_grace_s: float = 0.2
    """How long a cancelled async handler may clean up before it is given up."""
    approval_ttl_s: float = 86_400.0
    open_approvals: int = 10_000
    """Questions of one tenant that wait for people; more are refused."""
    close_grace_s: float = 2.0
    """How long closing waits for calls that are being settled. A handler that hangs is not waited for."""
    lease_s: float = 5.0
    """A process that has not been heard of for this long is dead; its running calls become unknown."""
    pending_records: int = 1000
    """Records of read-only calls that may be on their way to the disk."""
    wait_s: float = 30.0
    """How long `resume` waits for the result of another process that runs the call."""
    call_depth: int = 3
    """How deep calls that tools make may nest; the model's own call is not counted."""
    nested_calls: int = 50
    """Calls that tools may make for one call of the model's, directly or through each other."""

    @cached_property
    def arguments(self) -> ArgumentLimits:
        """The part that parsing needs."""
        return ArgumentLimits(max_bytes=self.arguments_bytes, max_depth=self.arguments_depth)

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, field.type == "int", getattr(self, field.name))


def _check(name: str, whole: bool, value: Any) -> None:
    """Also keeps out infinities and NaN, which are floats, and booleans, which are ints."""
    most = _MOST_DEPTH if name == "arguments_depth" else _MOST if whole else _MOST_S
    of_type = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not of_type or (isinstance(value, float) and not math.isfinite(value)) or not 0 < value <= most:
        what = "a whole number" if whole else "a number"
        found = (
            "that" if isinstance(value, int) and abs(value) > most else repr(value)[:60]
        )  # Python prints no huge int
        raise ConfigError(f"{name} must be {what} above 0 and at most {most:.15g}, not {found}")
