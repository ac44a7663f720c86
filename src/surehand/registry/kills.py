"""What operators have switched off, whoever calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..types import Caller

EVERYTHING = "everything"


def kill_name(*, tool: str = "", agent: str = "") -> str:
    """What is switched off, as the control plane names it."""
    return f"tool/{tool}" if tool else f"agent/{agent}" if agent else EVERYTHING


@dataclass(frozen=True, slots=True)
class Kills:
    """`(tenant or empty for all, name)` -> why."""

    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def of(self, caller: Caller, tool: str) -> str | None:
        """Why a call of a tool by a caller is off; `None` if it is not."""
        if not self.reasons:
            return None
        names = [EVERYTHING, f"tool/{tool}", *([f"agent/{caller.agent}"] if caller.agent else [])]
        for tenant in ("", caller.tenant):
            for name in names:
                if (tenant, name) in self.reasons:
                    what = "this tenant" if name == EVERYTHING and tenant else name.replace("/", " ")
                    return f"{what} is switched off: {self.reasons[tenant, name]}"
        return None
