"""`SqlStore`: the port `Store` on one of the databases. Each method is one body on one lane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeVar

from ..approval import Approval, ApprovalStatus, Grant, Refused
from ..audit import AuditRow, Checkpoint
from ..call import Status
from ..ledger import CallRecord
from ..limits import Charge, Counter, Full, Held
from ..ports import (
    Ballot,
    Claim,
    ControlChange,
    ControlRow,
    Delegation,
    Due,
    Existing,
    HealthRecord,
    Move,
    Moved,
    NotLifted,
    ReadCharges,
    Revision,
    RunRecord,
    RunSave,
    RunStatus,
    StoredArtifact,
    StoredEvent,
    TurnRecord,
)
from . import approvals, audit, control, ledger, quotas, revisions, runs
from . import grants as standing
from .artifacts import get_artifact, put_artifacts
from .commit import commit_together, read_each
from .lane import Lane
from .schema import bring_up_to_date
from .settings import remember
from .tx import Driver, SchemaSession, Session, Tx
from .undo import undo_of

T = TypeVar("T")

MAX_BATCH = 256
"""Writes in one commit."""


class SqlStore:
    """See `ports.Store`. One writer, so that writes keep their order and share their commits."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._new_lanes()

    def _new_lanes(self) -> None:
        self._writer: Lane[SchemaSession] = Lane("surehand-writer", commit_together, most=MAX_BATCH)
        self._reader: Lane[Session] = Lane("surehand-reader", read_each, most=1)

    def _write(self, body: Callable[[Tx], T]) -> Awaitable[T]:
        return self._writer.submit(body)

    def _read(self, body: Callable[[Tx], T]) -> Awaitable[T]:
        return (self._reader if self._driver.readers else self._writer).submit(body)

    async def open(self) -> None:
        """See `ports.Store`. Opening an open store changes nothing; a closed one may be opened again."""
        if self._writer.is_open:
            return
        self._new_lanes()
        try:
            await self._writer.start(self._connect_writer)
            for _ in range(self._driver.readers):
                await self._reader.start(self._driver.reader)
        except BaseException:
            await self.close()
            raise

    def _connect_writer(self) -> SchemaSession:
        session = self._driver.writer()
        try:
            bring_up_to_date(session)
        except BaseException:
            session.close()
            raise
        return session

    async def close(self) -> None:
        """See `ports.Store`."""
        await self._writer.stop()
        await self._reader.stop()

    def claim(self, claim: Claim) -> Awaitable[Existing | Moved | None]:
        """See `ports.Store`."""
        return self._write(lambda tx: ledger.claim(tx, claim))

    def move(self, move: Move) -> Awaitable[bool]:
        """See `ports.Store`."""
        return self._write(lambda tx: ledger.move(tx, move))

    def vote(
        self, tenant: str, approval_id: str, decide: Callable[[Approval], Ballot | Refused]
    ) -> Awaitable[Ballot | Refused | None]:
        """See `ports.Store`."""
        return self._write(lambda tx: approvals.vote(tx, tenant, approval_id, decide))

    def record(self, rows: Sequence[AuditRow]) -> Awaitable[None]:
        """See `ports.Store`."""
        return self._write(lambda tx: audit.record(tx, rows))

    def put_artifacts(self, artifacts: Sequence[StoredArtifact]) -> Awaitable[None]:
        """See `ports.Store`."""
        return self._write(lambda tx: put_artifacts(tx, artifacts))

    async def get_artifact(self, tenant: str, artifact_id: str) -> StoredArtifact | None:
        """See `ports.Store`."""
        return await self._read(lambda tx: get_artifact(tx, tenant, artifact_id))

    async def get_call(self, tenant: str, call_id: str) -> CallRecord | None:
        """See `ports.Store`."""
        return await self._read(lambda tx: ledger.get_call(tx, tenant, call_id))

    async def undo_of(self, tenant: str, call_id: str) -> CallRecord | None:
        """See `ports.UndoStore`."""
        return await self._read(lambda tx: undo_of(tx, tenant, call_id))

    async def list_calls(
        self, tenant: str, *, statuses: Sequence[Status] = (), run_id: str | None = None, limit: int = 100
    ) -> list[CallRecord]:
        """See `ports.Store`."""
        return await self._read(lambda tx: ledger.list_calls(tx, tenant, statuses, run_id, limit))

    async def get_approval(self, tenant: str, approval_id: str) -> Approval | None:
        """See `ports.Store`."""
        return await self._read(lambda tx: approvals.get_approval(tx, tenant, approval_id))

    async def list_approvals(
        self, tenant: str, *, statuses: Sequence[ApprovalStatus] = (), limit: int = 100
    ) -> list[Approval]:
        """See `ports.Store`."""
        return await self._read(lambda tx: approvals.list_approvals(tx, tenant, statuses, limit))

    async def expired_approvals(self, now_us: int, *, limit: int = 100) -> list[Approval]:
        """See `ports.Store`."""
        return await self._read(lambda tx: approvals.expired_approvals(tx, now_us, limit))

    def beat(self, owner: str, now_us: int) -> Awaitable[None]:
        """See `ports.Store`."""
        return self._write(lambda tx: ledger.beat(tx, owner, now_us))

    async def silence(self, owner: str, *, now_us: int) -> int | None:
        """See `ports.Store`."""
        return await self._read(lambda tx: ledger.silence(tx, owner, now_us))

    async def orphans(self, *, now_us: int, silent_us: int, limit: int = 100) -> list[CallRecord]:
        """See `ports.Store`."""
        return await self._read(lambda tx: ledger.orphans(tx, now_us, silent_us, limit))

    async def running_of(self, owner: str, *, limit: int = 100) -> list[CallRecord]:
        """See `ports.Store`."""
        return await self._read(lambda tx: ledger.running_of(tx, owner, limit))

    async def count_open_approvals(self, tenant: str) -> int:
        """See `ports.Store`."""
        return await self._read(lambda tx: approvals.count_open_approvals(tx, tenant))

    def remember(self, name: str, value: str) -> Awaitable[str]:
        """See `ports.Store`."""
        return self._write(lambda tx: remember(tx, name, value))

    async def list_audit(
        self,
        tenant: str,
        *,
        call_id: str | None = None,
        after_seq: int | None = None,
        order: Literal["time", "chain"] = "time",
        limit: int = 1000,
    ) -> list[AuditRow]:
        """See `ports.Store`."""
        return await self._read(lambda tx: audit.list_audit(tx, tenant, call_id, after_seq, order, limit))

    async def unsealed(self, tenant: str) -> list[AuditRow]:
        """See `ports.Store`."""
        return await self._read(lambda tx: audit.unsealed(tx, tenant))

    async def tenants(self, *, unsealed: bool = False) -> list[str]:
        """See `ports.Store`."""
        return await self._read(lambda tx: audit.tenants(tx, unsealed))

    async def seal(
        self,
        tenant: str,
        link: Callable[[str, int, str], str],
        sign: Callable[[int, str], Checkpoint],
        *,
        limit: int = 1000,
    ) -> Checkpoint | None:
        """See `ports.Store`."""
        return await self._write(lambda tx: audit.seal(tx, tenant, link, sign, limit))

    async def checkpoints(self, tenant: str, *, after_seq: int = 0) -> list[Checkpoint]:
        """See `ports.Store`."""
        return await self._read(lambda tx: audit.checkpoints(tx, tenant, after_seq))

    def create_run(self, record: RunRecord) -> Awaitable[bool]:
        """See `ports.RunStore`."""
        return self._write(lambda tx: runs.create_run(tx, record))

    def take_run(
        self, tenant: str, run_id: str, owner: str, *, now_us: int, silent_us: int
    ) -> Awaitable[RunRecord | None]:
        """See `ports.RunStore`."""
        return self._write(lambda tx: runs.take_run(tx, tenant, run_id, owner, now_us, silent_us))

    def save_run(self, save: RunSave) -> Awaitable[bool]:
        """See `ports.RunStore`."""
        return self._write(lambda tx: runs.save_run(tx, save))

    def cancel_run(self, tenant: str, run_id: str, now_us: int) -> Awaitable[bool]:
        """See `ports.RunStore`."""
        return self._write(lambda tx: runs.cancel_run(tx, tenant, run_id, now_us))

    async def undriven_stops(self, *, now_us: int, silent_us: int, limit: int = 100) -> list[RunRecord]:
        """See `ports.RunStore`."""
        return await self._read(lambda tx: runs.undriven_stops(tx, now_us, silent_us, limit))

    async def get_run(self, tenant: str, run_id: str) -> RunRecord | None:
        """See `ports.RunStore`."""
        return await self._read(lambda tx: runs.get_run(tx, tenant, run_id))

    async def list_runs(self, tenant: str, *, statuses: Sequence[RunStatus] = (), limit: int = 100) -> list[RunRecord]:
        """See `ports.RunStore`."""
        return await self._read(lambda tx: runs.list_runs(tx, tenant, statuses, limit))

    async def list_turns(self, tenant: str, run_id: str) -> list[TurnRecord]:
        """See `ports.RunStore`."""
        return await self._read(lambda tx: runs.list_turns(tx, tenant, run_id))

    async def list_run_events(
        self, tenant: str, run_id: str, *, after_seq: int = 0, limit: int = 1000
    ) -> list[StoredEvent]:
        """See `ports.RunStore`."""
        return await self._read(lambda tx: runs.list_run_events(tx, tenant, run_id, after_seq, limit))

    def add_grant(self, grant: Grant, *, most: int, audit: AuditRow) -> Awaitable[bool]:
        """See `ports.GrantStore`."""
        return self._write(lambda tx: standing.add_grant(tx, grant, most, audit))

    def revoke_grant(self, tenant: str, grant_id: str, *, by: str, now_us: int, audit: AuditRow) -> Awaitable[bool]:
        """See `ports.GrantStore`."""
        return self._write(lambda tx: standing.revoke_grant(tx, tenant, grant_id, by, now_us, audit))

    async def get_grant(self, tenant: str, grant_id: str) -> Grant | None:
        """See `ports.GrantStore`."""
        return await self._read(lambda tx: standing.get_grant(tx, tenant, grant_id))

    async def list_grants(self, tenant: str, *, limit: int = 100) -> list[Grant]:
        """See `ports.GrantStore`."""
        return await self._read(lambda tx: standing.list_grants(tx, tenant, limit))

    async def open_grants(
        self, tenant: str, caller: str, name: str, version: str, *, now_us: int, limit: int = 100
    ) -> list[Grant]:
        """See `ports.GrantStore`."""
        return await self._read(lambda tx: standing.open_grants(tx, tenant, caller, name, version, now_us, limit))

    def revise(self, revision: Revision) -> Awaitable[Existing | Full | bool]:
        """See `ports.ApprovalStore`."""
        return self._write(lambda tx: revisions.revise(tx, revision))

    def delegate(self, delegation: Delegation, audit: Sequence[AuditRow], *, most: int) -> Awaitable[bool]:
        """See `ports.ApprovalStore`."""
        return self._write(lambda tx: revisions.delegate(tx, delegation, audit, most))

    def undelegate(self, tenant: str, delegation_id: str, principal: str, audit: Sequence[AuditRow]) -> Awaitable[bool]:
        """See `ports.ApprovalStore`."""
        return self._write(lambda tx: revisions.undelegate(tx, tenant, delegation_id, principal, audit))

    async def list_delegations(
        self, tenant: str, person: str, side: Literal["principal", "deputy"], *, now_us: int, limit: int = 1000
    ) -> list[Delegation]:
        """See `ports.ApprovalStore`."""
        return await self._read(lambda tx: revisions.list_delegations(tx, tenant, person, side, now_us, limit))

    async def due_approvals(self, due: Due, *, before_us: int, limit: int = 100) -> list[Approval]:
        """See `ports.ApprovalStore`."""
        return await self._read(lambda tx: revisions.due_approvals(tx, due, before_us, limit))

    def note_due(
        self, tenant: str, approval_id: str, due: Due, *, at_us: int, audit: Sequence[AuditRow]
    ) -> Awaitable[bool]:
        """See `ports.ApprovalStore`."""
        return self._write(lambda tx: revisions.note_due(tx, tenant, approval_id, due, at_us, audit))

    def claim_within(
        self, claim: Claim, charges: Sequence[Charge] = (), *, grants: Sequence[str] = ()
    ) -> Awaitable[Existing | NotLifted | Full | Moved | None]:
        """See `ports.Store`."""
        return self._write(lambda tx: ledger.claim_within(tx, claim, charges, grants))

    def move_within(self, move: Move, charges: Sequence[Charge]) -> Awaitable[bool | Full]:
        """See `ports.Store`."""
        return self._write(lambda tx: ledger.move_within(tx, move, charges))

    def charge_read(self, read: ReadCharges) -> Awaitable[Full | None]:
        """See `ports.QuotaStore`."""
        return self._write(lambda tx: quotas.charge_read(tx, read))

    def end_read(self, tenant: str, call_id: str, *, spent: bool) -> Awaitable[None]:
        """See `ports.QuotaStore`."""
        return self._write(lambda tx: quotas.end_read(tx, tenant, call_id, spent=spent))

    async def open_reads(self, owner: str, *, now_us: int, silent_us: int, limit: int = 100) -> list[tuple[str, str]]:
        """See `ports.QuotaStore`."""
        return await self._read(lambda tx: quotas.open_reads(tx, owner, now_us, silent_us, limit))

    async def list_counters(self, tenant: str, *, limit: int = 1000) -> list[Counter]:
        """See `ports.QuotaStore`."""
        return await self._read(lambda tx: quotas.list_counters(tx, tenant, limit))

    async def held_by(self, tenant: str, call_id: str) -> list[Held]:
        """See `ports.QuotaStore`."""
        return await self._read(lambda tx: quotas.held_by(tx, tenant, call_id))

    def note_health(self, record: HealthRecord) -> Awaitable[None]:
        """See `ports.QuotaStore`."""
        return self._write(lambda tx: quotas.note_health(tx, record))

    async def list_health(self, tenant: str, *, limit: int = 1000) -> list[HealthRecord]:
        """See `ports.QuotaStore`."""
        return await self._read(lambda tx: quotas.list_health(tx, tenant, limit))

    def change_control(self, change: ControlChange) -> Awaitable[bool]:
        """See `ports.ControlStore`."""
        return self._write(lambda tx: control.change_control(tx, change))

    async def control_revision(self) -> int:
        """See `ports.ControlStore`."""
        return await self._read(control.revision)

    async def list_control(self, *, after: int = 0) -> list[ControlRow]:
        """See `ports.ControlStore`."""
        return await self._read(lambda tx: control.list_control(tx, after))

    async def control_history(
        self, *, kind: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[ControlRow]:
        """See `ports.ControlStore`."""
        return await self._read(lambda tx: control.control_history(tx, kind, name, limit))
