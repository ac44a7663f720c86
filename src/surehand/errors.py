"""Every error of the package: what a model reads (`ToolError`, a value) and what an application catches.

SurehandError
x ConfigError        settings, keys or a project file are wrong
x SpecError          a tool's contract is wrong
x RegistryError      a change of the registry is refused
x PolicyError        policies do not parse, validate or fit the tools
x ApprovalError      a decision is refused
x NotFoundError      there is no such call or artifact in the caller's tenant
x NotAllowedError    the caller may not do this
x StoreError         the database cannot be used
x AuditError         the record cannot be verified at all (verification itself returns findings)
x HandlerError       raised by a handler, with a meaning for the engine
  + BusinessError    the tool said no; its text is for the model; no effect happened
  + Unavailable      the request surely did not leave; no effect happened
  + OutcomeUnknown   the effect may or may not have happened
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Code = Literal[
    "TOOL_NOT_FOUND",
    "TOOL_ARGUMENT_INVALID",
    "ARGUMENTS_NOT_JSON",
    "ARGUMENTS_TRUNCATED",
    "POLICY_DENIED",
    "HOOK_BLOCKED",
    "APPROVAL_REJECTED",
    "APPROVAL_EXPIRED",
    "APPROVAL_STALE",
    "TOOL_UNAVAILABLE",
    "RATE_LIMITED",
    "BUDGET_EXCEEDED",
    "TOOL_DUPLICATE_REQUEST",
    "IDEMPOTENCY_CONFLICT",
    "TOOL_TIMEOUT",
    "TOOL_OUTCOME_UNKNOWN",
    "TOOL_BUSINESS_ERROR",
    "TOOL_ERROR",
    "TOOL_OUTPUT_INVALID",
    "CANCELLED",
]
"""The closed set of codes a result can carry."""

Recovery = Literal["model", "engine", "nobody"]
"""Who may try again: the model with other arguments, the engine as it stands, or nobody."""

RECOVERY: dict[Code, Recovery] = {
    "TOOL_NOT_FOUND": "model",
    "TOOL_ARGUMENT_INVALID": "model",
    "ARGUMENTS_NOT_JSON": "model",
    "ARGUMENTS_TRUNCATED": "model",
    "POLICY_DENIED": "nobody",
    "HOOK_BLOCKED": "nobody",
    "APPROVAL_REJECTED": "nobody",
    "APPROVAL_EXPIRED": "nobody",
    "APPROVAL_STALE": "model",
    "TOOL_UNAVAILABLE": "engine",
    "RATE_LIMITED": "engine",
    "BUDGET_EXCEEDED": "nobody",
    "TOOL_DUPLICATE_REQUEST": "nobody",
    "IDEMPOTENCY_CONFLICT": "nobody",
    "TOOL_TIMEOUT": "engine",
    "TOOL_OUTCOME_UNKNOWN": "nobody",
    "TOOL_BUSINESS_ERROR": "model",
    "TOOL_ERROR": "nobody",
    "TOOL_OUTPUT_INVALID": "nobody",
    "CANCELLED": "nobody",
}
"""For each code, who may try again."""


class ToolError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call did not give a result. A value, never raised."""

    code: Code
    message: str
    """What the model reads. Says what to do next; never holds a secret or an internal text."""
    retryable: bool
    """Whether the same call may be sent again unchanged. A corrected call is another call."""
    tool: str
    version: str | None = None
    details: dict[str, Any] = {}

    @property
    def recovery(self) -> Recovery:
        """Who may try again."""
        return RECOVERY[self.code]


def tool_error(code: Code, message: str, *, tool: str, version: str | None = None, **details: Any) -> ToolError:
    """A `ToolError` whose `retryable` follows from its code."""
    return ToolError(
        code=code,
        message=message,
        retryable=RECOVERY[code] == "engine",
        tool=tool,
        version=version,
        details=details,
    )


class SurehandError(Exception):
    """Base of all that this package raises."""


class ConfigError(SurehandError):
    """Settings, keys or a project file are wrong."""


class SpecError(SurehandError):
    """A tool's contract is wrong. The message names the tool, the field and what to write instead."""


class RegistryError(SurehandError):
    """A change of the registry is refused.

    Attributes:
        code: `name_empty`, `handler_missing`, `duplicate`, `not_found`, `in_use`, `alias_taken`, `not_attached`,
            `checks_failed`, `moved`.
        operation: The public method that refused, such as `register`.
    """

    def __init__(self, code: str, operation: str, message: str) -> None:
        super().__init__(f"{operation}: {message}")
        self.code = code
        self.operation = operation


class PolicyError(SurehandError):
    """Policies cannot be loaded.

    Attributes:
        problems: One line each: file or source, policy id, what is wrong.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("policies cannot be loaded:\n" + "\n".join(f"  - {p}" for p in problems))
        self.problems = problems


class ApprovalError(SurehandError):
    """A decision is refused; nothing changed.

    Attributes:
        code: `not_found`, `not_a_decision`, `already_decided`, `not_entitled`, `expired`, `mismatch`; of an edit, an
            answer or a delegation also `denied`, `invalid`, `conflict`, `unavailable`; of a grant `not_grantable`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotFoundError(SurehandError):
    """There is no such call or artifact in the caller's tenant. Another tenant's is not found either."""


class NotAllowedError(SurehandError):
    """Policy does not let the caller read or settle this."""


class StoreError(SurehandError):
    """The database cannot be used. Calls with effects are refused while this lasts."""


class SourceError(SurehandError):
    """A source of tools cannot be used; the message says why. It is tried again."""


class AuditError(SurehandError):
    """The record cannot be verified at all: no keys, no anchor, no store."""


class HandlerError(SurehandError):
    """Raised by a handler, with a meaning for the engine."""


class BusinessError(HandlerError):
    """The tool said no, before any effect. The model reads the message as it is.

    Args:
        message: For the model; put no secret in it.
        details: JSON values for `ToolError.details`.
    """

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}


class Unavailable(HandlerError):
    """The request surely did not leave, so no effect happened. May be retried where the contract allows."""


class OutcomeUnknown(HandlerError):
    """The request may have left. The call becomes `unknown` until evidence settles it."""
