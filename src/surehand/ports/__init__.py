"""Protocols that the edges implement and the pipeline uses."""

from .clock import Clock, SystemClock
from .quotas import HealthRecord, HealthState, QuotaStore, ReadCharges
from .resolver import AsStored, CallerResolver
from .runs import RunRecord, RunSave, RunStatus, RunStore, StoredEvent, TurnRecord
from .store import Ballot, Claim, Existing, Move, Store, StoredArtifact

__all__ = [
    "AsStored",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "Existing",
    "HealthRecord",
    "HealthState",
    "Move",
    "QuotaStore",
    "ReadCharges",
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
