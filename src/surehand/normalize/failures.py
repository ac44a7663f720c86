"""What a model may read of a failure. Only a `BusinessError` speaks for itself; the rest is ours to word.

Where a tool may not be in the catalog any more, `unknown_of` and `output_withheld` make do with its name and version.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..errors import BusinessError, ToolError, tool_error
from ..redact import Redactor
from ..spec import ToolSpec
from .value import json_value

MESSAGE_CHARS = 4_000
"""Of a tool's own message."""
DETAILS_BYTES = 8_192
"""Of a tool's own details, as JSON."""
_DETAILS_NODES = 2_000


def business(spec: ToolSpec, error: BusinessError, redactor: Redactor) -> ToolError:
    """The tool said no: its own words, without secrets and control characters. Total, whatever the subclass does."""
    try:
        text = str(error)
    except Exception:  # a subclass of the user's may do anything when it is asked for its text
        text = ""
    message = redactor.polish(text, MESSAGE_CHARS) or f"`{spec.name}` refused this call."
    said = tool_error("TOOL_BUSINESS_ERROR", message, tool=spec.name, version=spec.version)
    return msgspec.structs.replace(said, details=_details(error, redactor))


def _details(error: BusinessError, redactor: Redactor) -> dict[str, Any]:
    """What a tool adds for programs: JSON values, bounded. Else a note that it was left out."""
    try:
        # Without `super().__init__()` there are none.
        given = getattr(error, "details", None)
        if given is None:
            return {}
        shown: Any = redactor.value(json_value(given, limit_nodes=_DETAILS_NODES, limit_bytes=DETAILS_BYTES))
        size = len(msgspec.json.encode(shown))
    except Exception:  # `json_value` words what it finds, and nobody reads that here
        return _left_out(f"they cannot be written as JSON of at most {DETAILS_BYTES} bytes")
    if not isinstance(shown, dict):
        return _left_out("they are not an object")
    if size > DETAILS_BYTES:
        return _left_out(f"they are larger than {DETAILS_BYTES} bytes")
    return cast("dict[str, Any]", shown)


def _left_out(why: str) -> dict[str, Any]:
    return {"note": f"the details were left out: {why}"}


def unavailable(spec: ToolSpec, why: str) -> ToolError:
    """Nothing was sent."""
    return tool_error(
        "TOOL_UNAVAILABLE",
        f"`{spec.name}` could not be reached; nothing was done. The same call may be tried again later.",
        tool=spec.name,
        version=spec.version,
        cause=why,
    )


def crashed(spec: ToolSpec, *, started: bool = True) -> ToolError:
    """The handler, or a check before it, raised something that is not for the model."""
    what = "failed with an internal error" if started else "could not be checked because of an internal error"
    return tool_error(
        "TOOL_ERROR",
        f"`{spec.name}` {what}; the details are in the operator's log. Do not repeat the call; report the failure.",
        tool=spec.name,
        version=spec.version,
    )


def timed_out(spec: ToolSpec) -> ToolError:
    """The deadline passed and repeating is harmless."""
    return tool_error(
        "TOOL_TIMEOUT",
        f"`{spec.name}` did not answer within {spec.timeout_s:g} s. The same call may be tried again.",
        tool=spec.name,
        version=spec.version,
        timeout_s=spec.timeout_s,
    )


def outcome_unknown(spec: ToolSpec, cause: str) -> ToolError:
    """The effect may have happened. `cause`: `timeout`, `cancelled`, `error`, `lost`, `crash`."""
    return unknown_of(spec.name, spec.version, cause, timeout_s=spec.timeout_s)


def unknown_of(name: str, version: str | None, cause: str, *, timeout_s: float | None = None) -> ToolError:
    """`outcome_unknown` of a tool that may not be in the catalog any more."""
    within = "in time" if timeout_s is None else f"within {timeout_s:g} s"
    why = {
        "timeout": f"it did not answer {within} (timeout)",
        "cancelled": "it was cancelled while it ran",
        "error": "it failed half-way",
        "crash": "the process that ran it died",
    }.get(cause, "its answer was lost")
    return tool_error(
        "TOOL_OUTCOME_UNKNOWN",
        f"Nobody knows yet whether `{name}` had its effect: {why}. Do not call it again for this; it is "
        "looked into, and asking again returns this answer until it is known.",
        tool=name,
        version=version,
        cause=cause,
    )


def cancelled(spec: ToolSpec) -> ToolError:
    """The caller gave up and repeating is harmless."""
    return cancelled_of(spec.name, spec.version)


def cancelled_of(name: str, version: str | None) -> ToolError:
    """`cancelled` of a tool that may not be in the catalog any more."""
    return tool_error("CANCELLED", f"`{name}` was cancelled.", tool=name, version=version)


def output_invalid(spec: ToolSpec, why: str) -> ToolError:
    """The effect happened; what came back could not be shown."""
    return output_withheld(spec.name, spec.version, why, read_only=spec.read_only)


def output_withheld(name: str, version: str | None, why: str, *, read_only: bool = False) -> ToolError:
    """`output_invalid` of a tool that may not be in the catalog any more: then its effect counts as one."""
    done = "" if read_only else " Its effect has happened: do not call it again for this."
    return tool_error(
        "TOOL_OUTPUT_INVALID",
        f"`{name}` ran, but its output was withheld: {why}.{done}",
        tool=name,
        version=version,
    )
