"""What a call that takes another one back is bound to: exactly what is stored of that call."""

from __future__ import annotations

from typing import Any

import msgspec

from ..ledger import CallRecord
from ..spec import canonical_json
from ..spec.undoing import BOUND
from ..view import World
from .passage import Passage, Stop
from .services import Services
from .stored import answer
from .trace import stored_arguments


async def bound_arguments(s: Services, record: CallRecord, world: World) -> dict[str, Any]:
    """What the undo of a finished call is given, but for the reason."""
    stored = stored_arguments(s, record)
    result = await answer(s, record, world)
    return {
        "call_id": record.call_id,
        "made_by": stored.caller.id,
        "key": stored.idempotency_key,
        "arguments": stored.final,
        "result": result.content if result.structured is None else msgspec.to_builtins(result.structured),
    }


async def unbound(p: Passage, s: Services) -> Stop | None:
    """Why an undo must not run, if it must not: whoever changed what it takes back, it is another effect."""
    record = await s.store.get_call(p.caller.tenant, p.undoes or "")
    if record is not None and record.status == "ok":
        meant = await bound_arguments(s, record, p.world)
        if all(canonical_json(p.arguments.get(name)) == canonical_json(meant[name]) for name in BOUND):
            return None
    return p.refuse(
        "HOOK_BLOCKED",
        f"`{p.spec.name}` was not run: it is not about what is stored of the call that it takes back.",
        status="denied",
    )
