"""The ledger's transactions. Each body checks, under lock, before it writes: what says no has written nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ..approval import ApprovalStatus
from ..call import Status
from ..ledger import CallRecord
from ..limits import Charge, Full
from ..ports import Claim, Existing, Move, Moved, NotLifted
from . import grants, statements
from .audit import record
from .control import held_revision
from .quotas import end_of_move, room, take
from .rows import all_readable, approval_values, call_record, call_values
from .tx import LostRaceError, Row, Statement, Tx, Values

STATUSES: tuple[Status, ...] = get_args(Status)
FINISHED: frozenset[Status] = frozenset({"ok", "error", "denied", "cancelled"})


def claim(tx: Tx, claim: Claim) -> Existing | Moved | None:
    """`Store.claim`. Of two processes that insert one key at once, one fails, and its rerun finds the other's."""
    moved = _moved(tx, claim.control)
    if moved is not None:
        return moved
    values = call_values(claim.record)
    found = _find(tx, claim, values)
    if isinstance(found, Existing):
        return found
    _enter(tx, claim, values, found)
    return None


def _moved(tx: Tx, control: int | None) -> Moved | None:
    """Whether the control plane is not as it was when this was decided. Locked before anything else, by everybody."""
    latest = control if control is None else held_revision(tx)
    return None if latest is None or latest == control else Moved(revision=latest)


def claim_within(
    tx: Tx, claim: Claim, charges: Sequence[Charge], used: Sequence[str]
) -> Existing | NotLifted | Full | Moved | None:
    """`Store.claim_within`.

    What is there already is looked for first: whoever finds the key free because its call was rejected sees the no.
    """
    moved = _moved(tx, claim.control)
    if moved is not None:
        return moved
    record_ = claim.record
    values = call_values(record_)
    found = _find(tx, claim, values)
    if isinstance(found, Existing):
        return found
    if used and not grants.lock_usable(tx, claim, used):
        return NotLifted()
    taken = room(tx, record_.tenant, record_.call_id, charges) if charges else []
    if isinstance(taken, Full):
        return taken
    grants.use(tx, record_.tenant, used)
    take(tx, record_.tenant, record_.call_id, taken)
    _enter(tx, claim, values, found)
    return None


def _find(tx: Tx, claim: Claim, values: Values) -> Existing | Row | None:
    """What answers for a new call; or the row of a finished call whose key it may take; or nothing."""
    record_ = claim.record
    query = statements.find_unknown if record_.key is None else statements.find_existing
    lapsed: Row | None = None
    for row in sorted(tx.rows(query, {**values, "now_us": claim.now_us}), key=_key_holder_first):
        if row[-1] and let_go(call_record(row), record_, claim.now_us):
            lapsed = row
        else:
            return existing(row)
    return lapsed


def _enter(tx: Tx, claim: Claim, values: Values, lapsed: Row | None) -> None:
    """Writes a new call, which takes the key of `lapsed`."""
    record_ = claim.record
    if lapsed is not None:
        _take_key(tx, claim, lapsed)
    elif record_.key is not None:
        tx.write(statements.insert_key, values)
    tx.write(statements.insert_call, values)
    if claim.approval is not None:
        tx.write(statements.insert_approval, approval_values(claim.approval))
    record(tx, claim.audit)


def _key_holder_first(row: Row) -> bool:
    return not row[-1]


def let_go(holder: CallRecord, wanted: CallRecord, now_us: int) -> bool:
    """Whether whoever is noted under a key leaves it to another call.

    A call that an edit gave another key stands under its first one only for the repeats of its own place in a run.
    """
    if holder.key != wanted.key:
        return holder.run_id is None or _place(holder) != _place(wanted)
    expires_us = holder.key_expires_us
    return holder.status in FINISHED and expires_us is not None and expires_us <= now_us


def _place(call: CallRecord) -> tuple[str | None, int | None, int | None]:
    return call.run_id, call.step_index, call.position


def existing(row: Row) -> Existing:
    """The call of a row that `find_existing` or `find_unknown` gave."""
    return Existing(record=call_record(row), owner_silent_us=_not_negative(row[-2]))


def _not_negative(silent_us: int | None) -> int | None:
    """The clock may have been set back since."""
    return None if silent_us is None else max(0, silent_us)


def _take_key(tx: Tx, claim: Claim, lapsed: Row) -> None:
    values = {
        "call_id": claim.record.call_id,
        "of_tenant": claim.record.tenant,
        "of_name": claim.record.name,
        "of_key": claim.record.key,
        "held_by": call_record(lapsed).call_id,
    }
    if not tx.change(statements.take_key, values):
        raise LostRaceError("the key moved to another call")


