"""Who gets a version on trial, and when it has failed its trial. Pure."""

from __future__ import annotations

import math
from collections import deque
from hashlib import sha256
from typing import Any

import msgspec

from ..errors import RegistryError
from ..types import Caller

_SHARES = 10_000


class Canary(msgspec.Struct, frozen=True, kw_only=True):
    """Who gets a version at stage `canary` instead of the current one. Nothing set: nobody, unless asked by version."""

    percent: float = 0.0
    """Share of the runs, and outside of runs of the callers, from 0 to 100, to two decimals."""
    callers: tuple[str, ...] = ()
    """Ids of callers, each as `tenant/id`, that get it always."""
    roles: tuple[str, ...] = ()
    """Roles whose callers get it always."""

    def __str__(self) -> str:
        """Who gets it, for people."""
        share = [f"{self.percent:g} % of runs"] if self.percent else []
        return ", ".join((*share, *self.callers, *(f"role {role}" for role in self.roles))) or "nobody"

    def check(self, where: str) -> None:
        """Whether it makes sense.

        Raises:
            RegistryError: `not_permitted`: the share is none, or a caller is named without its tenant.
        """
        share: Any = self.percent
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 100:
            raise RegistryError("not_permitted", where, f"percent is {self.percent!r}; it goes from 0 to 100")
        for caller in (*self.callers, *self.roles):
            if not isinstance(caller, str) or not caller:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise RegistryError("not_permitted", where, f"{caller!r} is neither a caller nor a role; write strings")
        for caller in self.callers:
            tenant, slash, name = caller.partition("/")
            if not (tenant and slash and name):
                raise RegistryError("not_permitted", where, f"the caller {caller!r} has no tenant; write tenant/id")

    def takes(self, version: str, caller: Caller, run_id: str) -> bool:
        """Whether this caller, or this run of theirs, gets it. The same answer each time, in every process.

        A larger share only adds runs and callers, it takes none out.
        """
        if f"{caller.tenant}/{caller.id}" in self.callers or not set(self.roles).isdisjoint(caller.roles):
            return True
        if not self.percent:
            return False
        who = f"{version}\0{caller.tenant}\0{f'run {run_id}' if run_id else f'caller {caller.id}'}"
        place = int.from_bytes(sha256(who.encode()).digest()[:8]) % _SHARES
        return place < round(self.percent * _SHARES / 100)


class Trial:
    """How the last calls of a version on trial ended, as one engine saw them.

    Args:
        calls: How many of the last calls count.
        share: Which share of `calls` may fail; from there on it has failed, also before there are as many.
    """

    def __init__(self, calls: int, share: float) -> None:
        self._last: deque[bool] = deque(maxlen=calls)
        self._most = max(1, math.ceil(calls * share))

    def failed(self, error: bool) -> bool:
        """Counts one more call; whether the version has failed its trial now."""
        self._last.append(error)
        return sum(self._last) >= self._most

    def __str__(self) -> str:
        return f"{sum(self._last)} of its last {len(self._last)} calls failed"
