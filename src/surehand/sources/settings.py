"""What a project file says of its sources: one table `[sources.NAME]` each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import msgspec

from ..errors import ConfigError

Kind = Literal["openapi", "mcp"]
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")


class SourceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source. Which fields count depends on the kind; one that does not is refused when the source is made."""

    kind: Kind
    approve: Literal["", "pinned", "always"] = ""
    """Whether its definitions have to be pinned before anybody sees them. By default those from another machine, and
    those of an MCP server wherever it runs: a program may be another one after its next update."""
    document: str = ""
    """`openapi`: the file or URL of the description."""
    url: str = ""
    """`openapi`: where the API is, if not where its description says; `mcp`: the server, by streamable HTTP."""
    command: tuple[str, ...] = ()
    """`mcp`: the server's program and its arguments, spoken to by stdio."""
    folder: str = ""
    """`mcp`: where the program runs; by default in the project's folder."""
    environment: tuple[str, ...] = ()
    """`mcp`: names of environment variables that the program gets, besides what any program needs."""
    headers: Mapping[str, str] = {}
    """Header -> name of the environment variable with its value."""
    credentials: Mapping[str, str] = {}
    """`openapi`: security scheme of the document -> name of the environment variable with its key or token."""
    include: tuple[str, ...] = ()
    """Operations or tools to take, by name or pattern such as `get_*`; all by default."""
    exclude: tuple[str, ...] = ()
    """Those to leave out."""
    read_only: tuple[str, ...] = ()
    """Operations or tools that only read, by name or pattern. `mcp`: what a server says of itself is not believed;
    `openapi`: besides those of GET and HEAD."""
    permissions: tuple[str, ...] = ()
    """Scopes that a caller needs for any of its tools."""
    timeout_s: float = 30.0
    """How long one call may take."""
    private: bool = False
    """Whether it may be at an address that is not public, such as `localhost`."""


def check_sources(sources: Mapping[str, object]) -> None:
    """Refuses what no source can be.

    Raises:
        ConfigError: A name or a value is not what it must be.
    """
    for name, source in sources.items():
        if not NAME.fullmatch(name):
            raise ConfigError(f"sources.{name}: a source is called by small letters, digits and _, such as 'shop'")
        if not isinstance(source, SourceSettings):
            raise ConfigError(f"sources.{name} must be SourceSettings(...), not {type(source).__name__}")
        if source.timeout_s <= 0:
            raise ConfigError(f"sources.{name}: timeout_s must be more than 0")


def read_sources(tables: object) -> dict[str, SourceSettings]:
    """The sources of a project file.

    Raises:
        ConfigError: A name or a field is not what it must be.
    """
    if not isinstance(tables, dict):
        raise ConfigError("sources must be tables [sources.NAME]")
    found: dict[str, SourceSettings] = {}
    for name, table in cast("dict[str, Any]", tables).items():
        try:
            found[name] = msgspec.convert(table, SourceSettings)
        except msgspec.ValidationError as error:
            raise ConfigError(f"sources.{name}: {error}") from error
    check_sources(found)
    return found
