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
        case "mcp":
            _require("mcp", name, extra="mcp")
            from .mcp import McpSource, check

            check(name, settings)
            return McpSource(name, settings, folder), settings.approve or "pinned"
        case _:
            raise ConfigError(f"sources.{name}: there is no kind {settings.kind!r} yet")


def _require(library: str, name: str, *, extra: str) -> None:
    if find_spec(library) is None:
        raise ConfigError(f"sources.{name}: the library {library!r} is missing; install surehand[{extra}]")
