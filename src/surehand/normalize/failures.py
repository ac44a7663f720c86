"""What a model may read of a failure. Only a `BusinessError` speaks for itself; the rest is ours to word."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..errors import BusinessError, ToolError, tool_error
from ..redact import Redactor, clean_text
from ..spec import ToolSpec


def business(spec: ToolSpec, error: BusinessError, redactor: Redactor) -> ToolError:
    """The tool said no: its own words, without secrets and control characters."""
    message = redactor.text(clean_text(str(error))) or f"`{spec.name}` refused this call."
    details = cast("dict[str, Any]", redactor.value(error.details))
    said = tool_error("TOOL_BUSINESS_ERROR", message, tool=spec.name, version=spec.version)
    return msgspec.structs.replace(said, details=details)


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
    why = {
        "timeout": f"it did not answer within {spec.timeout_s:g} s (timeout)",
        "cancelled": "it was cancelled while it ran",
        "error": "it failed half-way",
        "lost": "its answer was lost",
        "crash": "the process that ran it died",
    }[cause]
    return tool_error(
        "TOOL_OUTCOME_UNKNOWN",
        f"Nobody knows yet whether `{spec.name}` had its effect: {why}. Do not call it again for this; it is "
        "looked into, and asking again returns this answer until it is known.",
        tool=spec.name,
        version=spec.version,
        cause=cause,
    )


def cancelled(spec: ToolSpec) -> ToolError:
    """The caller gave up and repeating is harmless."""
    return tool_error("CANCELLED", f"`{spec.name}` was cancelled.", tool=spec.name, version=spec.version)


def output_invalid(spec: ToolSpec, why: str) -> ToolError:
    """The effect happened; what came back could not be shown."""
    done = "" if spec.read_only else " Its effect has happened: do not call it again for this."
    return tool_error(
        "TOOL_OUTPUT_INVALID",
        f"`{spec.name}` ran, but its output was withheld: {why}.{done}",
        tool=spec.name,
        version=spec.version,
    )
