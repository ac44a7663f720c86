"""The runs' transactions. Each body checks, under lock, before it writes: what says no has written nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec

from ..errors import StoreError
from ..ports import RunRecord, RunSave, RunStatus, StoredEvent, TurnRecord
from . import run_statements as statements
from .ledger import beat, silence
from .rows import all_readable, event_record, event_values, run_record, run_values, turn_record, turn_values
from .statements import any_of
from .tx import Tx

STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)


def create_run(tx: Tx, record: RunRecord) -> bool:
    """`RunStore.create_run`. Of two processes that insert one id at once, one fails, and its rerun finds the other's.

    To drive a run from its start is a beat: the owner may not have said another word yet.
    """
    values = run_values(record)
    if tx.rows(statements.get_run, values):
        return False
    tx.write(statements.insert_run, values)
    if record.owner is not None:
        _lives(tx, record.owner, record.created_us)
    return True


def take_run(tx: Tx, tenant: str, run_id: str, owner: str, now_us: int, silent_us: int) -> RunRecord | None:
    """`RunStore.take_run`. To take a run is a beat too, so that whoever waited for the lock sees it taken.

    The owner's beat is read by a second statement, after the lock: PostgreSQL reads a statement's other rows as they
    were before it waited.
    """
    found = tx.rows(statements.lock_run, {"tenant": tenant, "run_id": run_id})
    if not found:
        return None
    run = run_record(found[0])
    if run.status == "ended" or _another_drives(tx, run, owner, now_us, silent_us):
        return None
    values = {"of_tenant": tenant, "of_run": run_id, "new_owner": owner, "now_us": now_us}
    tx.write(statements.take_run, values)
    _lives(tx, owner, now_us)
    return msgspec.structs.replace(run, owner=owner, updated_us=now_us)


def _another_drives(tx: Tx, run: RunRecord, owner: str, now_us: int, silent_us: int) -> bool:
    if run.owner is None or run.owner == owner:
        return False
    silent_for_us = silence(tx, run.owner, now_us)
    return silent_for_us is not None and silent_for_us < silent_us


def _lives(tx: Tx, owner: str, now_us: int) -> None:
    """A beat that takes back no later one."""
    if silence(tx, owner, now_us) != 0:
        beat(tx, owner, now_us)


def save_run(tx: Tx, save: RunSave) -> bool:
    """`RunStore.save_run`. The update locks the run, so nobody else adds a turn of it meanwhile."""
    of = {"of_tenant": save.tenant, "of_run": save.run_id}
    parts = save.events if save.turn is None else (save.turn, *save.events)
    if any((part.tenant, part.run_id) != (save.tenant, save.run_id) for part in parts):
        raise StoreError(f"a change of run {save.run_id} has a turn or an event of another run")
    values = {
        **of,
        "expect_owner": save.expect_owner,
        "to": save.status,
        "new_reason": save.reason,
        "new_start": save.start,
        "new_owner": None if save.release or save.status == "ended" else save.expect_owner,
        "least_turns": 0 if save.turn is None else save.turn.turn + 1,
        "now_us": save.now_us,
    }
    if not tx.change(statements.save_run, values):
        return False
    if save.turn is not None:
        results = {**of, "of_turn": save.turn.turn, "new_results": save.turn.results}
        if not tx.change(statements.set_results, results):
            tx.write(statements.insert_turn, turn_values(save.turn))
    for event in save.events:
        tx.write(statements.insert_run_event, event_values(event))
    return True


def cancel_run(tx: Tx, tenant: str, run_id: str, now_us: int) -> bool:
    """`RunStore.cancel_run`."""
    return bool(tx.change(statements.cancel_run, {"of_tenant": tenant, "of_run": run_id, "now_us": now_us}))


def undriven_stops(tx: Tx, now_us: int, silent_us: int, limit: int) -> list[RunRecord]:
    """`RunStore.undriven_stops`."""
    values = {"now_us": now_us, "least_silent_us": silent_us}
    return all_readable(run_record, lambda most: tx.rows(statements.undriven_stops, {**values, "limit": most}), limit)


def get_run(tx: Tx, tenant: str, run_id: str) -> RunRecord | None:
    """`RunStore.get_run`."""
    found = tx.rows(statements.get_run, {"tenant": tenant, "run_id": run_id})
    return run_record(found[0]) if found else None


def list_runs(tx: Tx, tenant: str, statuses: Sequence[RunStatus], limit: int) -> list[RunRecord]:
    """`RunStore.list_runs`."""
    wanted = sorted(set(statuses or STATUSES))
    values = {"tenant": tenant, **any_of("status", wanted)}
    statement = statements.list_runs(len(wanted))
    return all_readable(run_record, lambda most: tx.rows(statement, {**values, "limit": most}), limit)


def list_turns(tx: Tx, tenant: str, run_id: str) -> list[TurnRecord]:
    """`RunStore.list_turns`."""
    return [turn_record(row) for row in tx.rows(statements.list_turns, {"tenant": tenant, "run_id": run_id})]


def list_run_events(tx: Tx, tenant: str, run_id: str, after_seq: int, limit: int) -> list[StoredEvent]:
    """`RunStore.list_run_events`."""
    values = {"tenant": tenant, "run_id": run_id, "after_seq": after_seq, "limit": limit}
    return [event_record(row) for row in tx.rows(statements.list_run_events, values)]
