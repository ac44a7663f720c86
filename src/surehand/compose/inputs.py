"""What `open_engine` takes, checked: each refusal names the argument, says what is wrong with it, and what to write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from ..errors import ConfigError
from ..pipeline import Interceptor
from ..policy import PolicySource, read_policies
from ..registry import Catalog
from ..settings import Settings, shown
from ..spec import Definition, Tool, ToolSpec

T = TypeVar("T")

PolicyArgument: TypeAlias = "str | Path | Sequence[PolicySource] | None"
"""A folder of `*.cedar` files, one file, or sources."""


def instance(name: str, value: T | None, kind: type[T], write: str) -> T | None:
    """The value, if it is of its kind or left out.

    Raises:
        ConfigError: It is something else.
    """
    if value is not None and not isinstance(value, kind):
        raise ConfigError(f"{name} must be {write}, not {shown(value)}")
    return value


def require_methods(name: str, value: object, *methods: str) -> None:
    """Checks that an object of the user's own can do what is asked of it, so far as its methods tell.

    Raises:
        ConfigError: It is a class, or lacks a method.
    """
    if value is None:
        return
    if isinstance(value, type):
        raise ConfigError(f"{name} is the class {value.__name__}; pass an instance: {value.__name__}(...)")
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise ConfigError(f"{name} must have the method {method}, which {shown(value)} lacks")


def as_tools(value: Iterable[Tool]) -> list[Tool]:
    """The tools, in a list.

    Raises:
        ConfigError: It is one tool, or holds something else.
    """
    tools = _list("tools", value, Tool, "tools made with @sh.tool, such as tools=[refund]")
    for tool in tools:
        if isinstance(tool, Tool):
            continue
        if isinstance(tool, ToolSpec | Definition):
            raise ConfigError(f"tools: {tool.name!r} is a contract without a handler; bind one with sh.bind_tool")
        if isinstance(tool, str):
            raise ConfigError(f"tools: {shown(tool)} is a string; modules are named in sh.Settings(tools=[...])")
        advice = "; decorate it with @sh.tool" if callable(tool) and not isinstance(tool, type) else ""
        named = repr(getattr(tool, "__name__")) if advice and hasattr(tool, "__name__") else shown(tool)  # noqa: B009
        raise ConfigError(f"tools: {named} is not a tool{advice}")
    return tools


def as_interceptors(value: Iterable[Interceptor]) -> list[Interceptor]:
    """The interceptors, in a list.

    Raises:
        ConfigError: It is one interceptor, or holds something else.
    """
    around = _list("interceptors", value, Interceptor, "sh.Interceptor objects, such as interceptors=[Cap()]")
    return [as_interceptor(one, shown(one)) for one in around]


def as_interceptor(value: Any, named: str) -> Interceptor:
    """One interceptor that does something.

    Raises:
        ConfigError: It is a class, no interceptor, or does nothing.
    """
    if isinstance(value, type):
        raise ConfigError(f"interceptors: {value.__name__} is a class; pass an instance: {value.__name__}(...)")
    if not isinstance(value, Interceptor):
        raise ConfigError(f"interceptors: {named} is no interceptor; derive its class from sh.Interceptor")
    if all(_is_inherited(value, method) for method in ("before", "after")):
        raise ConfigError(
            f"interceptors: {type(value).__name__} overrides neither before nor after, so it does nothing; "
            "name its methods so"
        )
    return value


def check_tool_names(settings: Settings, catalog: Catalog) -> None:
    """Checks that filters and `always` name tools and tags that there are.

    Raises:
        ConfigError: A name is not known; every one is told.
    """
    specs = [entry.tool.spec for entry in catalog.entries.values()]
    names = {spec.name for spec in specs}
    problems = settings.filters.unknown(specs)
    problems += [f"always: there is no tool {name!r}" for name in settings.always if name not in names]
    if problems:
        raise ConfigError("; ".join(problems))


def as_policies(value: PolicyArgument) -> tuple[PolicySource, ...]:
    """The sources that an argument means; those of a path are read.

    Raises:
        ConfigError: It is no path and no sources.
        PolicyError: There are none at the path.
    """
    if value is None:
        return ()
    if isinstance(value, str) and any(mark in value for mark in ("\n", ";", "(")) and not Path(value[:255]).exists():
        raise ConfigError(
            f"policies: {shown(value)} is the text of policies, and a string is their path; "
            'pass [sh.PolicySource("name.cedar", text)]'
        )
    if isinstance(value, str | Path):
        return _read(value)
    sources = _list("policies", value, PolicySource, "a path, or sh.PolicySource objects")
    for source in sources:
        if isinstance(source, str | Path):
            raise ConfigError(
                f"policies: {shown(source)} stands in a list, which holds sh.PolicySource objects; "
                "pass one folder or file by itself"
            )
        if not isinstance(source, PolicySource):
            raise ConfigError(f"policies: {shown(source)} is not a sh.PolicySource")
        if not isinstance(source.name, str) or not isinstance(source.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"policies: name and text of {shown(source)} must be strings")
    return tuple(sources)


def _read(path: str | Path) -> tuple[PolicySource, ...]:
    if not str(path) or "\0" in str(path):
        raise ConfigError(f"policies: {str(path)!r} cannot be a path")
    try:
        return tuple(read_policies(path))
    except (OSError, ValueError) as error:
        raise ConfigError(f"policies: {shown(str(path))} cannot be read: {error}") from error


def _is_inherited(value: Interceptor, method: str) -> bool:
    return getattr(getattr(value, method), "__func__", None) is getattr(Interceptor, method)


def _list(name: str, value: Any, kind: type[Any], holds: str) -> list[Any]:
    if isinstance(value, kind):
        raise ConfigError(f"{name} must be a list; put {kind.__name__} {_label(value)} in brackets")
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise ConfigError(f"{name} must be a list of {holds}, not {shown(cast('object', value))}")
    return list(cast("Iterable[Any]", value))


def _label(value: Any) -> str:
    if isinstance(value, Tool):
        return repr(value.spec.name)
    return repr(value.name) if isinstance(value, PolicySource) else f"{type(value).__name__}()"
