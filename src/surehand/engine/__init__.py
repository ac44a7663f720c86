"""The face of it all: one object that takes calls and answers for them."""

from .approvals import Approvals, Pending
from .control import Control, ControlRecord, PolicyVersion
from .engine import Engine
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
    "Engine",
    "Outcome",
    "Pending",
    "PolicyLoader",
    "PolicyVersion",
    "RunInfo",
    "Runs",
    "SyncEngine",
    "Unknowns",
]
