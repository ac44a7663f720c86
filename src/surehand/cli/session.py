"""`Session`: the options that every command shares, and the engine and caller that they choose."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeVar

from typer import BadParameter

from ..errors import ConfigError, NotAllowedError, SurehandError
from .failures import InterruptedCommand
from .printer import Printer

if TYPE_CHECKING:
    from ..engine import Engine
    from ..event import Event
    from ..settings import Settings
    from ..spec import Tool
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
    answers: TextIO | None = None
    """Where answers go, once stdout was kept for them alone."""
    _stdout: TextIO | None = None

    def claim_stdout(self) -> None:
        """Keeps stdout for the answer: what a handler or module prints from here on, however it does, is on stderr."""
        if self.answers is not None:
            return
        self._stdout = sys.stdout
        try:
            sys.stdout.flush()
            kept = os.dup(sys.stdout.fileno())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        except (OSError, io.UnsupportedOperation):  # a stream of Python's own, as in tests
            self.answers = sys.stdout
        else:
            self.answers = open(kept, "w", encoding=sys.stdout.encoding, errors="backslashreplace")  # noqa: SIM115 - kept open
        sys.stdout = sys.stderr

    def release_stdout(self) -> None:
        """Gives stdout back to everybody."""
        if self._stdout is None or self.answers is None:
            return
        sys.stdout = self._stdout
        if self.answers is not sys.stdout:
            self.answers.flush()
            os.dup2(self.answers.fileno(), sys.stdout.fileno())
            self.answers.close()


class HandlerExit(SurehandError):
    """Code of the project wanted to exit the process."""


class Session:
    """What one command works with."""

    def __init__(self, options: Options) -> None:
        self.json = options.json
        self._options = options

    @property
    def out(self) -> Printer:
        """Where the answer goes."""
        return Printer(self._options.answers)

    def claim_stdout(self) -> None:
        """See `Options`: from here on the project's own code may run."""
        self._options.claim_stdout()

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

        self._require_project()
        return read_project(self.project)[0]

    @cached_property
    def caller(self) -> Caller:
        """Who this command acts as.

        Raises:
            ConfigError, BadParameter: See `caller_by`.
        """
        return self.caller_by("--as")

    def caller_by(self, option: str) -> Caller:
        """Who `--as` names, or the only one there is.

        Args:
            option: What chooses one of several, for the refusal.

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
            say = "say who you are" if option == "--as" else "say whose call it would be"
            raise BadParameter(f"{say}; callers are {', '.join(sorted(known))}", param_hint=option)
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

    def as_option(self, caller: Caller | None = None) -> str:
        """What a command needs to act as this command's caller, or as another; empty if there is only one to be."""
        name = self.name_of(caller or self.caller)
        return "" if name is None or len(self.settings.callers) == 1 else f" --as {shlex.quote(name)}"

    def name_of(self, person: Caller) -> str | None:
        """What the project calls somebody; nothing if it does not name them."""
        return next((name for name, one in self.settings.callers.items() if one.same_person(person)), None)

    def load_tools(self) -> list[Tool]:
        """The tools of the project's modules; opens no engine.

        Raises:
            ConfigError: The project file or a module is wrong.
        """
        from ..compose import load_tools

        self.claim_stdout()
        return load_tools(self.settings.tools, self.project.resolve().parent)

    def run(
        self,
        work: Callable[[Engine], Awaitable[T]],
        *,
        needs: Literal["audit", "resolve"] | None = None,
        progress: bool = True,
    ) -> T:
        """Opens the engine, does the work, closes the engine.

        Args:
            work: What to do.
            needs: The action that it may be refused for; the refusal then names who may do it.
            progress: Whether a line of the terminal tells that it goes on; not for work that has the terminal itself.

        Raises:
            InterruptedCommand: Ctrl-C. A call that had started was settled first.
            HandlerExit: A handler called `sys.exit`.
        """
        started: list[str] = []
        self.claim_stdout()
        try:
            return asyncio.run(self._do(work, needs, progress, started))
        except KeyboardInterrupt:
            raise InterruptedCommand(started[-1] if started else None) from None
        except SystemExit as ended:
            call = f" by call {started[-1]}; see how it ended: surehand call show {started[-1]}" if started else ""
            raise HandlerExit(f"the project's code ended the process with {ended.code!r}{call}") from None

    async def _do(
        self,
        work: Callable[[Engine], Awaitable[T]],
        needs: Literal["audit", "resolve"] | None,
        progress: bool,
        started: list[str],
    ) -> T:
        from ..compose import open_project
        from .entitled import who_may
        from .waiting import waiting

        self._require_project()
        engine = open_project(self.project)

        def note(event: Event) -> None:
            if event.kind == "call.started":
                started.append(event.call_id)

        engine.on_event(note)
        async with waiting(engine) if progress else contextlib.nullcontext(), engine:
            try:
                return await work(engine)
            except NotAllowedError as error:
                if needs is None:
                    raise
                raise NotAllowedError(f"{error}; {who_may(engine, needs, self)}") from error

    def _require_project(self) -> None:
        if not self.project.exists():
            raise ConfigError(
                f"there is no project file {self.project}; name another with --project FILE or ${PROJECT_ENV}; "
                "`surehand init DIR` writes one that runs"
            )
