"""Releases of tools: checks before a version is promoted, the difference to another one, the review of those in use.

Uses the engine from outside: what runs here goes through the same pipeline as every call.
"""

from .change import Change, Effect
from .check import check
from .diff import Diff, diff
from .promote import CheckedControl, Control
from .report import Report, Row, Verdict
from .review import Applied, Review, Task, apply_review, read_tasks, review, write_tasks
from .review_limits import ReviewLimits
from .samples import read_samples

__all__ = [
    "Applied",
    "Change",
    "CheckedControl",
    "Control",
    "Diff",
    "Effect",
    "Report",
    "Review",
    "ReviewLimits",
    "Row",
    "Task",
    "Verdict",
    "apply_review",
    "check",
    "diff",
    "read_samples",
    "read_tasks",
    "review",
    "write_tasks",
]
