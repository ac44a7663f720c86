"""Tools and interceptors that a project names: modules are imported, and whatever is wrong with them is told."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import ConfigError, SpecError
from ..pipeline import Interceptor
from ..settings import did_you_mean
from ..spec import Tool
from .inputs import as_interceptor


def load_tools(modules: Sequence[str], folder: Path) -> list[Tool]:
    """The `Tool` objects of modules, each object once. Modules are found beside the file and where Python looks.

    Raises:
        ConfigError: A module cannot be imported, or holds no tool.
    """
    found: dict[int, Tool] = {}
    for name in modules:
        tools = [value for value in _content(_module("tools", name, folder)).values() if isinstance(value, Tool)]
        if not tools:
            raise ConfigError(f"tools: module {name!r} holds no tool; decorate functions with @sh.tool")
        found.update({id(tool): tool for tool in tools})
    return list(found.values())


def load_interceptors(places: Sequence[str], folder: Path) -> list[Interceptor]:
    """The interceptors that `module:Name` means; a class is instantiated.

    Raises:
        ConfigError: A module cannot be imported, or that is no interceptor.
    """
    return [_interceptor(place, folder) for place in places]


def _interceptor(place: str, folder: Path) -> Interceptor:
    module, _, name = place.partition(":")
    there = _content(_module("interceptors", module, folder))
    if name not in there:
        known = [one for one, value in there.items() if isinstance(value, Interceptor) or _is_interceptor_class(value)]
        raise ConfigError(
            f"interceptors: there is no {name!r} in module {module!r}; {did_you_mean(name, known)}"
            if known
            else f"interceptors: module {module!r} holds no interceptor; derive a class from sh.Interceptor"
        )
    value = there[name]
    if _is_interceptor_class(value):
        try:
            value = value()
        except Exception as error:
            raise ConfigError(
                f"interceptors: {place!r} cannot be made without arguments ({type(error).__name__}: {error}); "
                "name an instance in its module instead"
            ) from error
    return as_interceptor(value, repr(place))


def _is_interceptor_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Interceptor) and value is not Interceptor


def _module(setting: str, name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    beside = any((folder / part).exists() for part in (name.split(".")[0], f"{name.split('.')[0]}.py"))
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        where = _raised_at(error, folder)
        if isinstance(error, SpecError):
            raise SpecError(f"{error}{where}") from error
        raise ConfigError(f"{setting}: module {name!r} {_why(error, where, folder)}") from error
    origin = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    if beside and folder not in Path(origin).resolve().parents:
        # One process can hold one module of a name: the other project's tools would act in this one's place.
        raise ConfigError(
            f"{setting}: module {name!r} of {folder} cannot be used: this process has imported another of that name, "
            f"{origin}; rename one, or open each project in a process of its own"
        )
    return module


def _content(module: ModuleType) -> dict[str, Any]:
    return dict(getattr(module, "__dict__", {}))


def _why(error: BaseException, where: str, folder: Path) -> str:
    if isinstance(error, ModuleNotFoundError) and not where:
        return f"cannot be imported: {error}, neither in {folder} nor where Python looks"
    if isinstance(error, SystemExit):
        return f"cannot be imported: it wants to exit{where} with {error.code!r}; do that under __main__ only"
    return f"cannot be imported: {type(error).__name__}{where}: {error}"


def _raised_at(error: BaseException, folder: Path) -> str:
    """The line to look at: the last one of the project's own code, else where it was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}:{error.lineno}"
    ours = (__file__, importlib.__file__)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in ours and not frame.filename.startswith("<frozen ")
    ]
    frames = [frame for frame in frames if folder in Path(frame.filename).parents] or frames
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
