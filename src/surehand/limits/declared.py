"""`Budget` and `Rate`: what an operator declares, checked when it is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeVar, cast, get_args

from ..errors import ConfigError

Per = Literal["tenant", "caller", "tool", "run"]
"""What has a count of its own. The tenant always has."""

T = TypeVar("T")

MAX_COUNT = 1 << 62
"""Counts are kept as 64-bit integers."""
MAX_WINDOW_S = 1e9
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DECIMAL = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


@dataclass(frozen=True, kw_only=True)
class _Limit:
    """What budgets and rates have in common."""

    name: str
    """Unique; errors, records and the command line name it."""
    per: tuple[Per, ...] = ("tenant",)
    """Each combination has its own count; `run` refuses calls that belong to no run."""
    tools: tuple[str, ...] = ()
    """Names of the tools whose calls count; empty: all."""
    tenants: tuple[str, ...] = ()
    """Tenants that it holds for; empty: all, each with its own count."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"name must match {_NAME.pattern}, not {_shown(self.name)}")
        for field in ("per", "tools", "tenants"):
            object.__setattr__(self, field, _names(self.name, field, getattr(self, field)))
        for one in self.per:
            if one not in get_args(Per):
                raise ConfigError(f"{self.name}: per may hold {', '.join(get_args(Per))}, not {_shown(one)}")
        object.__setattr__(self, "per", tuple(one for one in get_args(Per) if one in self.per or one == "tenant"))

    @property
    def _window_s(self) -> float | None:
        """Length of a window."""
        return None

    def window(self, now_us: int) -> tuple[int, int | None]:
        """When the present window began and when it ends; `(0, None)` if there are none."""
        if self._window_s is None:
            return 0, None
        length_us = max(1, round(self._window_s * 1_000_000))
        start = now_us - now_us % length_us
        return start, start + length_us

    def written(self, units: int) -> str:
        """An amount as the limit is written."""
        return str(units)

    def applies(self, *, tool: str, tenant: str) -> bool:
        """Whether a call counts."""
        return (not self.tools or tool in self.tools) and (not self.tenants or tenant in self.tenants)


@dataclass(frozen=True, kw_only=True)
class Budget(_Limit):
    """How much may be done: calls, or the sum of an argument. Reserved when a call is claimed, waiting calls included.

    Raises:
        ConfigError: A field is not what it must be; the message names the budget and the field.
    """

    limit: int | str = 0
    """The cap. A string such as `"1000.00"` counts in hundredths: amounts may then have as many decimals."""
    amount: str | None = None
    """The argument that says how much one call takes; without it each call takes 1."""
    period_s: float | None = None
    """Length of a window, in seconds; windows begin at multiples of it since 1970 (UTC): 86400 renews at midnight.
    Without it, the budget is never renewed."""
    raised_by: str = ""
    """Who can raise it, for the message."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.limit, int) and not isinstance(self.limit, bool)
        if not whole and not (isinstance(self.limit, str) and _DECIMAL.fullmatch(self.limit)):
            raise ConfigError(
                f'{self.name}: limit must be a whole number or a decimal string such as "1000.00", '
                f"not {_shown(self.limit)}"
            )
        if not 0 < self.cap <= MAX_COUNT:
            raise ConfigError(f"{self.name}: limit must be above 0 and at most {MAX_COUNT}")
        if self.amount is not None and (not isinstance(self.amount, str) or not self.amount):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"{self.name}: amount must be the name of an argument, not {_shown(self.amount)}")
        if self.amount is None and self.scale:
            raise ConfigError(f"{self.name}: calls are counted whole; write limit without decimals, or name amount")
        if self.amount is not None and not self.tools:
            raise ConfigError(f"{self.name}: name the tools that have the argument {self.amount!r}: tools = [...]")
        if not isinstance(self.raised_by, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"{self.name}: raised_by must be a string, not {_shown(self.raised_by)}")
        if self.period_s is not None:
            _check_window(self.name, "period_s", self.period_s)

    @property
    def kind(self) -> Literal["budget"]:
        """What it is."""
        return "budget"

    @property
    def _window_s(self) -> float | None:
        return self.period_s

    def written(self, units: int) -> str:
        """See `_Limit`."""
        return format(Decimal(units).scaleb(-self.scale), "f")

    @cached_property
    def scale(self) -> int:
        """Decimals of one unit of the count."""
        return len(self.limit.partition(".")[2]) if isinstance(self.limit, str) else 0

    @cached_property
    def cap(self) -> int:
        """The limit in units of the count."""
        return int(self.limit.replace(".", "")) if isinstance(self.limit, str) else self.limit


@dataclass(frozen=True, kw_only=True)
class Rate(_Limit):
    """How fast: starts in a window, or handlers at once. Looked at only when a call starts.

    Raises:
        ConfigError: A field is not what it must be; the message names the rate and the field.
    """

    calls: int | None = None
    """Starts in one window."""
    window_s: float = 60.0
    """Windows begin at multiples of it since 1970 (UTC)."""
    at_once: int | None = None
    """Calls that run at the same time, in all engines on the store."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.calls is None) == (self.at_once is None):
            raise ConfigError(f"{self.name}: write either calls (with window_s) or at_once")
        field, value = ("calls", self.calls) if self.calls is not None else ("at_once", self.at_once)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MAX_COUNT:
            raise ConfigError(f"{self.name}: {field} must be a whole number above 0, not {_shown(value)}")
        _check_window(self.name, "window_s", self.window_s)

    @property
    def kind(self) -> Literal["rate", "at_once"]:
        """What it is."""
        return "at_once" if self.calls is None else "rate"

    @property
    def cap(self) -> int:
        """The limit."""
        return self.calls or self.at_once or 0

    @property
    def _window_s(self) -> float | None:
        return None if self.calls is None else self.window_s


def read_limit(kind: type[T], table: Mapping[str, Any]) -> T:
    """A budget or rate from a table of a project file.

    Raises:
        ConfigError: It has a field that there is not, or lacks one, or one is wrong.
    """
    known = [field.name for field in fields(cast("Any", kind))]
    for name in table:
        if name not in known:
            raise ConfigError(f"there is no field {name!r}; write one of {', '.join(known)}")
    required = ("name", "limit") if "limit" in known else ("name",)
    for name in required:
        if name not in table:
            raise ConfigError(f"{name} is missing")
    return kind(**table)


def _names(limit: str, field: str, value: Any) -> tuple[str, ...]:
    items: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [None]
    if not all(isinstance(one, str) and one for one in items):
        raise ConfigError(f"{limit}: {field} must be a list of strings, not {_shown(cast('object', value))}")
    return tuple(dict.fromkeys(items))


def _check_window(limit: str, field: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0.001 <= value <= MAX_WINDOW_S:
        raise ConfigError(
            f"{limit}: {field} must be a number of seconds from 0.001 to {MAX_WINDOW_S:.0f}, not {_shown(value)}"
        )


def _shown(value: object) -> str:
    return "that" if isinstance(value, int) and abs(value) > MAX_COUNT else f"{value!r:.60}"
