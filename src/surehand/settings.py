"""Settings of one engine, and the project file that holds them. Read only in `compose`."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from .errors import ConfigError
from .limits import Budget, Limits, Quotas, Rate
from .limits.declared import read_limit
from .notify import NotifySettings
from .release.review_limits import ReviewLimits
from .schema import Strictness
from .sources.settings import SourceSettings, check_sources, read_sources
from .types import BUILTIN_ROLES, SELF, Caller, group_names
from .view import FILTER_TABLES, Filters, read_filters

Irreversible = Literal["ask", "deny"]
ReadOnlyRecords = Literal["after", "before"]

_MAX_FILE_CHARS = 4 * 1024 * 1024
_SHOWN_CHARS = 80
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "arguments": get_args(Strictness),
    "irreversible": get_args(Irreversible),
    "read_only_records": get_args(ReadOnlyRecords),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a project file can say. Paths are relative to the file.

    Raises:
        ConfigError: A value is of the wrong type, or none that the setting can have.
    """

    store: str = "sqlite:///surehand.db"
    """`sqlite:///FILE`, `sqlite://` (in memory) or `postgresql://...`."""
    policies: str | None = None
    """A folder of `*.cedar` files, or one file; without it only the built-in policies hold."""
    tools: tuple[str, ...] = ()
    """Modules whose `Tool` objects are registered."""
    interceptors: tuple[str, ...] = ()
    """`module:Name` of each interceptor, in order: an instance, or a class that takes no arguments."""
    keys: str | None = None
    """The key file; by default beside the SQLite file, else `surehand.keys`."""
    anchor: str | None = None
    """The audit's anchor; by default beside the key file."""
    approvers: str = "approver"
    """The role that built-in policies ask."""
    roles: tuple[str, ...] = ()
    """All roles that callers may have, those of the built-in policies aside: a policy that names another is refused.
    None: roles are not checked."""
    irreversible: Irreversible = "ask"
    """Whether calls that nobody can take back ask a person or are always denied."""
    arguments: Strictness = "exact"
    """What may be done to the arguments that models write. `strict`: nothing. `exact`: a value becomes what the schema
    declares where it can be only that, such as `"5"` 5. `lenient`: also, text that is no JSON may be spelled as Python
    spells it, with trailing commas and with line breaks in strings."""
    read_only_records: ReadOnlyRecords = "after"
    """`before`: a read-only result is returned only when its record is durable."""
    tenants: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Tenant -> the scopes that any of its callers can have at most. A tenant that is not named has no such limit."""
    limits: Limits = field(default_factory=Limits)
    notify: NotifySettings = field(default_factory=NotifySettings)
    """Whom to tell about questions that wait for people."""
    always: tuple[str, ...] = ()
    """Names of tools that a model is shown rather than others, where a view has more than `limits.view_tools`."""
    filters: Filters = field(default_factory=Filters)
    """In the file: the tables `agents`, `scenes`, `environments` and `run_states`."""
    budgets: tuple[Budget, ...] = ()
    """How much may be done; see `Budget`."""
    rates: tuple[Rate, ...] = ()
    """How fast; see `Rate`."""
    review: ReviewLimits = field(default_factory=ReviewLimits)
    """From when on `surehand tools review` tells a tool."""
    sources: Mapping[str, SourceSettings] = field(default_factory=dict[str, SourceSettings])
    """Where tools come from besides `tools`; see `SourceSettings`."""
    pins: str = "surehand.pins.toml"
    """The file of approved definitions; see `surehand.sources.pins`."""
    callers: Mapping[str, Caller] = field(default_factory=dict[str, Caller])
    """Who the command line may act as. A server authenticates its callers instead."""

    def __post_init__(self) -> None:
        self._check_texts()
        _check_role(self.approvers)
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} must be {' or '.join(map(repr, known))}, not {shown(getattr(self, name))}")
        parts = (("limits", Limits), ("notify", NotifySettings), ("filters", Filters), ("review", ReviewLimits))
        for name, kind in parts:
            if not isinstance(getattr(self, name), kind):
                raise ConfigError(f"{name} must be {kind.__name__}(...), not {shown(getattr(self, name))}")
        for name, kind in (("budgets", Budget), ("rates", Rate)):
            object.__setattr__(self, name, _declared(getattr(self, name), name, kind))
        Quotas(self.budgets, self.rates)  # refuses two of one name
        tenants = {name: _strings(scopes, f"tenants.{name}: scopes") for name, scopes in _items("tenants", self)}
        object.__setattr__(self, "tenants", tenants)
        object.__setattr__(self, "tools", tuple(_module(name) for name in _strings(self.tools, "tools")))
        for name in ("interceptors", "roles", "always"):
            object.__setattr__(self, name, _strings(getattr(self, name), name))
        for place in self.interceptors:
            _check_place(place)
        object.__setattr__(self, "sources", dict(_items("sources", self)))
        check_sources(self.sources)
        object.__setattr__(self, "callers", dict(_items("callers", self)))
        for name, caller in self.callers.items():
            _check_caller(name, caller, tenants)
            _check_roles(name, caller, self.roles, self.approvers)

    def _check_texts(self) -> None:
        for name in ("store", "approvers", "policies", "keys", "anchor", "pins"):
            if not (name in ("policies", "keys", "anchor") and getattr(self, name) is None):
                _text(getattr(self, name), name)

    @property
    def quotas(self) -> Quotas:
        """All budgets and rates."""
        return Quotas(self.budgets, self.rates)


def read_project(path: str | Path = "surehand.toml") -> tuple[Settings, Path]:
    """Reads a project file. `.callers` of the settings are those that the command line may act as.

    Returns:
        The settings, and the folder that their paths are relative to.

    Raises:
        ConfigError: The file is missing, is not TOML, or holds a name or value that is not known.
    """
    if not isinstance(path, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"a project file is named by its path, not by {shown(path)}")
    file = Path(path)
    text = _read(file)
    try:
        return _settings(tomllib.loads(text)), file.resolve().parent
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: nested too deeply; no setting is nested more than three times") from error
    except ValueError as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from error


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_MAX_FILE_CHARS + 1)
    except FileNotFoundError as error:
        raise ConfigError(f"there is no project file {file}; write one, or name the one that there is") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{file} is a folder; name the project file in it: {file / 'surehand.toml'}") from error
    except OSError as error:
        raise ConfigError(f"the project file {file} cannot be read ({error.strerror}); check its path") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{str(file)!r} cannot be the path of a project file: {error}") from error
    if len(text) > _MAX_FILE_CHARS:
        raise ConfigError(f"{file}: more than {_MAX_FILE_CHARS} characters; that is no project file")
    return text


def shown(value: object) -> str:
    """Any value in a message."""
    try:
        text = repr(value)
    except Exception:  # such as that of an int of more than 4300 digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: what is near it, else what there is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"


def _settings(data: dict[str, Any]) -> Settings:
    values = dict(data)
    parts = ("tenants", "limits", "callers", "audit", "notify", "review", "sources")
    tables = {name: _table(values.pop(name, {}), name) for name in parts}
    filters = {name: values.pop(name) for name in FILTER_TABLES if name in values}
    known = {*tables, *FILTER_TABLES, *(one.name for one in fields(Settings))} - {"read_only_records", "filters"}
    for name in values:
        if name not in known:
            raise ConfigError(f"there is no setting {name!r}; {did_you_mean(name, known)}")
    for name in ("tools", "interceptors", "roles", "always"):
        if not isinstance(values.get(name, []), list):
            raise ConfigError(f"{name} must be a list of strings, not {shown(values[name])}")
    values["read_only_records"] = _audit(tables["audit"])
    _check_names(tables["limits"], Limits, "limits")
    try:
        values["limits"] = Limits(**tables["limits"])
    except ConfigError as error:
        raise ConfigError(f"limits: {error}") from error
    _check_names(tables["notify"], NotifySettings, "notify")
    values["notify"] = NotifySettings(**tables["notify"])
    values["filters"] = read_filters(filters)
    for name, kind in (("budgets", Budget), ("rates", Rate)):
        values[name] = _limits(values.get(name, []), name, kind)
    _check_names(tables["review"], ReviewLimits, "review")
    values["review"] = ReviewLimits(**tables["review"])
    values["tenants"] = {name: _scopes(one, f"tenants.{name}") for name, one in tables["tenants"].items()}
    values["sources"] = read_sources(tables["sources"])
    values["callers"] = {name: _caller(name, one) for name, one in tables["callers"].items()}
    return Settings(**values)


def _limits(tables: Any, where: str, kind: type[Any]) -> tuple[Any, ...]:
    if not isinstance(tables, list):
        raise ConfigError(f"{where} must be tables [[{where}]], not {shown(tables)}")
    found: list[Any] = []
    for number, table in enumerate(cast("list[Any]", tables), 1):
        try:
            found.append(read_limit(kind, _table(table, "each")))
        except ConfigError as error:
            raise ConfigError(f"{where}, number {number}: {error}") from error
    return tuple(found)


def _declared(value: Any, where: str, kind: type[Any]) -> tuple[Any, ...]:
    given = tuple(cast("list[Any]", value)) if isinstance(value, list | tuple) else (value,)
    for one in given:
        if not isinstance(one, kind):
            raise ConfigError(f"{where} must be a list of {kind.__name__}(...), not {shown(one)}")
    return given


def _audit(table: dict[str, Any]) -> Any:
    for name in table:
        if name != "read_only":
            raise ConfigError(f"audit has no setting {name!r}; {did_you_mean(name, ['read_only'])}")
    value, known = table.get("read_only", "after"), get_args(ReadOnlyRecords)
    if value not in known:
        raise ConfigError(f"audit.read_only must be {' or '.join(map(repr, known))}, not {shown(value)}")
    return value


def _scopes(table: Any, where: str) -> tuple[str, ...]:
    for name in _table(table, where):
        if name != "scopes":
            raise ConfigError(f"{where} has no setting {name!r}; {did_you_mean(name, ['scopes'])}")
    if "scopes" not in table:
        raise ConfigError(f"{where}: scopes is missing; write scopes = [...], the most that its callers can have")
    return _strings(table["scopes"], f"{where}: scopes")


def _caller(name: str, table: Any) -> Caller:
    where = f"callers.{name}"
    values: dict[str, Any] = {"id": name, **_table(table, where)}
    _check_names(values, Caller, where)
    if "tenant" not in values:
        raise ConfigError(f'{where}: tenant is missing; write tenant = "..."')
    for one in ("roles", "scopes"):
        if one in values:
            values[one] = _strings(values[one], f"{where}: {one}")
    try:
        return Caller(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {str(error).removeprefix('caller: ')}") from error


def _check_names(table: dict[str, Any], kind: type[Any], where: str) -> None:
    known = [one.name for one in fields(kind)]
    for name in table:
        if name not in known:
            raise ConfigError(f"{where} has no setting {name!r}; {did_you_mean(name, known)}")


def _check_caller(name: str, caller: object, tenants: Mapping[str, Any]) -> None:
    if not isinstance(caller, Caller):
        raise ConfigError(f"callers.{name} must be Caller(...), not {shown(caller)}")
    if tenants and caller.tenant not in tenants:
        raise ConfigError(
            f"callers.{name}: its tenant {caller.tenant!r} is not among the tenants ({', '.join(sorted(tenants))}), "
            f"so nothing would limit its scopes; add [tenants.{caller.tenant}], or correct the tenant"
        )


def _check_roles(name: str, caller: Caller, roles: tuple[str, ...], approvers: str) -> None:
    known = {*roles, approvers, *BUILTIN_ROLES}
    for role in caller.roles:
        if roles and role not in known:
            raise ConfigError(f"callers.{name}: there is no role {role!r} in roles; {did_you_mean(role, known)}")


def _check_role(name: str) -> None:
    try:
        if group_names(name) == (name,) and name != SELF:
            return
    except ValueError:
        pass
    raise ConfigError(f"approvers: {shown(name)} cannot approve for others; name a role, such as 'manager'")


def _check_place(place: str) -> None:
    module, colon, name = place.partition(":")
    if not colon or not name.isidentifier():
        raise ConfigError(f"interceptors: {place!r} must be 'module:Name', the name of a class or an instance")
    _module(module, "interceptors")


def _module(name: str, where: str = "tools") -> str:
    if _MODULE.fullmatch(name) and not name.endswith(".py"):
        return name
    meant = name.removesuffix(".py").strip("./").replace("/", ".").partition(":")[0]
    write = f"write {meant!r}" if _MODULE.fullmatch(meant) else "write it as in an import, such as 'desk.tools'"
    raise ConfigError(f"{where}: {name!r} is not the name of a module; {write}")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where} must be a string that is not empty, not {shown(value)}")
    if "\0" in value:
        raise ConfigError(f"{where} must not hold a NUL character")
    return value


def _strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where} must be a list of strings, not {shown(value)}")
    return tuple(_text(one, f"each of {where}") for one in cast("list[Any]", value))


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, not {shown(value)}")
    return cast("dict[str, Any]", value)


def _items(name: str, settings: Settings) -> Iterable[tuple[str, Any]]:
    value = getattr(settings, name)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a mapping from names, not {shown(value)}")
    pairs = cast("Mapping[Any, Any]", value).items()
    return [(_text(key, f"each name in {name}"), one) for key, one in pairs]
