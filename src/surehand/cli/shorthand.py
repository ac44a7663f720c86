"""Groups of commands with one that need not be named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

SHORTHAND = {"ignore_unknown_options": True}
"""The context settings of such a group: options that are not its own come through to the command."""


class Shorthand(TyperGroup):
    """`GROUP WORD` is `GROUP DEFAULT WORD`, unless WORD is the name of a command."""

    default: ClassVar[str]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Puts the command's name before what is not a command."""
        return super().resolve_command(ctx, args if args[0] in self.commands else [self.default, *args])
