"""The bounds of one engine. Every one has a default; none can be switched off."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ..errors import ConfigError
from ..schema import ArgumentLimits

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
    remind_after_s: float = 14_400.0
    """When a question that nobody has decided is told again, once."""
    escalate_after_s: float = 43_200.0
    """When the group that a policy names for escalation may answer too."""
    preview_timeout_s: float = 5.0
    open_approvals: int = 10_000
    """Questions of one tenant that wait for people; more are refused."""
    grant_ttl_s: float = 90 * 86_400.0
    """The longest that a standing grant may hold."""
    grant_uses: int = 1000
    """The most uses that a standing grant may have."""
    open_grants: int = 1000
    """Standing grants of one tenant that can be used; more are refused."""
    close_grace_s: float = 2.0
    """How long closing waits for calls that are being settled. A handler that hangs is not waited for."""
    lease_s: float = 5.0
    """A process that has not been heard of for this long is dead; its running calls become unknown."""
    pending_records: int = 1000
    """Records of read-only calls that may be on their way to the disk."""
    view_tools: int = 128
    """Tools that a model is shown at once; where a caller may see more, it finds the others with `search_tools`."""
    control_poll_s: float = 0.25
    """How often an engine looks whether the control plane moved. Effects do not depend on it, only reads and views."""
    canary_calls: int = 20
    """The last calls of a version on trial, in one engine, that count against it."""
    canary_error_share: float = 0.25
    """Which share of them may fail before the trial is ended by itself."""
    wait_s: float = 30.0
    """How long `resume` waits for the result of another process that runs the call."""
    cache_entries: int = 1000
    """Read-only results that one engine keeps for reuse; only those of tools that say `cache_ttl_s` or `fallback`."""
    cache_bytes: int = 16 * 1024 * 1024
    stale_s: float = 3600.0
    """How old a kept result may be when it stands in for a tool that is unavailable (`fallback="cache"`)."""
    breaker_failures: int = 5
    """Failures in a row that speak of a tool's health, or its upstream's, after which it is not called."""
    breaker_open_s: float = 30.0
    """How long it is not called; then one call at a time probes it."""
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
