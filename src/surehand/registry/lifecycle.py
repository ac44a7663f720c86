"""The stages of a version, and the moves between them that are permitted. The one table of both."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..errors import RegistryError
from ..types import Stage

MOVES: Mapping[Stage, tuple[Stage, ...]] = MappingProxyType(
    {
        "draft": ("test", "disabled"),
        "test": ("canary", "disabled"),
        "canary": ("active", "test", "disabled"),
        "active": ("deprecated", "disabled"),
        "deprecated": ("active", "disabled"),
        "disabled": ("test",),
    }
)
"""Stage -> the stages that a version may go to from there. Forward a step at a time; off from anywhere; a version
that was off starts again at `test`; `deprecated -> active` and `canary -> test` take a step back."""


def check_move(where: str, version: str, at: Stage, to: Stage) -> None:
    """Whether a version may go from one stage to another.

    Args:
        where: The public method that asks, such as `promote`.
        version: `name@version`.
        at: Its stage.
        to: Where it is to go.

    Raises:
        RegistryError: `not_permitted`.
    """
    if to not in MOVES:
        raise RegistryError("not_permitted", where, f"there is no stage {to!r}; stages are {', '.join(MOVES)}")
    if at == to:
        raise RegistryError("not_permitted", where, f"{version} is at {to!r} already")
    if to not in MOVES[at]:
        onward = " or ".join(repr(stage) for stage in MOVES[at])
        raise RegistryError("not_permitted", where, f"{version} is at {at!r}, from where it may go to {onward} only")
