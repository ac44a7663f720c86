"""Results of reads that are given again: for the same caller, contract, policies and value only."""

from __future__ import annotations

from typing import cast

import msgspec

from ..call import ToolResult
from ..spec import FROM_CACHE
from .passage import Passage
from .services import Services


def _key(p: Passage, s: Services) -> str:
    """Everything that the result may depend on, keyed: no argument can be read from it."""
    caller = [list(cast("tuple[str, ...]", part)) if isinstance(part, tuple) else part for part in p.caller.identity]
    contract = [p.spec.id, p.spec.contract_hash, p.spec.binding_hash, p.world.policies.digest]
    # What its handler called is judged only when it is called: a change of what holds there shows in the revision.
    below = p.world.revision if p.spec.calls else None
    return s.keyring.keyed_hash(["result", p.caller.tenant, caller, contract, below, p.final])


def reuse(p: Passage, s: Services, *, stale: bool = False) -> bool:
    """Fills `reused` with an earlier result, if there is one. Only after 1 to 5: policy and hooks judge each hit.

    Args:
        p: A read-only call that is allowed.
        s: The services.
        stale: Whether one will do whose time is over, because the tool is unavailable.
    """
    assert p.entry is not None
    oldest_s = max(s.limits.stale_s, p.spec.cache_ttl_s) if stale else p.spec.cache_ttl_s
    if not oldest_s:
        return False
    now = s.clock.monotonic()
    found = s.cache.get(_key(p, s), p.entry.tool, since=now - oldest_s)
    if found is None:
        return False
    content = found.content
    if stale:
        content = f"[`{p.spec.name}` is unavailable; this is what it said earlier]\n{content}"
    p.reused = msgspec.structs.replace(
        found, call_id=p.call_id, tool_call_id=p.call.id, content=content, cached=True, stale=stale
    )
    return True


def keep(p: Passage, s: Services, made: ToolResult) -> None:
    """Keeps the result of a read for later. Errors are not kept."""
    wanted = p.spec.cache_ttl_s > 0 or p.spec.fallback == FROM_CACHE
    if not wanted or not p.spec.read_only or p.record is not None or p.reused is not None:
        return
    if made.status == "ok" and not made.is_error:
        assert p.entry is not None
        s.cache.put(_key(p, s), p.entry.tool, made, now=s.clock.monotonic())
