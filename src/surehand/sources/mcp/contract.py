"""What a server says of a tool, as a contract. Its hints are noted, and only raise what it may do."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ...errors import SpecError
from ...spec import ToolSpec
from ..settings import SourceSettings

if TYPE_CHECKING:
    import mcp_types as types

_MAX_DESCRIPTION_CHARS: Final = 20_000
_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")


def contract(
    tool: types.Tool, *, name: str, source: str, settings: SourceSettings, place: str, upstream: str
) -> ToolSpec:
    """The contract of one tool.

    Args:
        tool: As the server lists it.
        name: Ours.
        source: What the source is called.
        settings: Of the source.
        place: Where the server is, without secrets.
        upstream: What the tools of the source have in common, for their health.

    Raises:
        SpecError: It cannot be taken; the message says why.
    """
    description = tool.description or tool.title or tool.name
    if len(description) > _MAX_DESCRIPTION_CHARS:
        raise SpecError(f"its description has {len(description)} characters; at most {_MAX_DESCRIPTION_CHARS} are read")
    if tool.execution is not None and tool.execution.task_support == "required":
        raise SpecError("it can only be called as a task, which is not supported")
    read_only = matches(tool.name, settings.read_only)
    hints = tool.annotations
    destructive = hints is not None and hints.destructive_hint is True
    title = tool.title or (hints.title if hints is not None else None) or ""
    return ToolSpec(
        name=name,
        description=f"[MCP:{source}] {description}",
        display=f"[MCP:{source}] {title}".translate(_NO_FIELDS) if title.strip() else "",
        parameters=tool.input_schema,
        output_schema=tool.output_schema,
        risk="low" if read_only else "high" if destructive else "medium",
        read_only=read_only,
        permissions=settings.permissions,
        timeout_s=settings.timeout_s,
        tags=_tags(tool),
        source="mcp",
        target=f"{place}#{tool.name}",
        upstream=upstream,
    )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these, or fits a pattern such as `get_*`."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def wanted(name: str, settings: SourceSettings) -> bool:
    """Whether the operator wants this tool."""
    included = not settings.include or matches(name, settings.include)
    return included and not matches(name, settings.exclude)


_NO_FIELDS: Final = str.maketrans("{}", "()")
"""A title is no template: it would show people whatever it liked of the arguments."""


def _tags(tool: types.Tool) -> tuple[str, ...]:
    """The hints, for policies that want them: `hint:destructive=true`."""
    if tool.annotations is None:
        return ()
    said = {hint: getattr(tool.annotations, f"{hint}_hint") for hint in _HINTS}
    return tuple(f"hint:{hint}={str(value).lower()}" for hint, value in said.items() if isinstance(value, bool))
