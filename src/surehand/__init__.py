"""Surehand: the hand an agent acts with.

A model can name the tool it wants. Surehand makes that call safe, allowed, done once, and provable.
Names are imported when they are first used, so that `import surehand` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .lazy import lazily

if TYPE_CHECKING:
    from .agent import (
        AnthropicModel,
        BedrockModel,
        Bounds,
        CohereModel,
        GeminiModel,
        MistralModel,
        ModelFailure,
        OllamaModel,
        OpenAIModel,
        OpenAIResponsesModel,
        RunEvent,
        parse_model,
        run,
    )
    from .approval import Approval
    from .call import Artifact, CallContext, RunStep, ToolCall, ToolResult, Tools
    from .compose import open_engine, open_project, policy_rows
    from .engine import Deputy, Engine, Grantee, GrantInfo, LimitUse, Pending, RunInfo
    from .errors import (
        ApprovalError,
        AuditError,
        BusinessError,
        ConfigError,
        NotAllowedError,
        NotFoundError,
        OutcomeUnknown,
        PolicyError,
        RegistryError,
        SpecError,
        StoreError,
        SurehandError,
        ToolError,
        Unavailable,
    )
    from .event import Event
    from .limits import Budget, Limits, Rate
    from .lint import Finding, Portability, lint_tools, portability
    from .pipeline import AskPerson, Block, Interceptor, Modify, Proposed, Rewrite, Withhold
    from .policy import Allow, Ask, Decision, Deny, PolicySource, Shadow
    from .ports import CallerResolver, Clock, Store
    from .provenance import Provenance
    from .providers import (
        Choice,
        Export,
        Message,
        ModelTurn,
        Profile,
        SystemMessage,
        UserMessage,
        export,
        register_provider,
    )
    from .registry import Catalog, Registry
    from .rehearsal import Replay, RowResult, ShadowReport, replay_policies, shadow_report
    from .secrets import Secret
    from .settings import Settings, read_project
    from .spec import (
        Definition,
        Done,
        Injected,
        NotDone,
        Parameter,
        ParameterSchema,
        Retry,
        Sample,
        StillUnknown,
        Tool,
        ToolSpec,
        bind_tool,
        raw_tool,
        tool,
    )
    from .types import Attachment, Caller, Output, Requirement
    from .view import Filters, Hidden, ToolFilter, ToolView, ViewEntry

__version__ = "0.1.0"

_HOME = {
    "agent": (
        "AnthropicModel", "BedrockModel", "Bounds", "CohereModel", "GeminiModel", "MistralModel", "ModelFailure",
        "OllamaModel", "OpenAIModel", "OpenAIResponsesModel", "RunEvent", "parse_model", "run",
    ),
    "approval": ("Approval",),
    "call": ("Artifact", "CallContext", "RunStep", "ToolCall", "ToolResult", "Tools"),
    "compose": ("open_engine", "open_project", "policy_rows"),
    "engine": ("Deputy", "Engine", "GrantInfo", "Grantee", "LimitUse", "Pending", "RunInfo"),
    "errors": (
        "ApprovalError", "AuditError", "BusinessError", "ConfigError", "NotAllowedError", "NotFoundError",
        "OutcomeUnknown", "PolicyError", "RegistryError", "SpecError", "StoreError", "SurehandError", "ToolError",
        "Unavailable",
    ),
    "event": ("Event",),
    "limits": ("Budget", "Limits", "Rate"),
    "lint": ("Finding", "Portability", "lint_tools", "portability"),
    "pipeline": ("AskPerson", "Block", "Interceptor", "Modify", "Proposed", "Rewrite", "Withhold"),
    "policy": ("Allow", "Ask", "Decision", "Deny", "PolicySource", "Shadow"),
    "ports": ("CallerResolver", "Clock", "Store"),
    "provenance": ("Provenance",),
    "providers": (
        "Choice", "Export", "Message", "ModelTurn", "Profile", "SystemMessage", "UserMessage", "export",
        "register_provider",
    ),
    "registry": ("Catalog", "Registry"),
    "rehearsal": ("Replay", "RowResult", "ShadowReport", "replay_policies", "shadow_report"),
    "secrets": ("Secret",),
    "settings": ("Settings", "read_project"),
    "spec": (
        "Definition", "Done", "Injected", "NotDone", "Parameter", "ParameterSchema", "Retry", "Sample", "StillUnknown",
        "Tool", "ToolSpec", "bind_tool", "raw_tool", "tool",
    ),
    "types": ("Attachment", "Caller", "Output", "Requirement"),
    "view": ("Filters", "Hidden", "ToolFilter", "ToolView", "ViewEntry"),
}  # fmt: skip
"""Room -> the public names that live in it."""

__all__ = [
    "Allow", "AnthropicModel", "Approval", "ApprovalError", "Artifact", "Ask", "AskPerson", "Attachment",
    "AuditError", "BedrockModel", "Block", "Bounds", "Budget", "BusinessError", "CallContext", "Caller",
    "CallerResolver", "Catalog", "Choice", "Clock", "CohereModel", "ConfigError", "Decision", "Definition",
    "Deny", "Deputy", "Done", "Engine", "Event", "Export", "Filters", "Finding", "GeminiModel", "GrantInfo",
    "Grantee", "Hidden", "Injected", "Interceptor", "LimitUse", "Limits", "Message", "MistralModel",
    "ModelFailure", "ModelTurn", "Modify", "NotAllowedError", "NotDone", "NotFoundError", "OllamaModel",
    "OpenAIModel", "OpenAIResponsesModel", "OutcomeUnknown", "Output", "Parameter", "ParameterSchema", "Pending",
    "PolicyError", "PolicySource", "Portability", "Profile", "Proposed", "Provenance", "Rate", "Registry",
    "RegistryError", "Replay", "Requirement", "Retry", "Rewrite", "RowResult", "RunEvent", "RunInfo", "RunStep",
    "Sample", "Secret", "Settings", "Shadow", "ShadowReport", "SpecError", "StillUnknown", "Store", "StoreError",
    "SurehandError", "SystemMessage", "Tool", "ToolCall", "ToolError", "ToolFilter", "ToolResult", "ToolSpec",
    "ToolView", "Tools", "Unavailable", "UserMessage", "ViewEntry", "Withhold", "bind_tool", "export",
    "lint_tools", "open_engine", "open_project", "parse_model", "policy_rows", "portability", "raw_tool",
    "read_project", "register_provider", "replay_policies", "run", "shadow_report", "tool",
]  # fmt: skip


_find = lazily(__name__, _HOME)


def __getattr__(name: str) -> Any:
    value = _find(name)
    if name in ("open_engine", "open_project"):
        # What opens engines may not know what drives runs, and `engine.runs.resume` needs it, if it is ever called.
        import_module(".engine", __name__).Runs.attach(_drive)
    return value


def _drive(*args: Any, **options: Any) -> Any:
    return _find("run")(*args, **options)


def __dir__() -> list[str]:
    return sorted(__all__)
