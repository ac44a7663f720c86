"""Surehand: the hand an agent acts with.

A model can name the tool it wants. Surehand makes that call safe, allowed, done once, and provable.
Names are imported when they are first used, so that `import surehand` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import AnthropicModel, Bounds, ModelFailure, OpenAIModel, RunEvent, parse_model, run
    from .approval import Approval
    from .call import Artifact, CallContext, RunStep, ToolCall, ToolResult, Tools
    from .compose import open_engine, open_project
    from .engine import Engine, Pending, RunInfo
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
    from .limits import Limits
    from .pipeline import AskPerson, Block, Interceptor, Modify, Proposed, Rewrite, Withhold
    from .policy import Allow, Ask, Decision, Deny, PolicySource
    from .ports import CallerResolver, Clock, Store
    from .provenance import Provenance
    from .providers import Export, Message, ModelTurn, SystemMessage, UserMessage, export
    from .registry import Catalog, Registry
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
        StillUnknown,
        Tool,
        ToolSpec,
        bind_tool,
        raw_tool,
        tool,
    )
    from .types import Attachment, Caller, Output, Requirement
    from .view import ToolView, ViewEntry

__version__ = "0.1.0"

_HOME = {
    "agent": ("AnthropicModel", "Bounds", "ModelFailure", "OpenAIModel", "RunEvent", "parse_model", "run"),
    "approval": ("Approval",),
    "call": ("Artifact", "CallContext", "RunStep", "ToolCall", "ToolResult", "Tools"),
    "compose": ("open_engine", "open_project"),
    "engine": ("Engine", "Pending", "RunInfo"),
    "errors": (
        "ApprovalError", "AuditError", "BusinessError", "ConfigError", "NotAllowedError", "NotFoundError",
        "OutcomeUnknown", "PolicyError", "RegistryError", "SpecError", "StoreError", "SurehandError", "ToolError",
        "Unavailable",
    ),
    "event": ("Event",),
    "limits": ("Limits",),
    "pipeline": ("AskPerson", "Block", "Interceptor", "Modify", "Proposed", "Rewrite", "Withhold"),
    "policy": ("Allow", "Ask", "Decision", "Deny", "PolicySource"),
    "ports": ("CallerResolver", "Clock", "Store"),
    "provenance": ("Provenance",),
    "providers": ("Export", "Message", "ModelTurn", "SystemMessage", "UserMessage", "export"),
    "registry": ("Catalog", "Registry"),
    "secrets": ("Secret",),
    "settings": ("Settings", "read_project"),
    "spec": (
        "Definition", "Done", "Injected", "NotDone", "Parameter", "ParameterSchema", "Retry", "StillUnknown", "Tool",
        "ToolSpec", "bind_tool", "raw_tool", "tool",
    ),
    "types": ("Attachment", "Caller", "Output", "Requirement"),
    "view": ("ToolView", "ViewEntry"),
}  # fmt: skip
"""Room -> the public names that live in it."""

_ROOM = {name: room for room, names in _HOME.items() for name in names}

__all__ = [
    "Allow", "AnthropicModel", "Approval", "ApprovalError", "Artifact", "Ask", "AskPerson", "Attachment",
    "AuditError", "Block", "Bounds", "BusinessError", "CallContext", "Caller", "CallerResolver", "Catalog", "Clock",
    "ConfigError", "Decision", "Definition", "Deny", "Done", "Engine", "Event", "Export", "Injected", "Interceptor",
    "Limits", "Message", "ModelFailure", "ModelTurn", "Modify", "NotAllowedError", "NotDone", "NotFoundError",
    "OpenAIModel", "OutcomeUnknown", "Output", "Parameter", "ParameterSchema", "Pending", "PolicyError",
    "PolicySource", "Proposed", "Provenance", "Registry", "RegistryError", "Requirement", "Retry", "Rewrite",
    "RunEvent", "RunInfo", "RunStep", "Secret", "Settings", "SpecError", "StillUnknown", "Store", "StoreError",
    "SurehandError", "SystemMessage", "Tool", "ToolCall", "ToolError", "ToolResult", "ToolSpec", "ToolView", "Tools",
    "Unavailable", "UserMessage", "ViewEntry", "Withhold", "bind_tool", "export", "open_engine", "open_project",
    "parse_model", "raw_tool", "read_project", "run", "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    room = _ROOM.get(name)
    if room is None:
        raise AttributeError(f"module 'surehand' has no attribute {name!r}")
    value = getattr(import_module(f".{room}", __name__), name)
    if room == "compose":
        # What opens engines may not know what drives runs, and `engine.runs.resume` needs it, if it is ever called.
        import_module(".engine", __name__).Runs.attach(_drive)
    globals()[name] = value
    return value


def _drive(*args: Any, **options: Any) -> Any:
    return __getattr__("run")(*args, **options)


def __dir__() -> list[str]:
    return sorted(__all__)
