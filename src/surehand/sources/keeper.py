"""`Keeper`: connects sources, publishes what they offer, tells how they are. One that is down harms no other."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

import msgspec

from ..errors import RegistryError, SourceError, SpecError
from ..event import Event
from ..ports import Clock, SourceState, SourceStatus
from ..registry import Registry
from ..spec import Tool
from .pins import Pins, version_of
from .source import Source

WAITS_S: Final = (1.0, 5.0, 25.0, 120.0)
"""Before each further try; the last one again and again."""
_SETTLE_S: Final = 0.2
"""How long a burst of changes is gathered."""
Approve = Literal["pinned", "always"]
Mark = Callable[[str, Mapping[str, str]], None]
"""`mark(source, {name@version: why})`: which of a source's versions cannot be called now."""


class Keeper:
    """Keeps the tools of all sources in the registry. An attendant of the engine.

    Args:
        sources: With, for each, whether its definitions have to be pinned.
        registry: Where they are published.
        pins: Approved definitions; others of a source that has to be pinned are drafts.
        mark: See `Mark`.
        problem: Is told, in words without secrets, what is wrong; like `Services.emit`.
        clock: For `SourceStatus.since_us`.
        first_s: How long the start waits for the first answer of all.
        waits_s: Seconds before each further try.
    """

    def __init__(
        self,
        sources: Iterable[tuple[Source, Approve]],
        registry: Registry,
        pins: Pins,
        *,
        mark: Mark,
        problem: Callable[[str, str], None],
        clock: Clock,
        first_s: float = 10.0,
        waits_s: Sequence[float] = WAITS_S,
    ) -> None:
        self._lines = [_Line(source, approve, self) for source, approve in sources]
        self._first_s = first_s
        self.registry = registry
        self.pins = pins
        self.mark = mark
        self.problem = problem
        self.clock = clock
        self.waits_s = waits_s
        self.owners: dict[str, str] = {}
        """Tool name -> the source that it is of; empty for the project's own."""

    @property
    def statuses(self) -> list[SourceStatus]:
        """How each source is now, in the order of the project file."""
        return [line.status for line in self._lines]

    def tell(self, event: Event) -> None:
        """Sources hear no events."""

    async def start(self) -> None:
        """Begins to connect all, and waits a little for the first answers: most engines are asked at once."""
        for line in self._lines:
            line.task = asyncio.create_task(line.keep(), name=f"surehand-source-{line.source.name}")
        waiting = [asyncio.create_task(line.tried.wait()) for line in self._lines]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=self._first_s)
            for one in late:
                one.cancel()

    async def stop(self) -> None:
        """Ends all connections."""
        await asyncio.gather(*(line.end() for line in self._lines), return_exceptions=True)


class _Line:
    """One source, kept by one task."""

    def __init__(self, source: Source, approve: Approve, keeper: Keeper) -> None:
        self.source = source
        self.tried = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.status = SourceStatus(name=source.name, kind=source.kind)
        self._approve = approve
        self._keeper = keeper
        self._changed = asyncio.Event()
        self._versions: set[str] = set()
        """Every `name@version` that was published for it."""

    async def keep(self) -> None:
        """Connects, lists, waits for a change; and again, later, whenever that fails."""
        failed = 0
        while True:
            try:
                await self.source.open(self._changed.set)
                while True:
                    self._changed.clear()
                    self._publish(await self.source.tools())
                    failed = 0
                    self.tried.set()
                    await self._changed.wait()
                    await asyncio.sleep(_SETTLE_S)
            except Exception as error:
                self._down(_told(error))
                await self._closed()
            self.tried.set()
            waits = self._keeper.waits_s
            await asyncio.sleep(waits[min(failed, len(waits) - 1)] * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
            failed += 1

    async def end(self) -> None:
        """Stops keeping it."""
        if self.task is not None:
            self.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.task
        await self._closed()
        self._say("closed")

    async def _closed(self) -> None:
        with contextlib.suppress(Exception):
            await self.source.close()

    def _publish(self, tools: Sequence[Tool]) -> None:
        offered: set[str] = set()
        waiting: list[str] = []
        notes = list(self.source.notes)
        for tool in tools:
            version = version_of(tool.spec)
            pinned = self._approve == "always" or self._keeper.pins.versions.get(tool.spec.name) == version
            try:
                spec = replace(tool.spec, version=version, stage="active" if pinned else "draft")
                found = self._registered(replace(tool, spec=spec))
            except (RegistryError, SpecError) as error:
                notes.append(f"{tool.spec.name}: {error}")
                continue
            offered.add(spec.id)
            if found == "draft":
                waiting.append(spec.id)
        self._versions |= offered
        gone = self._versions - offered
        for one in self._versions:
            name, _, version = one.partition("@")
            self._keeper.registry.set_absent(name, version, one in gone)
        self._keeper.mark(
            self.source.name, dict.fromkeys(gone, f"the source {self.source.name!r} does not offer it now")
        )
        for note in notes:
            self._keeper.problem(f"source {self.source.name}", note)
        self._say("ready", offered=tuple(sorted(offered)), waiting=tuple(sorted(waiting)), notes=tuple(notes))

    def _registered(self, tool: Tool) -> str:
        """Publishes a version that is not there yet; gives the stage that it has."""
        registry, spec = self._keeper.registry, tool.spec
        owner = self._keeper.owners.setdefault(spec.name, self._owner_of(spec.name))
        if owner != self.source.name:
            whose = f"is a tool of the source {owner!r}" if owner else "is a tool of the project's own"
            raise RegistryError("duplicate", "register", f"{spec.name!r} {whose}, so it is not taken from another")
        there = registry.catalog.entries.get((spec.name, spec.version))
        return registry.register(tool).spec.stage if there is None else there.tool.spec.stage

    def _owner_of(self, name: str) -> str:
        """Whose a name is that nobody has published yet, or that was there before all sources."""
        return "" if any(name == one for one, _ in self._keeper.registry.catalog.entries) else self.source.name

    def _down(self, why: str) -> None:
        if self.status.state != "unavailable" or self.status.why != why:
            self._keeper.problem(f"source {self.source.name}", why)
        down = f"its source {self.source.name!r} is unavailable: {why}"
        self._keeper.mark(self.source.name, dict.fromkeys(self._versions, down))
        self._say("unavailable", why=why)

    def _say(self, state: SourceState, *, why: str = "", **found: object) -> None:
        since_us = self.status.since_us if state == self.status.state else self._keeper.clock.now_us()
        self.status = msgspec.structs.replace(self.status, state=state, why=why, since_us=since_us, **found)


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, SourceError) else f"it failed ({type(error).__name__})"
