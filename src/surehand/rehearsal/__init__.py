"""What policies would decide, without any call: rows of expected decisions, recorded calls, shadows. Runs nothing."""

from .change import Change, changes
from .final import RefusedError, final_arguments
from .replay import Replay, Replayed, replay_policies
from .rows import PolicyRow, RowResult, judge_rows, read_rows
from .shadow import ShadowCount, ShadowReport, shadow_report

__all__ = [
    "Change",
    "PolicyRow",
    "RefusedError",
    "Replay",
    "Replayed",
    "RowResult",
    "ShadowCount",
    "ShadowReport",
    "changes",
    "final_arguments",
    "judge_rows",
    "read_rows",
    "replay_policies",
    "shadow_report",
]
