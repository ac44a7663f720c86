"""Contracts of tools: what they are called, take, give, and may do."""

from .bind import bind_tool, raw_tool
from .definition import Definition, Parameter, ParameterSchema
from .fields import SpecFields, ToolFields
from .function import tool
from .hashes import canonical_json, content_hash
from .injected import DATA_SOURCES, RUNTIME_SOURCES, Injected
from .sample import Sample, SampleKind
from .tool_spec import (
    FROM_CACHE,
    Check,
    Done,
    Evidence,
    Handler,
    HealthCheck,
    NotDone,
    Retry,
    StatusCheck,
    StillUnknown,
    Tool,
    ToolSpec,
)

__all__ = [
    "DATA_SOURCES",
    "FROM_CACHE",
    "RUNTIME_SOURCES",
    "Check",
    "Definition",
    "Done",
    "Evidence",
    "Handler",
    "HealthCheck",
    "Injected",
    "NotDone",
    "Parameter",
    "ParameterSchema",
    "Retry",
    "Sample",
    "SampleKind",
    "SpecFields",
    "StatusCheck",
    "StillUnknown",
    "Tool",
    "ToolFields",
    "ToolSpec",
    "bind_tool",
    "canonical_json",
    "content_hash",
    "raw_tool",
    "tool",
]
