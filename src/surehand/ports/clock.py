"""`Clock`: where time comes from."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one that people read and databases compare, one that only goes forward."""

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds; only differences mean anything."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Seconds of `time.monotonic()`."""
        return time.monotonic()
