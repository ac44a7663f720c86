"""`AtWork`: how long at least one of several calls was at work, while the run itself waits for people."""

from __future__ import annotations

from ..ports import Clock


class AtWork:
    """Counts time during which anything that began has not ended; what is at work at once counts once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy: set[int] = set()
        self._since = 0.0
        self._spent_s = 0.0

    def reset(self) -> None:
        """Forgets everything: from here it counts."""
        self._busy.clear()
        self._spent_s = 0.0

    def begin(self, position: int) -> None:
        """A call is at work from now on."""
        if not self._busy:
            self._since = self._clock.monotonic()
        self._busy.add(position)

    def end(self, position: int) -> None:
        """A call is not at work any more; safe to say twice."""
        if position in self._busy:
            self._count()
            self._busy.remove(position)

    def taken(self) -> float:
        """The seconds since this was asked before."""
        if self._busy:
            self._count()
        spent_s, self._spent_s = self._spent_s, 0.0
        return spent_s

    def _count(self) -> None:
        now = self._clock.monotonic()
        self._spent_s += now - self._since
        self._since = now
