"""Where the control plane has put a version: what is stored of it, whichever process registered its code."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import msgspec

from ..types import Stage
from .canary import Canary
from .catalog import Entry, Notice


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One version. What it was published as never changes; where it stands does."""

    contract_hash: str
    binding_hash: str
    """Of the code that was seen last."""
    stage: Stage
    removed: bool = False
    used: bool = False
    """Whether a call referred to it, so that not even a draft is overwritten."""
    use: str = ""
    """Of a deprecated one: what to use instead."""
    until: str = ""
    """Of a deprecated one: the day, as YYYY-MM-DD, until which it is there."""
    rollback: str = ""
    """The version that is to take over if this one fails, as named when it was promoted."""
    canary: Canary | None = None


def standing_of(entry: Entry) -> Standing:
    """What is stored of a version that is published for the first time."""
    spec = entry.tool.spec
    return Standing(
        contract_hash=spec.contract_hash,
        binding_hash=spec.binding_hash,
        stage="disabled" if entry.disabled else spec.stage,
        removed=entry.removed,
    )


def placed(entry: Entry, standing: Standing) -> Entry:
    """The entry as its standing says; itself if it says so already. Its schemas are not compiled again."""
    notice = Notice(use=standing.use, until=standing.until) if standing.stage == "deprecated" else None
    canary = standing.canary if standing.stage == "canary" else None
    disabled = standing.stage == "disabled"
    now = (entry.tool.spec.stage, entry.disabled, entry.removed, entry.notice, entry.canary)
    if now == (standing.stage, disabled, standing.removed, notice, canary):
        return entry
    tool, spec, made = copy.copy(entry.tool), copy.copy(entry.tool.spec), copy.copy(entry)
    object.__setattr__(spec, "stage", standing.stage)
    object.__setattr__(tool, "spec", spec)
    for name, value in (
        ("tool", tool),
        ("disabled", disabled),
        ("removed", standing.removed),
        ("notice", notice),
        ("canary", canary),
    ):
        object.__setattr__(made, name, value)
    return made


Standings = Mapping[tuple[str, str], Standing]
"""By `(name, version)`."""
