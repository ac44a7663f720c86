"""Stage 6: one transaction by key. A repeat answers for itself, a question waits, the rest is ours to run."""

from __future__ import annotations

from ..approval import Grant
from ..errors import SurehandError
from ..ledger import CallRecord, effect_key, meaning
from ..limits import Full
from ..normalize import failures
from ..policy import Ask
from ..ports import Claim, Existing, Move, Moved, NotLifted
from .ask import ask, preview
from .grants import standing_answers, tell_used, used
from .moved import ROUNDS, decide_anew
from .passage import Passage, Stop, storable
from .quota import charges, no_room, tell_reserved
from .services import Services
from .stored import answer, for_reader, is_repeat
from .trace import StoredArguments, seal_json, trace
from .unknown import recover_one, settle_by_check

_ROUNDS = 3


async def claim(p: Passage, s: Services) -> Stop | None:
    """Fills `record` with a call that is ours to run now, or stops: pending, a replay, or refused."""
    for _ in range(ROUNDS):
        taken = await _claim(p, s)
        if not isinstance(taken, Moved):
            return taken
        try:
            stop = await decide_anew(p, s)
        except SurehandError:
            return Stop(status="error", error=failures.unavailable(p.spec, "what holds for it cannot be read"))
        if stop is not None:
            return stop
    return Stop(status="error", error=failures.unavailable(p.spec, "what holds for it keeps changing"))


async def _claim(p: Passage, s: Services) -> Stop | Moved | None:
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
    if len(s.owed) >= s.limits.pending_records:
        return Stop(status="error", error=failures.unavailable(p.spec, "the store is away"))
    asks = p.decision.requirements if isinstance(p.decision, Ask) else ()
    granted = await standing_answers(p, s, asks) if asks else ()
    for _ in range(_ROUNDS):
        stop = await _try(p, s, key, granted)
        if isinstance(stop, NotLifted):
            granted = ()
        elif isinstance(stop, Existing):
            p.charges = ()
            answered = await _answer(p, s, stop)
            if answered is not None:
                return answered
        else:
            return stop
    return p.refuse("TOOL_DUPLICATE_REQUEST", "This call is being settled by another process; ask again.")


async def _try(
    p: Passage, s: Services, key: str | None, granted: tuple[Grant, ...]
) -> Stop | Existing | NotLifted | Moved | None:
    asks = isinstance(p.decision, Ask) and not granted
    if asks and (stop := await _before_asking(p, s)) is not None:
        return stop
    takes = charges(p, s, starts=not asks)
    if isinstance(takes, Stop):
        return takes
    order = _order(p, s, key, granted)
    ids = [grant.grant_id for grant in granted]
    try:
        found = await (s.store.claim_within(order, takes, grants=ids) if takes or ids else s.store.claim(order))
    except SurehandError:
        return _no_record(p, s, order)
    if isinstance(found, Full):
        p.charges = ()
        return no_room(p, s, found)
    if found is not None:
        return found
    p.record = order.record
    tell_used(p, s, granted)
    tell_reserved(p, s)
    return None if order.approval is None else pending(order.record)


async def _before_asking(p: Passage, s: Services) -> Stop | None:
    if await s.store.count_open_approvals(p.caller.tenant) >= s.limits.open_approvals:
        return p.refuse("RATE_LIMITED", "Too many questions wait for people already; try again when some are answered.")
    if p.preview is None:
        await preview(p, s)
    return None


def _order(p: Passage, s: Services, key: str | None, granted: tuple[Grant, ...]) -> Claim:
    now_us = s.clock.now_us()
    asks = p.decision.requirements if isinstance(p.decision, Ask) and not granted else ()
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
    return Claim(
        record=record,
        approval=approval,
        audit=(*used(p, s, granted), row),
        control=p.world.revision,
        now_us=now_us,
    )


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
    asked = record.args_hash if is_repeat(s, record, p.args_hash) else p.args_hash
    match meaning(record, args_hash=asked, owner_alive=alive):
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
