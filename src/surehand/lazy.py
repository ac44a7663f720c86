"""Public names that are imported when they are first used, so that importing a package stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, home: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: Its name.
        home: Module of the package -> the public names that live in it.

    Returns:
        A function that finds a name, and leaves it in the package; for any other it raises `AttributeError`.
    """
    module_of = {name: module for module, names in home.items() for name in names}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{module_of[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
