"""`FakeClock`: a clock that stands still until it is told to go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """A `Clock` for tests: `open_engine(clock=FakeClock())`. What sleeps or times out still does so in real time.

    Args:
        now: What people read on it at first; noon of 1 January 2026 in UTC, unless given.
    """

    def __init__(self, now: datetime = _START) -> None:
        self._now = _aware(now)
        self._passed_s = 0.0

    def __repr__(self) -> str:
        return f"FakeClock({self._now.isoformat()})"

    @property
    def now(self) -> datetime:
        """The time that people read."""
        return self._now

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return (self._now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    def monotonic(self) -> float:
        """Seconds that `advance` has let pass."""
        return self._passed_s

    def advance(self, seconds: float = 0, **more: float) -> None:
        """Lets time pass on both clocks.

        Args:
            seconds: How much.
            **more: As `timedelta` takes it: `minutes=5`, `days=1`.

        Raises:
            ValueError: Time would go back; `set` can do that.
        """
        passed = timedelta(seconds=seconds, **more)
        if passed < timedelta():
            raise ValueError("time does not pass backwards; use set()")
        self._now += passed
        self._passed_s += passed.total_seconds()

    def set(self, now: datetime) -> None:
        """Sets what people read, forwards or back, as when a machine's clock is corrected.

        Raises:
            ValueError: It has no time zone.
        """
        self._now = _aware(now)


def _aware(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise ValueError(f"{now!r} has no time zone; write datetime(..., tzinfo=UTC)")
    return now
