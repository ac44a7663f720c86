"""A person's answer to one question, bound to exactly what will run. Pure."""

from .digest import digest
from .record import Approval, ApprovalStatus, Counted, Refused, Shown, Verdict, Vote, count, is_met

__all__ = [
    "Approval",
    "ApprovalStatus",
    "Counted",
    "Refused",
    "Shown",
    "Verdict",
    "Vote",
    "count",
    "digest",
    "is_met",
]
