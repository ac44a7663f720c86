"""`[review]` of the project file: from when on a tool in use should be looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ConfigError

_DAYS_MAX: Final = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLimits:
    """Thresholds of a review.

    Raises:
        ConfigError: A value is of the wrong type or out of its range.
    """

    unused_days: int = 90
    """A version that nobody called for this long is told. 1 to 36,500."""
    error_days: int = 7
    """Over how many days failures are counted."""
    error_rate: float = 0.2
    """The share of failed calls from which on a version is failing, above 0, at most 1."""
    error_calls: int = 20
    """With fewer calls than this no rate is worked out."""
    drifts: int = 3
    """How many versions of a tool may change its schemas before that is told."""
    due_days: int = 14
    """How long a task may stay open."""
    owners: tuple[str, ...] = ()
    """Those who can answer for a tool; none: any owner will do."""

    def __post_init__(self) -> None:
        for name, most in (
            ("unused_days", _DAYS_MAX),
            ("error_days", _DAYS_MAX),
            ("error_calls", 1 << 40),
            ("drifts", 10_000),
            ("due_days", _DAYS_MAX),
        ):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ConfigError(f"review.{name} must be a whole number from 1 to {most}, not {value!r:.80}")
        rate: Any = self.error_rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not math.isfinite(rate) or not 0 < rate <= 1:
            raise ConfigError(f"review.error_rate must be above 0 and at most 1, such as 0.2, not {rate!r:.80}")
        owners: Any = self.owners
        if not isinstance(owners, list | tuple) or not all(isinstance(one, str) and one for one in owners):  # pyright: ignore[reportUnknownVariableType]
            raise ConfigError(f"review.owners must be a list of names, not {owners!r:.80}")
        object.__setattr__(self, "owners", tuple(self.owners))
