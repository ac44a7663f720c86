"""`Store`: one database behind the ledger, approvals and audit. Every method is one transaction.

What every implementation guarantees (`surehand.testing.store_contract` checks it):

- A method either commits all that it was given or nothing, and raises `StoreError` when the database cannot
  be used. Nothing is held open between two calls.
- What returned is durable: it survives `kill -9` and a power cut. When a commit is cut off, so that nobody knows
  whether it took effect, that is a `StoreError` too.
- States change by conditional update: of several that race for one change, exactly one gets `True`.
- Each write starts when the method is called, not when it is awaited, and writes of one process happen in
  the order in which they were called. When too many wait, a write is refused at once with `StoreError`.
- Ids are unique: a second row under the same id is a `StoreError`.
- A row that cannot be read, because somebody damaged it, is left out of lists and takes nobody's place in them.
  Whatever needs that very row, such as `get_call`, is a `StoreError` that names it.
- Tenant is part of every condition: another tenant's id is not found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

import msgspec

from ..approval import Approval, ApprovalStatus, Counted, Refused
from ..audit import AuditRow, Checkpoint
from ..call import Artifact, Status
from ..ledger import CallRecord
from ..limits import Charge, Full
from .approvals import ApprovalStore
from .control import ControlStore, Moved
from .existing import Existing
from .grants import GrantStore, NotLifted
from .quotas import QuotaStore
from .runs import RunStore
from .undo import UndoStore


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A new call for the ledger. `record.status` is `waiting` (with `approval`), or `running`."""

    record: CallRecord
    approval: Approval | None = None
    audit: tuple[AuditRow, ...] = ()
    control: int | None = None
    """The revision of the control plane that it was decided with: part of the condition. `None`: whichever."""
    now_us: int


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A conditional change of one call: applies as a whole, or not at all.

    Fields that are `None` are left as they are.
    """

    tenant: str
    call_id: str
    expect: tuple[Status, ...]
    """The states from which this is allowed."""
    expect_owner: str | None = None
    expect_started_us: int | None = None
    """Which start is meant: a call may be started again after a start that failed."""
    to: Status
    owner: str | None = None
    release_owner: bool = False
    """Whether nobody runs it any more, not even a handler that was given up."""
    attempt: int | None = None
    outcome: bytes | None = None
    result: bytes | None = None
    error_code: str | None = None
    started_us: int | None = None
    finished_us: int | None = None
    key_expires_us: int | None = None
    contract_hash: str | None = None
    binding_hash: str | None = None
    release_key: bool = False
    """Whether the effect may be asked for again: it surely did not happen."""
    spent: bool = False
    """Whether a call that ends without holding its key may have done its work all the same: its budget is not given
    back."""
    approval: tuple[str, tuple[ApprovalStatus, ...], ApprovalStatus] | None = None
    """`(approval_id, expected states, new state)` of an approval of this call: part of the condition."""
    new_approval: Approval | None = None
    """Another question about the same call; becomes its approval."""
    new_digest: str | None = None
    control: int | None = None
    """As in `Claim`: if it is not the latest, nothing is changed."""
    audit: tuple[AuditRow, ...] = ()


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """What a counted vote changes besides the vote: the call's state, and the records of it."""

    counted: Counted
    move: Move | None
    audit: tuple[AuditRow, ...]


class StoredArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a result that is kept beside it."""

    artifact: Artifact
    tenant: str
    call_id: str
    body: bytes
    """Sealed."""


class Store(RunStore, ApprovalStore, GrantStore, QuotaStore, ControlStore, UndoStore, Protocol):
    """See the module for what is guaranteed."""

    async def open(self) -> None:
        """Connects and brings the schema up to date.

        Raises:
            StoreError: The database cannot be reached, or is newer than this package.
        """
        ...

    async def close(self) -> None:
        """Writes what was accepted, then disconnects. Safe to call twice."""
        ...

    def claim(self, claim: Claim) -> Awaitable[Existing | Moved | None]:
        """`None`: the call is now in the ledger and holds its key. Else nothing was written.

        In order: `Moved`, if `control` is not the latest revision; a call that holds `record.key` (unless
        `key_expires_us` of a finished one has passed: then the key moves to the new call); an `unknown` call of the
        same tenant, name and `args_hash`.
        """
        ...

    def move(self, move: Move) -> Awaitable[bool]:
        """Whether the condition held and the change was made."""
        ...

    def claim_within(
        self, claim: Claim, charges: Sequence[Charge] = (), *, grants: Sequence[str] = ()
    ) -> Awaitable[Existing | NotLifted | Full | Moved | None]:
        """As `claim`, if there is room for all charges, and if grants lift the call's question.

        Each grant, by id, is used once with the call. Nothing is written if one of them was revoked, is over or used
        up, or if a person rejected a call of the same requester, name and `args_hash`. However many race for a grant,
        it is never used more often than it says. A call that is already there takes and uses nothing.
        """
        ...

    def move_within(self, move: Move, charges: Sequence[Charge]) -> Awaitable[bool | Full]:
        """As `move`, if there is room for all charges.

        What the call has reserved of the same limit and scope with the same amount stays as it is; another amount
        replaces it.
        """
        ...

    def vote(
        self, tenant: str, approval_id: str, decide: Callable[[Approval], Ballot | Refused]
    ) -> Awaitable[Ballot | Refused | None]:
        """Counts one vote. `None`: no such approval. `decide` is pure and sees the approval with its votes, locked.

        A counted vote is stored, the approval takes `counted.status`, and `move` and `audit` commit with it. If the
        move's condition does not hold, nothing is stored and the vote is `Refused` as `already_decided`.
        `decide` may run more than once, in another thread; what it raises is raised here.
        """
        ...

    def record(self, rows: Sequence[AuditRow]) -> Awaitable[None]:
        """Appends audit rows. May be left unawaited: an accepted row is written within milliseconds."""
        ...

    def put_artifacts(self, artifacts: Sequence[StoredArtifact]) -> Awaitable[None]:
        """Keeps parts of a result."""
        ...

    async def get_artifact(self, tenant: str, artifact_id: str) -> StoredArtifact | None:
        """One part of a result."""
        ...

    async def get_call(self, tenant: str, call_id: str) -> CallRecord | None:
        """One call."""
        ...

    async def list_calls(
        self, tenant: str, *, statuses: Sequence[Status] = (), run_id: str | None = None, limit: int = 100
    ) -> list[CallRecord]:
        """Newest first; with `run_id` those of one run."""
        ...

    async def get_approval(self, tenant: str, approval_id: str) -> Approval | None:
        """One approval with its votes."""
        ...

    async def list_approvals(
        self, tenant: str, *, statuses: Sequence[ApprovalStatus] = (), limit: int = 100
    ) -> list[Approval]:
        """Oldest first, with their votes."""
        ...

    async def expired_approvals(self, now_us: int, *, limit: int = 100) -> list[Approval]:
        """Of all tenants: open or approved, not consumed, and past their time."""
        ...

    def beat(self, owner: str, now_us: int) -> Awaitable[None]:
        """Says that a process is alive.

        A database that several machines share takes its own time, here and wherever silence is measured, not `now_us`:
        the clocks of two machines differ.
        """
        ...

    async def silence(self, owner: str, *, now_us: int) -> int | None:
        """For how long a process has not said that it is alive, in microseconds; `None` if it never did."""
        ...

    async def orphans(self, *, now_us: int, silent_us: int, limit: int = 100) -> list[CallRecord]:
        """Of all tenants: running calls whose owner has been silent for at least that long, or never said anything."""
        ...

    async def running_of(self, owner: str, *, limit: int = 100) -> list[CallRecord]:
        """Of all tenants: running calls of one process, oldest first."""
        ...

    async def count_open_approvals(self, tenant: str) -> int:
        """How many questions of a tenant wait for people: open or approved, not consumed."""
        ...

    def remember(self, name: str, value: str) -> Awaitable[str]:
        """Keeps a value under a name, unless one is kept already, and gives the one that is."""
        ...

    async def list_audit(
        self,
        tenant: str,
        *,
        call_id: str | None = None,
        after_seq: int | None = None,
        order: Literal["time", "chain"] = "time",
        limit: int = 1000,
    ) -> list[AuditRow]:
        """`time`: newest first, or all of one call oldest first. `chain`: sealed rows by seq, from `after_seq`."""
        ...

    async def unsealed(self, tenant: str) -> list[AuditRow]:
        """Rows that are not in the chain yet, in the order in which they will be."""
        ...

    async def tenants(self, *, unsealed: bool = False) -> list[str]:
        """Tenants with audit rows; with `unsealed`, those with rows that are not in the chain yet."""
        ...

    async def seal(
        self,
        tenant: str,
        link: Callable[[str, int, str], str],
        sign: Callable[[int, str], Checkpoint],
        *,
        limit: int = 1000,
    ) -> Checkpoint | None:
        """Chains up to `limit` unsealed rows of one tenant and keeps a checkpoint; `None` if there were none.

        `link(previous chain hash, seq, row digest)` gives a row's chain hash; the first previous hash is the
        empty string. `sign(seq, chain hash)` makes the checkpoint. Both are pure. Two processes that seal at once
        never make a fork.
        """
        ...

    async def checkpoints(self, tenant: str, *, after_seq: int = 0) -> list[Checkpoint]:
        """All beyond a place in the chain, oldest first."""
        ...
