"""`Session`: the options that every command shares, and the engine and caller that they choose."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from typer import BadParameter

from ..errors import ConfigError
from .failures import InterruptedCommand
from .printer import Printer

if TYPE_CHECKING:
    from ..engine import Engine
    from ..event import Event
    from ..settings import Settings
    from ..types import Caller

T = TypeVar("T")

PROJECT = "surehand.toml"
PROJECT_ENV = "SUREHAND_PROJECT"


@dataclass(slots=True)
class Options:
    """What was given before or after the command; the later one wins."""

    project: Path | None = None
    caller: str | None = None
    json: bool = False


class Session:
    """What one command works with."""

    def __init__(self, options: Options) -> None:
        self.json = options.json
        self.out = Printer()
        self._options = options

    @property
    def project(self) -> Path:
        """The project file: `--project`, else what the environment says, else the one in this folder."""
        return self._options.project or Path(os.environ.get(PROJECT_ENV) or PROJECT)

    @cached_property
    def settings(self) -> Settings:
        """What the project file says.

        Raises:
            ConfigError: It is missing or wrong.
        """
        from ..settings import read_project

        return read_project(self.project)[0]

    @cached_property
    def caller(self) -> Caller:
        """Who this command acts as.

        Raises:
            ConfigError: The project file names no callers.
            BadParameter: It names several, and none was chosen.
        """
        known = self.settings.callers
        if not known:
            raise ConfigError(f"{self.project} names no caller; add a table [callers.NAME] with a tenant")
        if self._options.caller is not None:
            return self.named(self._options.caller, "--as")
        if len(known) > 1:
            raise BadParameter(f"say who you are; callers are {', '.join(sorted(known))}", param_hint="--as")
        return next(iter(known.values()))

    def named(self, name: str, option: str) -> Caller:
        """A caller of the project file.

        Raises:
            BadParameter: There is no such caller.
        """
        known = self.settings.callers
        if name not in known:
            raise BadParameter(
                f"there is no caller {name!r} in {self.project}; callers are {', '.join(sorted(known))}",
                param_hint=option,
            )
        return known[name]

    def run(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        """Opens the engine, does the work, closes the engine.

        Raises:
            InterruptedCommand: Ctrl-C. A call that had started was settled first.
        """
        started: list[str] = []
        try:
            return asyncio.run(self._do(work, started))
        except KeyboardInterrupt:
            raise InterruptedCommand(started[-1] if started else None) from None

    async def _do(self, work: Callable[[Engine], Awaitable[T]], started: list[str]) -> T:
        from ..compose import open_project
        from .waiting import waiting

        engine = open_project(self.project)

        def note(event: Event) -> None:
            if event.kind == "call.started":
                started.append(event.call_id)

        engine.on_event(note)
        async with waiting(engine), engine:
            return await work(engine)
