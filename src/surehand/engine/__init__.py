"""The face of it all: one object that takes calls and answers for them."""

from .approvals import Approvals, Pending
from .engine import Engine
from .limits import LimitsInUse, LimitUse
from .records import Artifacts, Audit
from .runs import RunInfo, Runs
from .sync import SyncEngine
from .unknown import Unknowns

__all__ = [
    "Approvals",
    "Artifacts",
    "Audit",
    "Engine",
    "LimitUse",
    "LimitsInUse",
    "Pending",
    "RunInfo",
    "Runs",
    "SyncEngine",
    "Unknowns",
]
