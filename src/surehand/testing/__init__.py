"""For the tests of whoever uses Surehand: a scripted model, a clock, decisions, and contract suites.

The pytest plugin (`plugin.py`) is loaded by itself wherever Surehand is installed. Names are imported when they are
first used, so that it costs nothing at the start of a test run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

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

__all__ = [
    "DialectContract", "Expect", "FakeClock", "ScriptError", "ScriptedCall", "ScriptedModel", "Seen",
    "SharedStoreContract", "Step", "StoreContract", "assert_decision",
]  # fmt: skip


__getattr__ = lazily(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
