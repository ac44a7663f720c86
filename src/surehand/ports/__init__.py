"""Protocols that the edges implement and the pipeline uses."""

from .clock import Clock, SystemClock
from .resolver import AsStored, CallerResolver
from .runs import RunRecord, RunSave, RunStatus, RunStore, StoredEvent, TurnRecord
from .store import Ballot, Claim, Existing, Move, Store, StoredArtifact
from .undo import UndoStore

__all__ = [
    "AsStored",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "Existing",
    "Move",
    "RunRecord",
    "RunSave",
    "RunStatus",
    "RunStore",
    "Store",
    "StoredArtifact",
    "StoredEvent",
    "SystemClock",
    "TurnRecord",
    "UndoStore",
]
