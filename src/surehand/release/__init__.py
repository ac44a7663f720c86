"""Releases of tools: checks before a version is promoted, the difference to another one, the review of those in use.

Uses the engine from outside: what runs here goes through the same pipeline as every call.
"""

from .change import Change, Effect
from .check import check
from .diff import Diff, diff
from .promote import CheckedControl, Control
from .report import Report, Row, Verdict
from .samples import read_samples

__all__ = [
    "Change",
    "CheckedControl",
    "Control",
    "Diff",
    "Effect",
    "Report",
    "Row",
    "Verdict",
    "check",
    "diff",
    "read_samples",
]
