"""`ApprovalStore`: edits, deputies, and what was told of questions. Part of `Store`, with the same guarantees."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Literal, Protocol

import msgspec

from ..approval import Approval
from ..audit import AuditRow
from ..ledger import CallRecord
from ..limits import Charge, Full
from .existing import Existing

Due = Literal["reminder", "escalation"]
"""What is told of a question that nobody has decided, once each."""


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting call with other arguments, and the question about them: applies as a whole, or not at all."""

    approval_id: str
    """The question that it replaces. It must be open, about this call, and not past its time."""
    digest: str
    """Of that question, as the editor saw it: part of the condition."""
    record: CallRecord
    """The call as it becomes: `waiting`, or `ready` if the editor's own yes is enough."""
    approval: Approval
    """The new question, with the editor's vote if it counts."""
    charges: tuple[Charge, ...] = ()
    """What the call takes of budgets with these arguments, in the place of what it took."""
    audit: tuple[AuditRow, ...]
    now_us: int


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """Who may answer in whose place, until when."""

    delegation_id: str
    tenant: str
    principal: str
    deputy: str
    created_us: int
    until_us: int
    body: bytes
    """Sealed: the same, and the principal as authenticated."""


class ApprovalStore(Protocol):
    """See the module."""

    def revise(self, revision: Revision) -> Awaitable[Existing | Full | bool]:
        """Whether the condition held and the change was made; or why not.

        That is the other call that has the new key, or is unknown, or the budget that has no room.

        The call keeps its former key for the repeats of its own place in a run; to any other claim that key is free.
        """
        ...

    def delegate(self, delegation: Delegation, audit: Sequence[AuditRow], *, most: int) -> Awaitable[bool]:
        """Keeps it; forgets those of the tenant that are over by `created_us`. `False`: the principal has `most`."""
        ...

    def undelegate(self, tenant: str, delegation_id: str, principal: str, audit: Sequence[AuditRow]) -> Awaitable[bool]:
        """Ends one of a principal's; `False` if there is none."""
        ...

    async def list_delegations(
        self, tenant: str, person: str, side: Literal["principal", "deputy"], *, now_us: int, limit: int = 1000
    ) -> list[Delegation]:
        """Those that hold now and of which somebody is that side, oldest first."""
        ...

    async def due_approvals(self, due: Due, *, before_us: int, limit: int = 100) -> list[Approval]:
        """Of all tenants: open questions that were asked by then and of which this was not told, oldest first."""
        ...

    def note_due(
        self, tenant: str, approval_id: str, due: Due, *, at_us: int, audit: Sequence[AuditRow]
    ) -> Awaitable[bool]:
        """Whether it is told now for the first time, and the question is still open."""
        ...
