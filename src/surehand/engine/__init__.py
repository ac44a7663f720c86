"""The face of it all: one object that takes calls and answers for them."""

from .approvals import Approvals
from .control import Control, ControlRecord, PolicyVersion
from .deputies import Deputy
from .engine import Engine
from .grants import Grantee, GrantInfo, Grants
from .limits import LimitsInUse, LimitUse
from .pending import Pending
from .records import Artifacts, Audit
from .requests import Outcome
from .runs import RunInfo, Runs
from .sync import SyncEngine
from .unknown import Unknowns
from .worlds import PolicyLoader

__all__ = [
    "Approvals",
    "Artifacts",
    "Audit",
    "Control",
    "ControlRecord",
    "Deputy",
    "Engine",
    "GrantInfo",
    "Grantee",
    "Grants",
    "LimitUse",
    "LimitsInUse",
    "Outcome",
    "Pending",
    "PolicyLoader",
    "PolicyVersion",
    "RunInfo",
    "Runs",
    "SyncEngine",
    "Unknowns",
]
