"""The face of it all: one object that takes calls and answers for them."""

from .approvals import Approvals
from .deputies import Deputy
from .engine import Engine
from .grants import Grantee, GrantInfo, Grants
from .limits import LimitsInUse, LimitUse
from .pending import Pending
from .records import Artifacts, Audit
from .runs import RunInfo, Runs
from .sync import SyncEngine
from .unknown import Unknowns

__all__ = [
    "Approvals",
    "Artifacts",
    "Audit",
    "Deputy",
    "Engine",
    "GrantInfo",
    "Grantee",
    "Grants",
    "LimitUse",
    "LimitsInUse",
    "Pending",
    "RunInfo",
    "Runs",
    "SyncEngine",
    "Unknowns",
]
