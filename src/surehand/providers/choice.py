"""`Choice`: what the model may do with its tools in one request."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

import msgspec

from ..errors import ConfigError
from .profile import Ability, Profile

Mode = Literal["auto", "none", "required", "one"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the model must, may or must not call, and whether it may make several calls at once.

    What a provider cannot be told is refused with the reason, never left out: see `Dialect.request`.
    """

    mode: Mode = "auto"
    """`auto`: as the model likes; `none`: no call; `required`: at least one; `one`: the tool that is named."""
    tool: str = ""
    """Our name of that tool."""
    parallel: bool = True
    """Whether several calls in one answer are welcome."""


AUTO: Final = Choice()


def check(choice: Choice, profile: Profile, names: Collection[str]) -> None:
    """Refuses what the provider cannot be told, before anything is sent.

    Args:
        choice: What is wanted.
        profile: The provider's.
        names: Ours, of the tools of the request.

    Raises:
        ConfigError: The provider has no word for it, or there is no such tool in the request.
    """
    if bool(choice.tool) != (choice.mode == "one"):
        raise ConfigError("a choice names a tool if its mode is 'one', and only then")
    if choice.mode == "one" and choice.tool not in names:
        raise ConfigError(f"the model cannot be told to call {choice.tool!r}: it is not among the tools of the request")
    if choice.mode == "required" and not names:
        raise ConfigError("the model cannot be told to call a tool: the request has none")
    wanted: set[Ability] = set()
    if choice.mode != "auto":
        wanted.add(choice.mode)
    if not choice.parallel:
        wanted.add("serial")
    for one in sorted(wanted - profile.abilities):
        said = "make one call at a time" if one == "serial" else f"tool choice {one!r}"
        raise ConfigError(f"{profile.name} cannot be told: {said}")
