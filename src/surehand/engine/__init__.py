"""The face of it all: one object that takes calls and answers for them."""

from .approvals import Approvals, Pending
from .engine import Engine
from .grants import Grantee, GrantInfo, Grants
from .records import Artifacts, Audit
from .runs import RunInfo, Runs
from .sync import SyncEngine
from .unknown import Unknowns

__all__ = [
    "Approvals",
    "Artifacts",
    "Audit",
    "Engine",
    "GrantInfo",
    "Grantee",
    "Grants",
    "Pending",
    "RunInfo",
    "Runs",
    "SyncEngine",
    "Unknowns",
]