def move_within(tx: Tx, move_: Move, charges: Sequence[Charge]) -> bool | Full:
    """`Store.move_within`."""
    if _moved(tx, move_.control) is not None:
        return False
    taken = room(tx, move_.tenant, move_.call_id, charges)
    if isinstance(taken, Full):
        return taken
    if not move(tx, move_):
        return False
    take(tx, move_.tenant, move_.call_id, taken)
    return True


def move(tx: Tx, move: Move) -> bool:
    """`Store.move`."""
    if _moved(tx, move.control) is not None:
        return False
    if move.approval is not None and not _approval_is(tx, move, move.approval[0], move.approval[1]):
        return False
    statement = statements.move_call(
        len(move.expect), move.expect_owner is not None, move.expect_started_us is not None
    )
    if not move.expect or not tx.change(statement, _move_values(move)):
        return False
    if move.approval is not None:
        approval_id, _, status = move.approval
        values = {"of_tenant": move.tenant, "of_approval": approval_id, "to": status, "at": None}
        tx.write(statements.set_approval, values)
    if move.new_approval is not None:
        tx.write(statements.insert_approval, approval_values(move.new_approval))
    if move.release_key:
        tx.write(statements.release_key, {"tenant": move.tenant, "call_id": move.call_id})
    record(tx, move.audit)
    end_of_move(tx, move)
    return True


def _approval_is(tx: Tx, move: Move, approval_id: str, expected: tuple[ApprovalStatus, ...]) -> bool:
    found = tx.rows(statements.lock_approval_status, {"tenant": move.tenant, "approval_id": approval_id})
    return any(call_id == move.call_id and status in expected for call_id, status in found)


def _move_values(move: Move) -> dict[str, object]:
    return {
        **statements.any_of("expect", move.expect),
        "of_tenant": move.tenant,
        "of_call": move.call_id,
        "expect_owner": move.expect_owner,
        "expect_started_us": move.expect_started_us,
        "to": move.to,
        "release_owner": int(move.release_owner),
        "new_owner": move.owner,
        "new_attempt": move.attempt,
        "new_outcome": move.outcome,
        "new_result": move.result,
        "new_error_code": move.error_code,
        "new_started_us": move.started_us,
        "new_finished_us": move.finished_us,
        "new_key_expires_us": move.key_expires_us,
        "new_contract_hash": move.contract_hash,
        "new_binding_hash": move.binding_hash,
        "new_approval_id": None if move.new_approval is None else move.new_approval.approval_id,
        "new_digest": move.new_digest,
    }


def get_call(tx: Tx, tenant: str, call_id: str) -> CallRecord | None:
    """`Store.get_call`."""
    found = tx.rows(statements.get_call, {"tenant": tenant, "call_id": call_id})
    return call_record(found[0]) if found else None


def list_calls(tx: Tx, tenant: str, statuses: Sequence[Status], run_id: str | None, limit: int) -> list[CallRecord]:
    """`Store.list_calls`."""
    wanted = sorted(set(statuses or STATUSES))
    values = {"tenant": tenant, **statements.any_of("status", wanted)}
    if run_id is not None:
        values["run_id"] = run_id
    return _list(tx, statements.list_calls(len(wanted), of_run=run_id is not None), values, limit)


def orphans(tx: Tx, now_us: int, silent_us: int, limit: int) -> list[CallRecord]:
    """`Store.orphans`."""
    return _list(tx, statements.orphans, {"now_us": now_us, "least_silent_us": silent_us}, limit)


def running_of(tx: Tx, owner: str, limit: int) -> list[CallRecord]:
    """`Store.running_of`."""
    return _list(tx, statements.running_of, {"owner": owner}, limit)


def _list(tx: Tx, statement: Statement, values: Values, limit: int) -> list[CallRecord]:
    return all_readable(call_record, lambda most: tx.rows(statement, {**values, "limit": most}), limit)


def beat(tx: Tx, owner: str, now_us: int) -> None:
    """`Store.beat`."""
    if not tx.change(statements.beat, {"of_owner": owner, "now_us": now_us}):
        tx.write(statements.insert_worker, {"owner": owner, "now_us": now_us})


def silence(tx: Tx, owner: str, now_us: int) -> int | None:
    """`Store.silence`."""
    found = tx.rows(statements.silence, {"owner": owner, "now_us": now_us})
    return _not_negative(found[0][0]) if found else None
