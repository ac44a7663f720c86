"""For the tests of whoever uses Surehand: a scripted model, a clock, decisions, and contract suites.

The pytest plugin (`plugin.py`) is loaded by itself wherever Surehand is installed. Names are imported when they are
first used, so that it costs nothing at the start of a test run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assertions import assert_decision
    from .clock import FakeClock
    from .dialect_contract import DialectContract
    from .scripted import Expect, ScriptedCall, ScriptedModel, ScriptError, Seen, Step
    from .store_contract import SharedStoreContract, StoreContract

_HOME = {
    "assertions": ("assert_decision",),
    "clock": ("FakeClock",),
    "dialect_contract": ("DialectContract",),
    "scripted": ("Expect", "ScriptError", "ScriptedCall", "ScriptedModel", "Seen", "Step"),
    "store_contract": ("SharedStoreContract", "StoreContract"),
}
"""Module -> the public names that live in it."""

_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "DialectContract", "Expect", "FakeClock", "ScriptError", "ScriptedCall", "ScriptedModel", "Seen",
    "SharedStoreContract", "Step", "StoreContract", "assert_decision",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    module = _MODULE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
