"""Protocols that the edges implement and the pipeline uses."""

from .approvals import ApprovalStore, Delegation, Due, Revision
from .attendant import Attendant
from .clock import Clock, SystemClock
from .control import ControlChange, ControlRow, ControlStore, Moved
from .existing import Existing
from .grants import GrantStore, NotLifted
from .quotas import HealthRecord, HealthState, QuotaStore, ReadCharges
from .resolver import AsStored, CallerResolver
from .runs import RunRecord, RunSave, RunStatus, RunStore, StoredEvent, TurnRecord
from .sources import SourceState, SourceStatus
from .store import Ballot, Claim, Move, Store, StoredArtifact
from .undo import UndoStore

__all__ = [
    "ApprovalStore",
    "AsStored",
    "Attendant",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "ControlChange",
    "ControlRow",
    "ControlStore",
    "Delegation",
    "Due",
    "Existing",
    "GrantStore",
    "HealthRecord",
    "HealthState",
    "Move",
    "Moved",
    "NotLifted",
    "QuotaStore",
    "ReadCharges",
    "Revision",
    "RunRecord",
    "RunSave",
    "RunStatus",
    "RunStore",
    "SourceState",
    "SourceStatus",
    "Store",
    "StoredArtifact",
    "StoredEvent",
    "SystemClock",
    "TurnRecord",
    "UndoStore",
]
