"""`Quotas`: all budgets and rates of an engine, and what one call takes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError
from .counting import Charge, Uncountable, charged_amount
from .declared import Budget, Per, Rate

PLACE_RETRY_S = 1
"""Nobody knows when a place becomes free."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """What the operator declared.

    Raises:
        ConfigError: Two have one name.
    """

    budgets: tuple[Budget, ...] = ()
    rates: tuple[Rate, ...] = ()

    def __post_init__(self) -> None:
        names = [one.name for one in (*self.budgets, *self.rates)]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"two limits have the name {name!r}; counts are kept by it, so each needs its own")

    def get(self, name: str) -> Budget | Rate | None:
        """One by its name."""
        return next((one for one in (*self.budgets, *self.rates) if one.name == name), None)

    def check(self, arguments: Mapping[str, Iterable[str]]) -> None:
        """Refuses limits that could never count: a typo must not switch one off.

        Args:
            arguments: Name of each tool -> names of its arguments.

        Raises:
            ConfigError: One names a tool that there is not, or an argument that a tool lacks.
        """
        for one in (*self.budgets, *self.rates):
            for tool in one.tools:
                if tool not in arguments:
                    raise ConfigError(f"{one.name}: there is no tool {tool!r}; a limit on it would limit nothing")
                amount = one.amount if isinstance(one, Budget) else None
                if amount is not None and amount not in arguments[tool]:
                    raise ConfigError(f"{one.name}: tool {tool!r} has no argument {amount!r} to count by")

    def of_claim(
        self, parts: Mapping[Per, str], arguments: Mapping[str, Any], now_us: int
    ) -> list[Charge] | Uncountable:
        """What a call reserves when it is claimed.

        Args:
            parts: `tenant`, `caller`, `tool` and, if the call belongs to one, `run`.
            arguments: The final ones.
            now_us: Which window it is.
        """
        charges: list[Charge] = []
        for budget in self.budgets:
            if not budget.applies(tool=parts["tool"], tenant=parts["tenant"]):
                continue
            if "run" in budget.per and "run" not in parts:
                return _no_run(budget)
            amount: int | str = 1
            if budget.amount is not None:
                present = budget.amount in arguments
                amount = charged_amount(budget, arguments.get(budget.amount), present=present)
            if isinstance(amount, str):
                return Uncountable(limit=budget.name, argument=budget.amount, why=amount)
            window_us, ends_us = budget.window(now_us)
            charges.append(
                Charge(
                    limit=budget.name,
                    kind="budget",
                    scope=_scope(budget, parts),
                    amount=amount,
                    cap=budget.cap,
                    window_us=window_us,
                    ends_us=ends_us,
                )
            )
        return charges

    def of_start(self, parts: Mapping[Per, str], now_us: int) -> list[Charge] | Uncountable:
        """What a call takes when it starts."""
        charges: list[Charge] = []
        for rate in self.rates:
            if not rate.applies(tool=parts["tool"], tenant=parts["tenant"]):
                continue
            if "run" in rate.per and "run" not in parts:
                return _no_run(rate)
            window_us, ends_us = rate.window(now_us)
            charges.append(
                Charge(
                    limit=rate.name,
                    kind="place" if rate.kind == "at_once" else "rate",
                    scope=_scope(rate, parts),
                    amount=1,
                    cap=rate.cap,
                    window_us=window_us,
                    ends_us=ends_us,
                )
            )
        return charges


def _no_run(limit: Budget | Rate) -> Uncountable:
    return Uncountable(limit=limit.name, argument=None, why="counts per run, and this call belongs to none")


def _scope(limit: Budget | Rate, parts: Mapping[Per, str]) -> str:
    own: dict[str, str] = {part: parts[part] for part in limit.per if part != "tenant"}
    return json.dumps(own, separators=(",", ":"), sort_keys=True)
