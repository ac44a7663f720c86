"""The tamper-evident record: rows, the chain over them, its anchor outside the database, and verification.

Never reads a database: rows are handed in. Only `FileAnchor` touches a file.
"""

from .anchor import Anchor, Anchored, FileAnchor, MemoryAnchor
from .chain import checkpoint, is_signed, link
from .record import AuditRow, Checkpoint, Kind, audit_row
from .story import Answer, CallStory, Granted, Step, explain_call
from .verify import Finding, FindingKind, Report, Verification, verify

__all__ = [
    "Anchor",
    "Anchored",
    "Answer",
    "AuditRow",
    "CallStory",
    "Checkpoint",
    "FileAnchor",
    "Finding",
    "FindingKind",
    "Granted",
    "Kind",
    "MemoryAnchor",
    "Report",
    "Step",
    "Verification",
    "audit_row",
    "checkpoint",
    "explain_call",
    "is_signed",
    "link",
    "verify",
]
