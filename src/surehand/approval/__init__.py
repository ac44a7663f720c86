"""A person's answer to one question, bound to exactly what will run. Pure."""

from .digest import digest
from .record import (
    Approval,
    ApprovalStatus,
    Counted,
    Progress,
    Refused,
    Shown,
    Verdict,
    Vote,
    count,
    is_met,
    progress,
    seats_of,
)

__all__ = [
    "Approval",
    "ApprovalStatus",
    "Counted",
    "Progress",
    "Refused",
    "Shown",
    "Verdict",
    "Vote",
    "count",
    "digest",
    "is_met",
    "progress",
    "seats_of",
]
