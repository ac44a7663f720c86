"""Protocols that the edges implement and the pipeline uses."""

from .clock import Clock, SystemClock
from .control import ControlChange, ControlRow, ControlStore, Moved
from .resolver import AsStored, CallerResolver
from .runs import RunRecord, RunSave, RunStatus, RunStore, StoredEvent, TurnRecord
from .store import Ballot, Claim, Existing, Move, Store, StoredArtifact

__all__ = [
    "AsStored",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "ControlChange",
    "ControlRow",
    "ControlStore",
    "Existing",
    "Move",
    "Moved",
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
