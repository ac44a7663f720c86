"""Settings of one engine, and the project file that holds them. Read only in `compose`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast

from .errors import ConfigError
from .limits import Limits
from .types import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a project file can say. Paths are relative to the file."""

    store: str = "sqlite:///surehand.db"
    """`sqlite:///FILE`, `sqlite://` (in memory) or `postgresql://...`."""
    policies: str | None = None
    """A folder of `*.cedar` files, or one file; without it only the built-in policies hold."""
    tools: tuple[str, ...] = ()
    """Modules whose `Tool` objects are registered."""
    keys: str | None = None
    """The key file; by default beside the SQLite file, else `surehand.keys`."""
    anchor: str | None = None
    """The audit's anchor; by default beside the key file."""
    approvers: str = "approver"
    """The role that built-in policies ask."""
    irreversible: Literal["ask", "deny"] = "ask"
    """Whether calls that nobody can take back ask a person or are always denied."""
    read_only_records: Literal["after", "before"] = "after"
    """`before`: a read-only result is returned only when its record is durable."""
    tenants: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Tenant -> the scopes that any of its callers can have at most. A tenant that is not named has no such limit."""
    limits: Limits = field(default_factory=Limits)
    callers: Mapping[str, Caller] = field(default_factory=dict[str, Caller])
    """Who the command line may act as. A server authenticates its callers instead."""


def read_project(path: str | Path = "surehand.toml") -> tuple[Settings, Path]:
    """Reads a project file. `.callers` of the settings are those that the command line may act as.

    Returns:
        The settings, and the folder that their paths are relative to.

    Raises:
        ConfigError: The file is missing, is not TOML, or holds a name or value that is not known.
    """
    file = Path(path)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"there is no project file {file}; pass --project FILE") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from error
    return _settings(data, str(file)), file.resolve().parent


def _settings(data: dict[str, Any], where: str) -> Settings:
    known = {one.name for one in fields(Settings)} - {"tenants", "limits", "callers", "read_only_records"}
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name in ("tenants", "limits", "callers", "audit"):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: {name} must be a table")
        elif name not in known:
            raise ConfigError(f"{where}: there is no setting {name!r}; known are {', '.join(sorted(known))}")
        elif name == "tools":
            values[name] = _strings(value, f"{where}: tools")
        elif not isinstance(value, str):
            raise ConfigError(f"{where}: {name} must be a string, not {value!r}")
        else:
            values[name] = value
    values["limits"] = _table(Limits, data.get("limits", {}), f"{where}: limits")
    values["read_only_records"] = _audit(data.get("audit", {}), where)
    values["tenants"] = {
        name: _scopes(table, f"{where}: tenants.{name}") for name, table in data.get("tenants", {}).items()
    }
    values["callers"] = {
        name: _table(Caller, table, f"{where}: callers.{name}", id=name)
        for name, table in data.get("callers", {}).items()
    }
    return Settings(**values)


def _audit(table: dict[str, Any], where: str) -> str:
    unknown = set(table) - {"read_only"}
    if unknown:
        raise ConfigError(f"{where}: audit has no setting {sorted(unknown)[0]!r}; known is read_only")
    value = table.get("read_only", "after")
    if value not in ("after", "before"):
        raise ConfigError(f"{where}: audit.read_only must be 'after' or 'before', not {value!r}")
    return value


def _scopes(table: Any, where: str) -> tuple[str, ...]:
    if not isinstance(table, dict) or list(cast("dict[str, Any]", table)) != ["scopes"]:
        raise ConfigError(f"{where} must be a table with scopes = [...]")
    return _strings(table["scopes"], f"{where}: scopes")


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(cast("list[str]", value))


def _table(kind: Any, table: Any, where: str, **more: Any) -> Any:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, not {table!r}")
    try:
        return kind(**{**more, **cast("dict[str, Any]", table)})
    except TypeError as error:
        names = ", ".join(one.name for one in fields(kind))
        raise ConfigError(f"{where}: {error}; known are {names}") from error
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
