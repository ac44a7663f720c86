"""A person's answer to one question, bound to exactly what will run, and standing answers. Pure."""

from .digest import digest
from .grant import Condition, Grant, Terms, conditions, is_bound_to, lifts, matches, may_lift
from .record import (
    Approval,
    ApprovalStatus,
    Counted,
    Progress,
    Refused,
    Shown,
    Verdict,
    Vote,
    asks,
    count,
    is_met,
    progress,
    seats_of,
)

__all__ = [
    "Approval",
    "ApprovalStatus",
    "Condition",
    "Counted",
    "Grant",
    "Progress",
    "Refused",
    "Shown",
    "Terms",
    "Verdict",
    "Vote",
    "asks",
    "conditions",
    "count",
    "digest",
    "is_bound_to",
    "is_met",
    "lifts",
    "matches",
    "may_lift",
    "progress",
    "seats_of",
]
