"""Stage 6: one transaction by key. A repeat answers for itself, a question waits, the rest is ours to run."""

from __future__ import annotations

from ..errors import SurehandError
from ..ledger import CallRecord, effect_key, meaning
from ..normalize import failures
from ..policy import Ask
from ..ports import Claim, Existing, Move
from .ask import ask
from .passage import Passage, Stop, storable
from .services import Services
from .stored import answer, for_reader
from .trace import StoredArguments, seal_json, trace
from .unknown import recover_one, settle_by_check

_ROUNDS = 3


async def claim(p: Passage, s: Services) -> Stop | None:
    """Fills `record` with a call that is ours to run now, or stops: pending, a replay, or refused."""
    parent = None if p.parent is None else (p.parent.key, p.parent.position)
    parts = effect_key(p.spec, p.final, p.caller, idempotency_key=p.given_key, run=p.run, parent=parent)
    if parts is None and not p.spec.repeatable:
        return p.refuse(
            "POLICY_DENIED",
            f"`{p.spec.name}` may take effect only once, and nothing says which effect this call is. "
            "The application must pass idempotency_key= or run=, or the tool must declare key=.",
            status="denied",
        )
    key = None if parts is None else s.keyring.keyed_hash(parts)
    p.idempotency_key = key or p.call_id
    p.args_hash = s.keyring.keyed_hash(p.final)
    asks = p.decision.requirements if isinstance(p.decision, Ask) else ()
    if asks and await s.store.count_open_approvals(p.caller.tenant) >= s.limits.open_approvals:
        return p.refuse("RATE_LIMITED", "Too many questions wait for people already; try again when some are answered.")
    if len(s.owed) >= s.limits.pending_records:
        return Stop(status="error", error=failures.unavailable(p.spec, "the store is away"))
    for _ in range(_ROUNDS):
        order = _order(p, s, key)
        try:
            existing = await s.store.claim(order)
        except SurehandError:
            return _no_record(p, s, order)
        if existing is None:
            p.record = order.record
            if order.approval is not None:
                return pending(order.record)
            return None
        stop = await _answer(p, s, existing)
        if stop is not None:
            return stop
    return p.refuse("TOOL_DUPLICATE_REQUEST", "This call is being settled by another process; ask again.")


def _order(p: Passage, s: Services, key: str | None) -> Claim:
    now_us = s.clock.now_us()
    asks = p.decision.requirements if isinstance(p.decision, Ask) else ()
    call_id = p.call_id
    approval = ask(p, s, asks, now_us=now_us) if asks else None
    record = CallRecord(
        call_id=call_id,
        tenant=p.caller.tenant,
        caller=p.caller,
        run_id=p.run_id,
        step_index=None if p.run is None else p.run.turn,
        position=_position(p),
        tool_call_id=storable(p.call.id),
        name=p.spec.name,
        version=p.spec.version,
        contract_hash=p.spec.contract_hash,
        binding_hash=p.spec.binding_hash,
        view_digest=p.view_digest,
        key=key,
        idempotency_key=p.idempotency_key,
        args_hash=p.args_hash,
        status="waiting" if approval else "running",
        arguments=seal_json(
            s,
            StoredArguments(
                written=p.written or {},
                arguments=p.arguments,
                final=p.final,
                caller=p.caller,
                idempotency_key=p.idempotency_key,
                untrusted=p.origin.untrusted,
                labels=p.labels,
            ),
            tenant=p.caller.tenant,
            call_id=call_id,
            what="arguments",
        ),
        digest=approval.digest if approval else None,
        approval_id=approval.approval_id if approval else None,
        owner=None if approval else s.owner,
        attempt=0 if approval else 1,
        created_us=now_us,
        started_us=None if approval else now_us,
        parent_call_id=None if p.parent is None else p.parent.call_id,
        depth=None if p.parent is None else p.parent.depth,
        undoes=p.undoes,
    )
    p.record = record
    p.started_us = record.started_us
    row = trace(
        p, s, "call.waiting" if approval else "call.started", shown_hash=approval.shown_hash if approval else None
    )
    p.record = None
    return Claim(record=record, approval=approval, audit=(row,), now_us=now_us)


def _position(p: Passage) -> int | None:
    if p.run is not None:
        return p.run.position
    return None if p.parent is None else p.parent.position


def pending(record: CallRecord) -> Stop:
    """A call that is in somebody else's hands."""
    return Stop(status="pending", approval_id=record.approval_id, of=record)


async def _answer(p: Passage, s: Services, existing: Existing) -> Stop | None:
    """What the call that is already there says; `None` if the claim may be tried again."""
    record = existing.record
    alive = record.owner == s.owner or (existing.owner_silent_us is not None and existing.owner_silent_us < s.lease_us)
    match meaning(record, args_hash=p.args_hash, owner_alive=alive):
        case "conflict":
            return _conflict(p, record)
        case "pending":
            return pending(record)
        case "duplicate":
            return _duplicate(p, record)
        case "replay":
            stop = await _undone(p, s, record)
            if stop is not None:
                return stop
            stored = await answer(s, record, p.world)
            return Stop(status="ok", replay=for_reader(s, p.caller, record, stored, p.world), of=record)
        case "unknown":
            if record.status == "running":
                record = await recover_one(s, record)
            if record.status == "unknown":
                record = await settle_by_check(s, record, p.world)
            return unknown(record) if record.status == "unknown" else None


async def _undone(p: Passage, s: Services, record: CallRecord) -> Stop | None:
    """What was taken back is not told as done."""
    if p.entry is None or p.entry.tool.undo is None:
        return None
    undo = await s.store.undo_of(record.tenant, record.call_id)
    if undo is None or undo.status != "ok":
        return None
    return p.refuse(
        "IDEMPOTENCY_CONFLICT",
        f"This effect of `{p.spec.name}` happened (call {record.call_id}) and was taken back (call {undo.call_id}). "
        "Nothing was done now. If it is meant to happen again, it needs another key.",
        call_id=record.call_id,
        undo_call_id=undo.call_id,
    )


def unknown(record: CallRecord) -> Stop:
    """Nobody knows yet, and nobody guesses."""
    return Stop(status="unknown", error=failures.unknown_of(record.name, record.version, "lost"), of=record)


def _conflict(p: Passage, record: CallRecord) -> Stop:
    return p.refuse(
        "IDEMPOTENCY_CONFLICT",
        f"This effect of `{p.spec.name}` was already asked for with other arguments (call {record.call_id}). "
        "Nothing was done. If this is meant to be another effect, it needs another key.",
        call_id=record.call_id,
    )


def _duplicate(p: Passage, record: CallRecord) -> Stop:
    return p.refuse(
        "TOOL_DUPLICATE_REQUEST",
        f"The same call of `{p.spec.name}` is running (call {record.call_id}). Do not repeat it; wait for its result.",
        call_id=record.call_id,
    )


def _no_record(p: Passage, s: Services, order: Claim) -> Stop:
    """Nothing was done. Should the row have been written after all, it is taken back when the store is there."""
    record, approval = order.record, order.approval
    p.record = record
    s.owed.append(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=(record.status,),
            expect_started_us=record.started_us,
            to="error",
            error_code="TOOL_UNAVAILABLE",
            finished_us=s.clock.now_us(),
            release_key=True,
            approval=None if approval is None else (approval.approval_id, ("open",), "stale"),
            audit=(trace(p, s, "call.refused", status="error", error_code="TOOL_UNAVAILABLE"),),
        )
    )
    p.record = None
    return Stop(status="error", error=failures.unavailable(p.spec, "the record of it could not be written"))
