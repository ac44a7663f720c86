"""What the ledger knows of one call."""

from __future__ import annotations

import msgspec

from ..call import Status
from ..types import Caller


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the ledger. Everything a person typed or a tool returned is sealed."""

    call_id: str
    tenant: str
    caller: Caller
    """As authenticated when the call was made."""
    run_id: str | None
    step_index: int | None
    position: int | None
    tool_call_id: str
    name: str
    version: str
    contract_hash: str
    binding_hash: str
    view_digest: str
    key: str | None
    """Of the effect; `None` for a call that nothing else can be a repeat of."""
    idempotency_key: str
    """What the handler is given."""
    args_hash: str
    """Keyed hash of the arguments that the model may write."""
    status: Status
    arguments: bytes
    """Sealed: what the model may write, what was injected, what the model wrote."""
    digest: str | None = None
    """Of exactly what will run, if a person was asked."""
    approval_id: str | None = None
    owner: str | None = None
    """The process that runs it, or will."""
    attempt: int = 0
    outcome: bytes | None = None
    """Sealed: what the handler returned or why it failed."""
    result: bytes | None = None
    """Sealed: the `ToolResult` that the caller got."""
    error_code: str | None = None
    created_us: int
    """Microseconds since the epoch, as all `_us`."""
    started_us: int | None = None
    finished_us: int | None = None
    key_expires_us: int | None = None
    """When a finished call lets go of its key."""
    parent_call_id: str | None = None
    """The call whose handler made this one, if one did; `position` is then its place among those."""
    depth: int | None = None
    """How deep it is nested; `None` for a call that no handler made."""
    undoes: str | None = None
    """The call that this one takes back, if it does."""
