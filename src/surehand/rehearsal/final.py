"""The arguments of a call as policies read them, without making the call."""

from __future__ import annotations

from typing import Any

from ..pipeline.enrich import caller_value
from ..pipeline.validate import Wrong, complete
from ..registry import Entry
from ..schema import Strictness
from ..spec import DATA_SOURCES
from ..types import Caller


class RefusedError(Exception):
    """The arguments are refused before any policy is asked. The message says why."""


def final_arguments(
    entry: Entry, caller: Caller, written: dict[str, Any], *, strictness: Strictness = "exact"
) -> dict[str, Any]:
    """Checked, complete, and with what comes from the caller.

    Interceptors and the tool's own `check=` are not run.

    Raises:
        RefusedError: The tool does not take these.
    """
    completed = complete(entry, written, strictness)
    if isinstance(completed, Wrong):
        raise RefusedError("; ".join(completed.lines))
    arguments, _ = completed
    return {**arguments, **injected(entry, caller)}


def injected(entry: Entry, caller: Caller) -> dict[str, str]:
    """What the model does not write."""
    sources = entry.tool.spec.injected.items()
    return {name: caller_value(caller, source) for name, source in sources if source in DATA_SOURCES}
