"""What policies in shadow mode would have done, counted from the audit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from ..audit import AuditRow
from ..engine import Engine
from ..policy import Policies
from ..types import Caller

_EXAMPLES: Final = 5


class ShadowCount(msgspec.Struct, kw_only=True):
    """One policy in shadow mode. Counts are of calls, not of records."""

    policy_id: str
    allowed: int = 0
    """Calls that were denied and that it would have allowed."""
    asked: int = 0
    """Calls about which it would have asked somebody who was not asked."""
    denied: int = 0
    calls: list[str] = []
    """Ids of the newest of them, five at most."""


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True):
    """All policies in shadow mode of one set."""

    looked_at: int
    """How many calls with a decision the records tell of."""
    policies: tuple[ShadowCount, ...]
    policy_set: str


async def shadow_report(engine: Engine, *, by: Caller, limit: int = 10_000) -> ShadowReport:
    """Counts the newest records of the caller's tenant. A policy counts as it stands: records of another text do not.

    Args:
        engine: An open engine.
        by: Who looks; may read the audit.
        limit: How many records are looked at.

    Raises:
        NotAllowedError: Policy does not let `by` read the audit.
    """
    return _counted(await engine.audit.list(by=by, limit=limit), engine.policies, by.tenant)


def _counted(rows: Iterable[AuditRow], policies: Policies, tenant: str) -> ShadowReport:
    shadows = {rule.id: rule for rule in policies.rules.values() if rule.shadow and rule.tenant in (None, tenant)}
    counts = {name: ShadowCount(policy_id=name) for name in sorted(shadows)}
    seen: set[str] = set()
    for row in rows:
        decision = _decision(row)
        if row.call_id is None or row.call_id in seen or decision is None:
            continue
        seen.add(row.call_id)
        for one in decision.get("shadow") or ():
            count = counts.get(one["policy_id"])
            if count is not None and shadows[one["policy_id"]].hash == one["policy_hash"]:
                _add(count, one["decision"], row.call_id)
    return ShadowReport(looked_at=len(seen), policies=tuple(counts.values()), policy_set=policies.digest)


def _add(count: ShadowCount, decision: str, call_id: str) -> None:
    match decision:
        case "allow":
            count.allowed += 1
        case "ask":
            count.asked += 1
        case _:
            count.denied += 1
    if len(count.calls) < _EXAMPLES:
        count.calls.append(call_id)


def _decision(row: AuditRow) -> dict[str, Any] | None:
    try:
        facts: object = msgspec.json.decode(row.body)
    except msgspec.DecodeError:
        return None
    decision = cast("dict[str, Any]", facts).get("decision") if isinstance(facts, dict) else None
    return cast("dict[str, Any]", decision) if isinstance(decision, dict) else None
