"""Records for the tests of stores: small, valid, and different only where a test says so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from ..approval import Approval, Refused, Verdict, count
from ..audit import AuditRow, Checkpoint, audit_row
from ..call import Status
from ..ledger import CallRecord
from ..ports import Ballot, Claim, Move, Store
from ..types import Caller, Requirement

NOW_US = 1_800_000_000_000_000
LEASE_US = 60_000_000
"""Longer than a test takes: whoever has said a word in it is alive, whichever clock measures."""


def call(call_id: str, **changes: Any) -> CallRecord:
    """A call, running unless said otherwise."""
    record = CallRecord(
        call_id=call_id,
        tenant="acme",
        caller=Caller(id="alice", tenant="acme", roles=["clerk"], scopes=["pay"], agent="bot"),
        run_id=None,
        step_index=None,
        position=None,
        tool_call_id="t1",
        name="refund",
        version="1.0.0",
        contract_hash="c",
        binding_hash="b",
        view_digest="v",
        key=None,
        idempotency_key=call_id,
        args_hash=f"args of {call_id}",
        status="running",
        arguments=b"\x00sealed\xff",
        owner="p1",
        created_us=NOW_US,
    )
    return msgspec.structs.replace(record, **changes)


def question(approval_id: str, call_id: str, *groups: str, **changes: Any) -> Approval:
    """An approval, open unless said otherwise, that needs one yes of each group."""
    needs = tuple(Requirement(policy_id="p", group=g, reason="höher", policy_hash="h") for g in groups or ("boss",))
    approval = Approval(
        approval_id=approval_id,
        call_id=call_id,
        tenant="acme",
        requester="alice",
        name="refund",
        version="1.0.0",
        digest="d",
        needs=needs,
        shown=b"\x00shown",
        shown_hash="s",
        created_us=NOW_US,
        expires_us=NOW_US + 1000,
    )
    return msgspec.structs.replace(approval, **changes)


def fact(row_id: str, call_id: str | None = None, *, tenant: str = "acme") -> AuditRow:
    """An audit row."""
    return audit_row(
        row_id=row_id, tenant=tenant, kind="call.started", call_id=call_id, run_id=None, at_us=NOW_US, facts={"n": 1}
    )


def claim(record: CallRecord, *, approval: Approval | None = None, now_us: int = NOW_US, rows: int = 0) -> Claim:
    """A claim with `rows` audit rows."""
    audit = tuple(fact(f"{record.call_id}-{n}", record.call_id, tenant=record.tenant) for n in range(rows))
    return Claim(record=record, approval=approval, audit=audit, now_us=now_us)


def move(call_id: str, expect: Status, to: Status, **changes: Any) -> Move:
    """A move from one state."""
    return msgspec.structs.replace(Move(tenant="acme", call_id=call_id, expect=(expect,), to=to), **changes)


def voting(
    who: str, *groups: str, verdict: Verdict = "approve", then: Move | None = None
) -> Callable[[Approval], Ballot | Refused]:
    """One person's vote; when it approves, `then` happens to the call."""
    voter = Caller(id=who, tenant="acme", roles=groups or ("boss",))

    def decide(approval: Approval) -> Ballot | Refused:
        counted = count(approval, voter, verdict, reason="because", now_us=NOW_US + 1)
        if isinstance(counted, Refused):
            return counted
        rows = (fact(f"vote of {who}", approval.call_id),)
        return Ballot(counted=counted, move=then if counted.status == "approved" else None, audit=rows)

    return decide


def link(previous: str, seq: int, digest: str) -> str:
    """A chain's hash."""
    return hashlib.sha256(f"{previous}|{seq}|{digest}".encode()).hexdigest()


def signer(tenant: str = "acme") -> Callable[[int, str], Checkpoint]:
    """Makes checkpoints."""
    return lambda seq, chain: Checkpoint(
        tenant=tenant, seq=seq, chain=chain, at_us=NOW_US, key_id="k", signature=f"signed {seq}"
    )


async def seal(store: Store, tenant: str = "acme", limit: int = 1000) -> Checkpoint | None:
    """Seals with `link` and `signer`."""
    return await store.seal(tenant, link, signer(tenant), limit=limit)
