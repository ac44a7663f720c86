"""How far a run may go, and why one ends."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..errors import ConfigError

Reason = Literal["completed", "degenerate", "truncated", "refused", "limit", "denied_repeatedly", "failed", "cancelled"]
"""Why a run ended.

`completed`: the model gave its answer. `degenerate`: it announced calls and made none, or said nothing twice.
`truncated`: its answer was cut off by its length limit. `refused`: it, or a filter, refused. `limit`: a bound of the
run was reached. `denied_repeatedly`: it went on asking for what it may not do. `failed`: the model could not be asked,
or it repeated a call that fails. `cancelled`: somebody stopped it.
"""

_MOST = 1 << 40
_MOST_S = 1e9
_MAY_BE_0 = frozenset({"model_wait_s", "silence"})


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one run. Time that people take to decide does not count.

    Raises:
        ConfigError: A bound is no number of its type, not finite, or not above 0 (`silence` and `model_wait_s` may
            be 0).
    """

    turns: int = 25
    """Answers of the model."""
    calls: int = 200
    """Calls beyond it are not made, also within one answer."""
    tokens: int = 1_000_000
    """Input and output, as the provider counts them."""
    seconds: float = 900.0
    """Of the model and of calls, over resumptions too. A model that takes longer is cut off."""
    model_attempts: int = 3
    """How often one request is sent while the provider fails in a way that may pass."""
    model_wait_s: float = 0.5
    """Before the second attempt; doubled each time, with jitter."""
    silence: int = 1
    """How often the model is asked again when it said nothing at all."""
    same_failure: int = 3
    """A call that fails the same way in so many answers ends the run."""
    denials: int = 3
    """A tool that is denied in so many answers leaves the run's view; twice as many such answers end the run."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            _check(field.name, field.type is int, getattr(self, field.name))


def _check(name: str, whole: bool, value: Any) -> None:
    """Also keeps out infinities and NaN, which are floats, and booleans, which are ints."""
    most = _MOST if whole else _MOST_S
    of_type = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    least_is_0 = name in _MAY_BE_0
    fits = of_type and 0 <= value <= most  # NaN and infinities are not
    if not fits or (value == 0 and not least_is_0):
        what = "a whole number" if whole else "a number"
        least = "at least 0" if least_is_0 else "above 0"
        shown = repr(value)[:60] if not isinstance(value, int) or abs(value) <= most else "that"
        raise ConfigError(f"Bounds: {name} must be {what} {least} and at most {most:.15g}, not {shown}")
