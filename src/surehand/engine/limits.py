"""`engine.limits`: what is used of budgets and rates, and how tools are. Changes nothing."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from ..errors import NotAllowedError
from ..limits import Budget, Counter, Rate
from ..pipeline import Services
from ..policy import Allow, Deny
from ..ports import HealthRecord, SourceStatus
from ..types import Caller
from .arguments import checked


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """One limit in one scope, as it is now. Amounts are written as the limit is: whole, or with its decimals."""

    name: str
    kind: Literal["budget", "rate", "at_once"]
    scope: dict[str, str]
    """Whose count, besides the tenant: `caller`, `tool`, `run`; what is not named counts together."""
    limit: str
    used: str
    """What is reserved included."""
    reserved: str
    """By calls that have not ended, those of earlier windows included."""
    left: str
    renewed_in_s: int | None
    """`None`: it is not renewed by itself."""
    raised_by: str


@checked
class LimitsInUse:
    """For callers what counts for them, for those who may read the audit all of their tenant."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def list(self, *, by: Caller, everything: bool = False) -> list[LimitUse]:
        """Limits that hold in the caller's tenant, by name and scope.

        Scopes that nothing was counted in are left out, but for those of the tenant and of the caller.

        Args:
            by: Who looks.
            everything: Those of other callers too.

        Raises:
            NotAllowedError: `everything`, and policy does not let the caller read the audit.
        """
        if everything:
            self._may_audit(by)
        counters: dict[str, list[Counter]] = {}
        for counter in await self._s.store.list_counters(by.tenant):
            counters.setdefault(counter.limit, []).append(counter)
        found: list[LimitUse] = []
        for limit in sorted((*self._s.quotas.budgets, *self._s.quotas.rates), key=lambda one: one.name):
            if limit.tenants and by.tenant not in limit.tenants:
                continue
            scopes = {json.dumps(_own(limit, by), separators=(",", ":"), sort_keys=True): None} if _plain(limit) else {}
            known: dict[str, Counter | None] = {**scopes, **{one.scope: one for one in counters.get(limit.name, [])}}
            for scope, counter in sorted(known.items()):
                parts: dict[str, str] = json.loads(scope)
                if set(parts) == set(limit.per) - {"tenant"} and (everything or parts.get("caller", by.id) == by.id):
                    found.append(self._use(limit, parts, counter))
        return found

    async def health(self, *, by: Caller) -> list[HealthRecord]:
        """Tools and upstreams whose breakers have ever opened for the caller's tenant, as each engine last saw them.

        Raises:
            NotAllowedError: Policy does not let the caller read the audit.
        """
        self._may_audit(by)
        now_us = self._s.clock.now_us()
        return [_as_of(one, now_us) for one in await self._s.store.list_health(by.tenant)]

    async def sources(self, *, by: Caller) -> list[SourceStatus]:
        """Where tools come from besides Python, in the order of the project file, and how each is now.

        Raises:
            NotAllowedError: Policy does not let the caller read the audit.
        """
        self._may_audit(by)
        return list(self._s.sources())

    def _may_audit(self, by: Caller) -> None:
        decision = self._s.world.policies.may(by, "audit", None, now_ns=self._s.clock.now_us() * 1000)
        if not isinstance(decision, Allow):
            reasons = "; ".join(decision.reasons) if isinstance(decision, Deny) else "a person would be asked"
            raise NotAllowedError(f"{by.id} may not read the limits and health of the tenant: {reasons}")

    def _use(self, limit: Budget | Rate, scope: dict[str, str], counter: Counter | None) -> LimitUse:
        now_us = self._s.clock.now_us()
        window_us, ends_us = limit.window(now_us)
        used = 0 if counter is None or counter.window_us < window_us else counter.used
        return LimitUse(
            name=limit.name,
            kind=limit.kind,
            scope=scope,
            limit=limit.written(limit.cap),
            used=limit.written(used),
            reserved=limit.written(0 if counter is None else counter.reserved),
            left=limit.written(max(0, limit.cap - used)),
            renewed_in_s=None if ends_us is None else max(0, -(-(ends_us - now_us) // 1_000_000)),
            raised_by=limit.raised_by if isinstance(limit, Budget) else "",
        )


def _plain(limit: Budget | Rate) -> bool:
    """Whether a caller's scope is known without any call."""
    return not {"tool", "run"} & set(limit.per)


def _own(limit: Budget | Rate, by: Caller) -> dict[str, str]:
    return {"caller": by.id} if "caller" in limit.per else {}


def _as_of(record: HealthRecord, now_us: int) -> HealthRecord:
    """An open breaker whose time is over may be probed, whoever said so last."""
    if record.state == "open" and record.retry_us is not None and record.retry_us <= now_us:
        return msgspec.structs.replace(record, state="half-open")
    return record
