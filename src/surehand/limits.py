"""The bounds of one engine. Every one has a default; none can be switched off."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from .errors import ConfigError
from .schema import ArgumentLimits


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes or characters, times in seconds.

    Raises:
        ConfigError: A bound is not above zero.
    """

    arguments_bytes: int = 256 * 1024
    arguments_depth: int = 64
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
    lease_s: float = 5.0
    """A process that has not been heard of for this long is dead; its running calls become unknown."""
    pending_records: int = 1000
    """Records of read-only calls that may be on their way to the disk."""
    wait_s: float = 30.0
    """How long `resume` waits for the result of another process that runs the call."""

    @cached_property
    def arguments(self) -> ArgumentLimits:
        """The part that parsing needs."""
        return ArgumentLimits(max_bytes=self.arguments_bytes, max_depth=self.arguments_depth)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not value > 0:
                what = "a whole number" if whole else "a number"
                raise ConfigError(f"{field.name} must be {what} above 0, not {value!r}")
