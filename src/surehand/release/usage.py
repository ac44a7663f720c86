"""What the audit of all tenants says of each version: how often it was called, and how that ended. Counts only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ..audit import AuditRow
from ..engine import Engine
from ..errors import Code

_PAGE: Final = 1_000
_ROWS_MAX: Final = 200_000
"""Records of one tenant that are looked at, newest first."""
_CALLED: Final = ("call.finished", "call.replayed", "call.waiting")
_FAILED: Final[frozenset[Code]] = frozenset(
    {"TOOL_ERROR", "TOOL_TIMEOUT", "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN", "TOOL_OUTPUT_INVALID"}
)
"""What speaks against the tool, and not against the call."""


@dataclass(slots=True)
class Used:
    """One version."""

    calls: int = 0
    """Since the earlier of both times."""
    last_us: int = 0
    ended: int = 0
    """Since the later of both times: calls that ran to an end."""
    failed: int = 0


@dataclass(slots=True)
class Usage:
    """All versions, by `name@version`."""

    since_us: int
    """From when on the records are whole: what was asked for, or later if there are none from before."""
    of: dict[str, Used]


async def read_usage(engine: Engine, *, since_us: int, failures_since_us: int) -> Usage:
    """Reads the records of all tenants back to a time, or as far as they reach."""
    await engine.audit.seal()
    store = engine.services.store
    usage = Usage(since_us=since_us, of={})
    oldest: list[int] = []
    for tenant in await store.tenants():
        reached, cut = engine.services.clock.now_us(), False
        count = 0
        async for row in _newest_first(engine, tenant, since_us):
            reached = min(reached, row.at_us)
            count += 1
            cut = count >= _ROWS_MAX
            if row.at_us >= since_us:
                _add(usage, row, failures_since_us)
        oldest.append(reached)
        if cut:
            usage.since_us = max(usage.since_us, reached)
    begins = min(oldest, default=engine.services.clock.now_us())
    usage.since_us = max(usage.since_us, begins)
    return usage


async def _newest_first(engine: Engine, tenant: str, since_us: int) -> AsyncIterator[AuditRow]:
    """Records of a tenant down to the first one before a time, page by page."""
    store = engine.services.store
    for row in await store.unsealed(tenant):
        yield row
    newest = await store.list_audit(tenant, limit=_PAGE)
    last = max((row.seq or 0 for row in newest), default=0)
    lowest = max(0, last - _ROWS_MAX)
    while last > lowest:
        first = max(lowest, last - _PAGE)
        page = await store.list_audit(tenant, after_seq=first, order="chain", limit=last - first)
        for row in reversed(page):
            if (row.seq or 0) <= last:  # damaged rows are left out, so that later ones may follow
                yield row
        if page and page[0].at_us < since_us:
            return
        last = first


def _add(usage: Usage, row: AuditRow, failures_since_us: int) -> None:
    if row.kind not in _CALLED:
        return
    try:
        facts: Any = msgspec.json.decode(row.body)
        used = usage.of.setdefault(f"{facts['name']}@{facts['version']}", Used())
    except (msgspec.DecodeError, KeyError, TypeError):  # somebody broke it, which `audit verify` reports
        return
    used.calls += 1
    used.last_us = max(used.last_us, row.at_us)
    if row.kind == "call.finished" and row.at_us >= failures_since_us:
        used.ended += 1
        used.failed += facts.get("error_code") in _FAILED
