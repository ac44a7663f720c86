"""What one call takes of a limit, and whether there is room: exact, in whole units."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Literal

import msgspec

from .declared import MAX_COUNT, Budget

ChargeKind = Literal["budget", "rate", "place"]
"""`budget`: kept if the call had its effect, else given back. `rate`: never given back. `place`: until the end."""

_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_EXACT_BELOW = 1 << 53


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What one call takes of one limit."""

    limit: str
    """Name of the budget or rate."""
    kind: ChargeKind
    scope: str
    """Whose count: a JSON object of the parts besides the tenant."""
    amount: int
    cap: int
    window_us: int = 0
    """When its window began; 0 if it is never renewed."""
    ends_us: int | None = None
    """When it is renewed."""


class Counter(msgspec.Struct, frozen=True, kw_only=True):
    """What is used of one limit in one scope, reserved amounts included."""

    limit: str
    scope: str
    window_us: int
    used: int
    reserved: int = 0
    """The part of `used` that calls hold which have not ended, those of earlier windows included."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What an open call has reserved."""

    limit: str
    kind: ChargeKind
    scope: str
    amount: int
    window_us: int


class Full(msgspec.Struct, frozen=True, kw_only=True):
    """There is no room. Nothing was reserved of any limit."""

    charge: Charge
    used: int


class Uncountable(msgspec.Struct, frozen=True, kw_only=True):
    """A call that cannot be counted is never free: it is refused."""

    limit: str
    argument: str | None
    """Whose value cannot be counted; `None` if the call belongs to no run."""
    why: str
    """The end of a sentence about it, without the value."""


def admit(charge: Charge, *, window_us: int, used: int, held: Held | None) -> tuple[int, int] | Full:
    """The counter after a charge, as `(window_us, used)`.

    Args:
        charge: What is asked for.
        window_us: Of the counter as stored. A later one than the charge's own counts: clocks of machines differ.
        used: Of the counter as stored.
        held: What the same call has reserved already; it is given back first.
    """
    if window_us < charge.window_us:
        window_us, used = charge.window_us, 0
    if held is not None and held.window_us == window_us:
        used -= held.amount
    if used + charge.amount > charge.cap:
        return Full(charge=charge, used=used)
    return window_us, used + charge.amount


def charged_amount(budget: Budget, value: Any, *, present: bool) -> int | str:
    """An argument in units of a budget's count, or why it cannot be counted."""
    if not present or value is None:
        return "is missing"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return "is no number"
    text = value if isinstance(value, str) else _plain(value)
    if text.startswith("-"):
        return "is negative"
    if not _NUMBER.fullmatch(text):
        return "is no plain finite number"
    units = Decimal(text).scaleb(budget.scale)
    if units != units.to_integral_value():
        return f"has more than {budget.scale} decimals" if budget.scale else "is not whole"
    return int(units) if units <= MAX_COUNT else "is too large"


def _plain(value: float) -> str:
    """The number as JSON has it. A float beyond 2**53 stands for several integers, so it says no amount."""
    if isinstance(value, int):
        return str(value) if abs(value) <= MAX_COUNT else "too large"
    if not abs(value) < _EXACT_BELOW:
        return "inexact"
    return format(Decimal(repr(value)), "f").removesuffix(".0")
