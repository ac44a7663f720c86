"""Protocols that the edges implement and the pipeline uses."""

from .clock import Clock, SystemClock
from .resolver import AsStored, CallerResolver
from .store import Ballot, Claim, Existing, Move, Store, StoredArtifact

__all__ = [
    "AsStored",
    "Ballot",
    "CallerResolver",
    "Claim",
    "Clock",
    "Existing",
    "Move",
    "Store",
    "StoredArtifact",
    "SystemClock",
]
