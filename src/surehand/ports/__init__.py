"""Protocols that the edges implement and the pipeline uses."""

from .attendant import Attendant
from .clock import Clock, SystemClock
from .grants import GrantStore, NotLifted
from .resolver import AsStored, CallerResolver
from .runs import RunRecord, RunSave, RunStatus, RunStore, StoredEvent, TurnRecord
from .store import Ballot, Claim, Existing, Move, Store, StoredArtifact

__all__ = [
    "AsStored",
    "Attendant",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "Existing",
    "GrantStore",
    "Move",
    "NotLifted",
    "RunRecord",
    "RunSave",
    "RunStatus",
    "RunStore",
    "Store",
    "StoredArtifact",
    "StoredEvent",
    "SystemClock",
    "TurnRecord",
]
