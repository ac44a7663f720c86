"""The one place that knows the kinds of sources. Each is imported when a project names it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ..errors import ConfigError
from .keeper import Approve
from .settings import SourceSettings
from .source import Source


def make_source(name: str, settings: SourceSettings, folder: Path) -> tuple[Source, Approve]:
    """The source that a table of the project file describes, and whether its definitions have to be pinned.

    Args:
        name: What it is called.
        settings: Its table.
        folder: What paths are relative to.

    Raises:
        ConfigError: A field is missing, or does not belong to the kind.
    """
    match settings.kind:
        case "openapi":
            if find_spec("httpx2") is None or find_spec("yaml") is None:
                raise ConfigError(f"sources.{name}: install surehand[openapi], which reads descriptions and calls APIs")
            from .openapi.check import check

            check(name, settings)
            from .openapi import OpenAPISource

            pinned: Approve = settings.approve or ("pinned" if "://" in settings.document else "always")
            return OpenAPISource(name, settings, folder), pinned
        case "mcp":
            if find_spec("mcp") is None:
                raise ConfigError(f"sources.{name}: install surehand[mcp], which speaks to MCP servers")
            from .mcp import McpSource, check_settings

            check_settings(name, settings)
            return McpSource(name, settings, folder / settings.folder), settings.approve or "pinned"
