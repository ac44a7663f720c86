"""`Services`: what the stages work with. Put together once, in `compose`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import uuid_utils

from ..audit import AuditRow
from ..event import Event, EventKind, Sink
from ..limits import Limits, Quotas
from ..ports import Attendant, CallerResolver, Clock, Move, RunSave, SourceStatus, Store
from ..redact import Redactor
from ..runners import Breakers, Gate, InlineRunner, Runner, ThreadRunner
from ..schema import Strictness
from ..secrets import Keyring
from ..spec import Tool, ToolSpec
from ..types import Caller
from ..view import World
from .interceptor import Interceptor
from .result_cache import ResultCache


class Recorder:
    """Writes records that may reach the disk shortly after the result is returned, within a bound."""

    def __init__(self, store: Store, *, pending: int) -> None:
        self._store = store
        self._bound = pending
        self._pending: set[asyncio.Future[None]] = set()
        self._failed = False

    async def soon(self, row: AuditRow) -> None:
        """Hands a record over. Waits for the disk only if too many are on their way, or if one failed.

        Raises:
            StoreError: The last record could not be written, and neither could this one.
        """
        future = asyncio.ensure_future(self._store.record([row]))
        if self._failed or len(self._pending) >= self._bound:
            await future
            self._failed = False
            return
        self._pending.add(future)
        future.add_done_callback(self._done)

    async def drain(self) -> None:
        """Waits until nothing is on its way."""
        while self._pending:
            await asyncio.wait(self._pending)

    def _done(self, future: asyncio.Future[None]) -> None:
        self._pending.discard(future)
        if future.cancelled() or future.exception() is not None:
            self._failed = True


@dataclass(slots=True, kw_only=True)
class Services:
    """Shared by all calls of one engine."""

    world: World
    """Read once per call; replaced as a whole."""
    reload: Callable[[], Awaitable[World]] = field(init=False)
    """Reads what the control plane says now; set by the engine."""
    store: Store
    keyring: Keyring
    clock: Clock
    limits: Limits
    redactor: Redactor
    resolver: CallerResolver
    recorder: Recorder
    inline: InlineRunner
    thread: ThreadRunner
    gate: Gate
    breakers: Breakers
    cache: ResultCache
    """Results of reads that may be given again."""
    quotas: Quotas = field(default_factory=Quotas)
    """The budgets and rates that the operator declared."""
    reading: set[str] = field(default_factory=set[str])
    """Reads of this engine that hold something of a limit."""
    owner: str = ""
    """Of this engine, as `Move.owner` knows it; drawn anew whenever it is opened, so that a fork shares none."""
    interceptors: list[Interceptor] = field(default_factory=list[Interceptor])
    sinks: list[Sink] = field(default_factory=list[Sink])
    absent: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Source -> `name@version` of its tools that cannot be called now -> why."""
    sources: Callable[[], Sequence[SourceStatus]] = tuple
    """How the sources of tools are, in the order of the project file."""
    attendants: list[Attendant] = field(default_factory=list["Attendant"])
    """Started when the engine is open, stopped before its store is closed. Each is also a sink."""
    passing: Counter[str] = field(default_factory=Counter[str])
    """Calls that this engine is running: between claim or start, and settle."""
    driving: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Runs that this engine drives, by tenant and run id."""
    handlers: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Handlers, by tenant and call id, that have not really ended, those included that were given up."""
    owed: list[Move] = field(default_factory=list[Move])
    """Changes that the store did not take; made when it is there again."""
    owed_runs: dict[tuple[str, str], RunSave] = field(default_factory=dict[tuple[str, str], RunSave])
    """Likewise the ends and releases of runs, by tenant and run id: while this engine lives, nobody else takes them."""
    always: tuple[str, ...] = ()
    """Names of tools that a model is shown rather than others."""
    strictness: Strictness = "exact"
    """What may be done to what models write."""
    read_only_records: Literal["after", "before"] = "after"
    """Whether the record of a read-only call is durable before its result is returned."""
    ready: Callable[[], Awaitable[World]] | None = None
    """Gives the world once everything that was registered is published, for calls of handlers; set by the engine."""
    use: Callable[[ToolSpec], Awaitable[None]] | None = None
    """Told of each call of a draft, which must not change any more; set by the engine."""

    @property
    def lease_us(self) -> int:
        """How long a process may be silent before it counts as dead."""
        return int(self.limits.lease_s * 1_000_000)

    def runner(self, tool: Tool) -> Runner:
        """The runner that a tool's contract asks for."""
        if tool.spec.runner == "thread" or (tool.spec.runner == "auto" and not tool.is_async):
            return self.thread
        return self.inline

    def emit(
        self,
        kind: EventKind,
        *,
        caller: Caller | None = None,
        call_id: str = "",
        tool_call_id: str = "",
        name: str = "",
        run_id: str = "",
        position: int = 0,
        **data: Any,
    ) -> None:
        """Tells all sinks; one that fails never harms the call."""
        if not self.sinks:
            return
        event = Event(
            kind=kind,
            at_us=self.clock.now_us(),
            tenant="" if caller is None else caller.tenant,
            call_id=call_id,
            tool_call_id=tool_call_id,
            name=name,
            run_id=run_id,
            position=position,
            data=data,
        )
        self.publish(event)

    def publish(self, event: Event) -> None:
        """Tells all sinks; one that fails never harms the call."""
        for sink in self.sinks:
            _tell(sink, event)

    def mark_absent(self, source: str, versions: Mapping[str, str]) -> None:
        """Says which tools of a source cannot be called now, and why; none takes the source off the list."""
        if versions:
            self.absent[source] = versions
        else:
            self.absent.pop(source, None)


def _tell(sink: Callable[[Event], None], event: Event) -> None:
    try:
        sink(event)
    except Exception:  # a listener's fault is not the call's
        return


def new_id(prefix: str) -> str:
    """`prefix_` and a uuid7: unique, sorts by time, URL-safe."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"
