"""The transactions of budgets and rates. What calls take is checked under lock before any of it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import uuid_utils

from ..audit import AuditRow, audit_row
from ..limits import Charge, Counter, Full, Held, admit
from ..ports import HealthRecord, Move, ReadCharges
from . import quota_statements as statements
from .audit import record
from .tx import Tx, Values


class Taking(NamedTuple):
    """A charge for which there is room, and the counter after it."""

    charge: Charge
    held: Held | None
    fresh: bool
    """Whether the counter has no row yet."""
    window_us: int
    used: int


def charge_read(tx: Tx, read: ReadCharges) -> Full | None:
    """`QuotaStore.charge_read`."""
    taken = room(tx, read.tenant, read.call_id, read.charges)
    if isinstance(taken, Full):
        return taken
    take(tx, read.tenant, read.call_id, taken, owner=read.owner)
    return None


def room(tx: Tx, tenant: str, call_id: str, charges: Sequence[Charge]) -> list[Taking] | Full:
    """Whether there is room. Locks the counters, always in the same order: two calls never wait for each other."""
    held = {(one.limit, one.scope): one for one in held_by(tx, tenant, call_id)}
    taken: list[Taking] = []
    for charge in sorted(charges, key=lambda one: (one.limit, one.scope)):
        mine = held.get((charge.limit, charge.scope))
        if mine is not None and mine.amount == charge.amount:
            continue
        found = tx.rows(statements.lock_counter, _of(tenant, charge.limit, charge.scope))
        window_us, used = found[0] if found else (charge.window_us, 0)
        after = admit(charge, window_us=window_us, used=used, held=mine)
        if isinstance(after, Full):
            return after
        taken.append(Taking(charge, mine, not found, *after))
    return taken


def take(tx: Tx, tenant: str, call_id: str, taken: Sequence[Taking], *, owner: str | None = None) -> None:
    """Writes what there is room for."""
    for one in taken:
        charge = one.charge
        counter = {"window_us": one.window_us, "used": one.used}
        if one.fresh:
            tx.write(
                statements.insert_counter, {"tenant": tenant, "name": charge.limit, "scope": charge.scope, **counter}
            )
        else:
            tx.write(statements.set_counter, {**_of(tenant, charge.limit, charge.scope), **counter})
        if charge.kind == "rate":
            continue
        if one.held is not None:
            tx.write(statements.end_reservation, _of(tenant, charge.limit, charge.scope, call_id))
        row = {
            "tenant": tenant,
            "call_id": call_id,
            "name": charge.limit,
            "scope": charge.scope,
            "kind": charge.kind,
            "window_us": one.window_us,
            "amount": charge.amount,
            "owner": owner,
        }
        tx.write(statements.insert_reservation, row)


def end_of_move(tx: Tx, move: Move) -> None:
    """What a call reserved, after a move that was made: see `QuotaStore`."""
    if move.to in move.expect or move.to in ("waiting", "running"):
        return
    ends = move.to not in ("ready", "unknown")
    if not ends and "running" not in move.expect:
        return
    spent = move.to == "ok" or move.spent
    rows = [
        _budget_row(move, one, spent=spent)
        for one in _end(tx, move.tenant, move.call_id, spent=spent, budgets=ends)
        if one.kind == "budget"
    ]
    record(tx, rows)


def end_read(tx: Tx, tenant: str, call_id: str, *, spent: bool) -> None:
    """`QuotaStore.end_read`."""
    _end(tx, tenant, call_id, spent=spent, budgets=True)


def _end(tx: Tx, tenant: str, call_id: str, *, spent: bool, budgets: bool) -> list[Held]:
    """Ends a call's places, and with `budgets` those too. What is spent stays used."""
    ended = [one for one in held_by(tx, tenant, call_id) if budgets or one.kind == "place"]
    for one in sorted(ended, key=lambda one: (one.limit, one.scope)):
        if one.kind == "place" or not spent:
            back = {"amount": one.amount, "of_window_us": one.window_us}
            tx.write(statements.give_back, {**_of(tenant, one.limit, one.scope), **back})
        tx.write(statements.end_reservation, _of(tenant, one.limit, one.scope, call_id))
    return ended


def _budget_row(move: Move, held: Held, *, spent: bool) -> AuditRow:
    return audit_row(
        row_id=f"rec_{uuid_utils.uuid7().hex}",
        tenant=move.tenant,
        kind="budget.settled" if spent else "budget.released",
        call_id=move.call_id,
        run_id=None,
        at_us=_when(move),
        facts={"budget": held.limit, "scope": held.scope, "amount": held.amount},
    )


def _when(move: Move) -> int:
    if move.finished_us is not None:
        return move.finished_us
    return max((row.at_us for row in move.audit), default=0)


def _of(tenant: str, limit: str, scope: str, call_id: str | None = None) -> Values:
    return {"of_tenant": tenant, "of_name": limit, "of_scope": scope, "of_call": call_id}


def held_by(tx: Tx, tenant: str, call_id: str) -> list[Held]:
    """`QuotaStore.held_by`."""
    found = tx.rows(statements.reservations_of, {"tenant": tenant, "call_id": call_id})
    return [
        Held(limit=name, kind=kind, scope=scope, amount=amount, window_us=window_us)
        for name, kind, scope, amount, window_us in found
    ]


def open_reads(tx: Tx, owner: str, now_us: int, silent_us: int, limit: int) -> list[tuple[str, str]]:
    """`QuotaStore.open_reads`."""
    values = {"of_owner": owner, "now_us": now_us, "least_silent_us": silent_us, "limit": limit}
    return list(dict.fromkeys((tenant, call_id) for tenant, call_id in tx.rows(statements.open_reads, values)))


def list_counters(tx: Tx, tenant: str, limit: int) -> list[Counter]:
    """`QuotaStore.list_counters`."""
    return [
        Counter(limit=name, scope=scope, window_us=window_us, used=used, reserved=int(reserved))
        for name, scope, window_us, used, reserved in tx.rows(
            statements.list_counters, {"tenant": tenant, "limit": limit}
        )
    ]


def note_health(tx: Tx, record: HealthRecord) -> None:
    """`QuotaStore.note_health`."""
    values = msgspec.structs.asdict(record)
    of = {"of_tenant": record.tenant, "of_subject": record.subject, "of_owner": record.owner}
    if not tx.change(statements.set_health, {**values, **of}):
        tx.write(statements.insert_health, values)


def list_health(tx: Tx, tenant: str, limit: int) -> list[HealthRecord]:
    """`QuotaStore.list_health`."""
    rows = tx.rows(statements.list_health, {"tenant": tenant, "limit": limit})
    return [HealthRecord(**dict(zip(HealthRecord.__struct_fields__, row, strict=True))) for row in rows]
