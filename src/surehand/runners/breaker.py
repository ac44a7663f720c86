"""`Breakers`: what fails again and again is left alone for a while, then probed by one call at a time.

Kept in memory, by one engine for itself, and by tenant: one tenant's failures never switch a tool off for another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

BreakerState = Literal["closed", "open", "half-open"]

_MOST = 10_000
"""Subjects that are remembered; of more, the one is forgotten that was met the longest time ago."""
_PROBE_RETRY_S = 1.0


@dataclass(slots=True)
class Breaker:
    """Of one tool version or upstream, for one tenant."""

    failures: int = 0
    """In a row."""
    open_until: float | None = None
    """On the clock of `time.monotonic()`; `None`: closed."""
    probe: str | None = None
    """The call that probes."""

    def state(self, now: float) -> BreakerState:
        """`half-open`: the next call may probe, or one does."""
        if self.open_until is None:
            return "closed"
        return "open" if now < self.open_until else "half-open"


class Breakers:
    """All breakers of one engine.

    Args:
        failures: How many in a row open one.
        open_s: For how long.
    """

    def __init__(self, *, failures: int, open_s: float) -> None:
        self._most = failures
        self._open_s = open_s
        self._all: OrderedDict[tuple[str, str], Breaker] = OrderedDict()
        self._not_closed = 0

    @property
    def all_closed(self) -> bool:
        """Whether nothing is down for any tenant: the usual case, in which no tool has to be looked at."""
        return not self._not_closed

    def get(self, tenant: str, subject: str) -> Breaker:
        """As it is now."""
        return self._all.get((tenant, subject)) or Breaker()

    def blocked_s(self, tenant: str, subjects: Iterable[str], *, now: float) -> float | None:
        """Seconds until it makes sense to try again; `None` if a call may be made now. Changes nothing."""
        if not self._not_closed:
            return None
        waits = [_wait_s(self._all.get((tenant, one)), now) for one in subjects]
        return max((one for one in waits if one is not None), default=None)

    def enter(self, tenant: str, subjects: Iterable[str], call_id: str, *, now: float) -> float | None:
        """As `blocked_s`; if a call may be made, this one is the probe of whatever is half-open."""
        if not self._not_closed:
            return None
        wanted = tuple(subjects)
        wait_s = self.blocked_s(tenant, wanted, now=now)
        if wait_s is None:
            for one in wanted:
                breaker = self._all.get((tenant, one))
                if breaker is not None and breaker.open_until is not None:
                    breaker.probe = call_id
        return wait_s

    def leave(self, tenant: str, subjects: Iterable[str], call_id: str) -> None:
        """The call is over. If it was a probe that said nothing, the next one probes."""
        if not self._not_closed:
            return
        for one in subjects:
            breaker = self._all.get((tenant, one))
            if breaker is not None and breaker.probe == call_id:
                breaker.probe = None

    def failed(self, tenant: str, subject: str, *, now: float) -> bool:
        """One more failure. Whether it opened the breaker, or opened it again."""
        key = (tenant, subject)
        breaker = self._all.setdefault(key, Breaker())
        self._all.move_to_end(key)
        breaker.failures += 1
        opens = breaker.state(now) == "half-open" or (breaker.open_until is None and breaker.failures >= self._most)
        if opens:
            self._not_closed += breaker.open_until is None
            breaker.open_until, breaker.probe = now + self._open_s, None
        while len(self._all) > _MOST:
            _, dropped = self._all.popitem(last=False)
            self._not_closed -= dropped.open_until is not None
        return opens

    def succeeded(self, tenant: str, subject: str) -> bool:
        """It answered. Whether that closed the breaker."""
        breaker = self._all.pop((tenant, subject), None)
        if breaker is None or breaker.open_until is None:
            return False
        self._not_closed -= 1
        return True


def _wait_s(breaker: Breaker | None, now: float) -> float | None:
    if breaker is None or breaker.open_until is None:
        return None
    if now < breaker.open_until:
        return breaker.open_until - now
    return None if breaker.probe is None else _PROBE_RETRY_S
