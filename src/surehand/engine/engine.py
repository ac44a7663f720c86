"""`Engine`: the hand. Takes calls, resumes them, and gives access to what was decided and recorded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from ..audit import Anchor
from ..call import RunStep, ToolCall, ToolResult, checked_key
from ..errors import ConfigError, NotFoundError, StoreError
from ..event import Event, Sink
from ..pipeline import Hooks, Passage, Services, new_id, perform, storable
from ..pipeline.breaker import without_unavailable
from ..pipeline.faults import fault
from ..policy import Policies
from ..provenance import origin_of
from ..registry import Registry
from ..runners import Gate
from ..types import Caller
from ..view import ToolView, World
from .approvals import Approvals
from .arguments import checking
from .closing import check_keys, hold_what_still_runs, settled
from .control import Control
from .grants import Grants
from .limits import LimitsInUse
from .maintenance import Maintenance
from .plane import Plane
from .publishing import Publishing
from .records import Artifacts, Audit
from .resume import Resumption
from .runs import Runs
from .sync import SyncEngine
from .undo import undo
from .unknown import Unknowns
from .views import in_scene, view_of
from .watch import Watch
from .worlds import PolicyLoader, Worlds

_POLL_S = 0.5
_SETTLE_POLL_S = 0.01


class Engine:
    """Made by `open_engine` or `open_project`; used as `async with engine:`.

    Attributes:
        registry: Where tools are published; the engine reads its catalog before each call.
        approvals: Questions that wait for people.
        grants: Standing answers.
        unknown: Calls whose effect may or may not have happened.
        audit: The record, and its verification.
        runs: Stored runs; `sh.run` drives them.
        control: Which versions, policies and switches hold, for all engines of the database.
        artifacts: Parts of results that are kept beside them.
        limits: What is used of budgets and rates, and how tools are.
        sync: The same for code without an event loop.
        in_scratch: Makes an engine of other tools that is like this one and leaves no trace: its store is in memory.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        load: PolicyLoader,
        anchor: Anchor,
        complete: Callable[[Registry], None],
    ) -> None:
        self.registry = registry
        self.approvals = Approvals(services)
        self.grants = Grants(services, self.approvals)
        self.unknown = Unknowns(services)
        self.audit = Audit(services, anchor, self._seal)
        self.artifacts = Artifacts(services)
        self.limits = LimitsInUse(services)
        self.runs = Runs(services, self)
        self.sync = SyncEngine(self)
        self.in_scratch: Callable[[Registry], Engine] | None = None
        self._s = services
        self._worlds = Worlds(services, registry, load, complete)
        self._plane = Plane(services, self._worlds)
        self._publishing = Publishing(self._plane, self._worlds)
        self._watch = Watch(services, self._plane)
        self.control = Control(services, self._plane, self._worlds, self._ready)
        self._maintenance = Maintenance(services, anchor)
        self._resumption = Resumption(services)
        self._hooks: Hooks | None = None
        self._open = False
        self._closing: asyncio.Future[None] | None = None
        self._pid = 0
        self._changed = asyncio.Event()
        services.sinks.append(self._wake)
        services.ready = self._ready
        services.use = self._publishing.use
        registry.attach(self._list_allowed)

    async def __aenter__(self) -> Self:
        """Connects, finds open work of dead processes, and starts to look after itself.

        Raises:
            StoreError: The database cannot be used.
            RegistryError: A version was published before with another contract.
        """
        s = self._s
        s.owner = new_id("eng")
        s.gate = Gate(places=s.limits.concurrent_calls, queue=s.limits.queued_calls)
        self._changed = asyncio.Event()
        self._pid = os.getpid()
        await s.store.open()
        try:
            await check_keys(s)
            await self._plane.open()
            await self._publishing.publish(strict=True)
            s.thread.open()
            await self._maintenance.start()
            await self._plane.start()
            for attendant in s.attendants:
                await attendant.start()
        except BaseException:
            await asyncio.shield(self._shut_down())
            raise
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes and seals what there is. Does not wait for a handler that hangs."""
        await self.close()

    async def close(self) -> None:
        """See `__aexit__`; safe to call twice."""
        if self._open:
            self._open = False
            self._closing = asyncio.ensure_future(self._close())
        if self._closing is not None:
            # Giving up on closing must not leave half of it undone.
            await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await self._watch.drain()
            await settled(self._s)
            await hold_what_still_runs(self._s)
            await self._s.recorder.drain()
        finally:
            await self._shut_down()

    async def _shut_down(self) -> None:
        for attendant in self._s.attendants:
            await attendant.stop()
        self._s.thread.close()
        try:
            await self._plane.stop()
            await self._maintenance.stop()
        finally:
            await self._s.store.close()

    async def view(
        self,
        caller: Caller,
        *,
        pins: Mapping[str, str] | None = None,
        run_id: str = "",
        scene: str | None = None,
        loaded: Sequence[str] = (),
        fit: bool = True,
        available: bool = True,
    ) -> ToolView:
        """The tools that a caller may see now. `.hidden` is for operators, not for models.

        Where there are more than `Limits.view_tools`, only the tools of the setting `always`, those of `loaded` and
        `search_tools` are in it; the rest is found with that tool, and hidden as `too_many`.

        Args:
            caller: Who looks.
            pins: Name -> version that a run saw first: it keeps that version as long as it may be called.
            run_id: Of that run: it gets a version on trial, or does not, whatever its caller's other runs get.
            scene: Narrows the view to a scene, as `caller.in_scene` does.
            loaded: Names to show rather than others, such as those that `search_tools` found.
            fit: Whether to leave out what is too much for a model.
            available: Whether what is unavailable at the moment is left out. A call of it is told so either way.

        Raises:
            ConfigError: There is no such scene.
        """
        if not isinstance(caller, Caller):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"view: pass a Caller, not {caller!r:.80}")
        world = await self._ready()
        caller = caller if scene is None else self.in_scene(caller, scene)
        return view_of(self._s, world, caller, pins or {}, run_id=run_id, loaded=loaded, fit=fit, available=available)

    def in_scene(self, caller: Caller, scene: str) -> Caller:
        """The caller, narrowed to a scene of the project.

        Raises:
            ConfigError: There is no such scene.
        """
        return in_scene(self._s.world, caller, scene)

    def _list_allowed(self, caller: Caller) -> ToolView:
        view = self._now().view(caller, now_us=self._s.clock.now_us())
        return without_unavailable(self._s, caller.tenant, view)

    async def call(
        self,
        call: ToolCall,
        caller: Caller,
        *,
        run: RunStep | None = None,
        idempotency_key: str | None = None,
        view: ToolView | None = None,
    ) -> ToolResult:
        """One call, through the whole pipeline. Gives a result whatever happens to the call.

        Args:
            call: What the model asked for.
            caller: On whose behalf, as the application authenticated them.
            run: The call's place in a run; also its key, if it has no better one.
            idempotency_key: The application's own name of this effect; scoped to tenant, caller and tool.
            view: What the model was shown, from `view`: nothing else is found, and its versions are meant.

        Raises:
            ConfigError: The engine is not open, or `idempotency_key` is empty.
            asyncio.CancelledError: The task was cancelled. A started effect is settled first, as unknown if need be.
        """
        if not isinstance(call, ToolCall) or not isinstance(caller, Caller):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("call: pass a ToolCall and a Caller")
        passage = Passage(
            call=_clean(call),
            caller=caller,
            call_id=new_id("call"),
            world=await self._ready(),
            began_us=self._s.clock.now_us(),
            run=run,
            given_key=checked_key(idempotency_key),
            view=view,
            origin=origin_of(None if run is None else run.provenance),
        )
        try:
            result = await perform(passage, self._s)
        except Exception as error:
            return await fault(passage, self._s, error)
        if passage.entry is not None and passage.spec.stage == "draft":
            await self._publishing.use(passage.spec)
        return result

    async def call_many(
        self, calls: Sequence[ToolCall], caller: Caller, *, run: RunStep | None = None, view: ToolView | None = None
    ) -> list[ToolResult]:
        """Calls of one turn, at once; results in call order. A pending or failed one does not hold its siblings."""

        def step(position: int) -> RunStep | None:
            return None if run is None else msgspec.structs.replace(run, position=run.position + position)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.call(one, caller, run=step(i), view=view)) for i, one in enumerate(calls)]
        return [task.result() for task in tasks]

    @checking
    async def resume(self, call_id: str, *, by: Caller) -> ToolResult:
        """Runs a call that was approved, or reports how it stands. Safe to repeat; of a race all get one result.

        Raises:
            NotFoundError: No such call in `by`'s tenant.
        """
        return await self._resume(call_id, by, self._s.limits.wait_s)

    async def _resume(self, call_id: str, by: Caller, wait_s: float) -> ToolResult:
        world = await self._ready()
        record = await self._s.store.get_call(by.tenant, call_id)
        if record is None:
            wrong_kind = " (that is an approval's id; a call's begins with call_)" if call_id.startswith("apr_") else ""
            raise NotFoundError(f"there is no call {call_id!r}{wrong_kind}")
        return await self._resumption.resume(record, by, world, wait_s=wait_s)

    @checking
    async def wait(self, call_id: str, *, by: Caller, timeout_s: float) -> ToolResult:
        """Resumes the call as soon as it is decided; after `timeout_s` seconds gives what there is.

        Raises:
            NotFoundError: No such call in `by`'s tenant.
        """
        deadline = self._s.clock.monotonic() + timeout_s
        while True:
            changed = self._changed
            result = await self._resume(call_id, by, min(_POLL_S, max(0.0, deadline - self._s.clock.monotonic())))
            left_s = deadline - self._s.clock.monotonic()
            if result.status != "pending" or left_s <= 0:
                return result
            try:
                async with asyncio.timeout(min(left_s, _pause_s(result))):
                    await changed.wait()
            except TimeoutError:
                continue

    @checking
    async def undo(self, call_id: str, *, by: Caller, reason: str) -> ToolResult:
        """Takes back what a call did, by the `undo` that its tool declares. A governed call itself, at most once.

        It is a call of `NAME.undo`, with the tool's own permissions and risk, by `by`: policy decides about
        `Action::"call/NAME.undo"`, people are asked, and the result may be `pending`.

        Args:
            call_id: The call, in state `ok`.
            by: Who takes it back. For somebody else's call policy must allow the action `resolve` too.
            reason: For the record, and for whoever is asked.

        Raises:
            ConfigError: The reason is empty, the call is not `ok`, or its tool declares no `undo`.
            NotFoundError: There is no such call in `by`'s tenant.
            NotAllowedError: It is somebody else's, and policy does not let `by` resolve calls of the tool.
        """
        return await undo(self._s, call_id, by=by, reason=reason, world=await self._ready())

    def hook(self, event: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers a function for `tool.pre` or `tool.post`.

        Raises:
            ConfigError: There is no such event.
        """
        if event not in ("tool.pre", "tool.post"):
            raise ConfigError(f"hook: there is no event {event!r}; write @engine.hook('tool.pre') or 'tool.post'")
        if self._hooks is None:
            self._hooks = Hooks()
            self._s.interceptors.append(self._hooks)
        hooks = self._hooks

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            hooks.add(event, function)
            return function

        return register

    def on_event(self, sink: Sink) -> Callable[[], None]:
        """Tells `sink` everything that happens. Returns what ends that."""
        self._s.sinks.append(sink)
        return lambda: self._s.sinks.remove(sink)

    @property
    def has_listeners(self) -> bool:
        """Whether anything besides the engine itself is told its events."""
        return any(sink not in (self._wake, self._watch.see) for sink in self._s.sinks)

    @property
    def policies(self) -> Policies:
        """The policies in force."""
        return self._now().policies

    @property
    def services(self) -> Services:
        """What the stages work with, for those who build on the engine."""
        return self._s

    def _now(self) -> World:
        if not self._open:
            raise ConfigError("the engine is not open; use `async with engine:`")
        if os.getpid() != self._pid:
            raise ConfigError("the engine was opened before this process was forked; open it in each process")
        return self._s.world

    async def _ready(self) -> World:
        """What holds, once everything that was registered is published."""
        self._now()
        if self._worlds.is_behind:
            self._worlds.complete()
            try:
                await self._publishing.publish()
            except StoreError as error:  # what is new does not hold, what was switched off is off
                self._s.emit("engine.problem", where="registry", problem=str(error))
        return self._s.world

    async def _seal(self) -> None:
        await self._s.recorder.drain()
        await self._maintenance.seal()

    def _wake(self, event: Event) -> None:
        if event.kind in ("approval.decided", "call.finished"):
            self._changed.set()
            self._changed = asyncio.Event()


def _pause_s(result: ToolResult) -> float:
    """How long to wait before an approved call is tried again that a limit or a breaker has held up."""
    after_s: float | None = None if result.error is None else result.error.details.get("retry_after_s")
    return max(_POLL_S, after_s or 0.0)


def _clean(call: ToolCall) -> ToolCall:
    """Names that no database refuses. The id stays as the model wrote it: only it pairs the result with the call."""
    version = None if call.version is None else storable(call.version)
    return msgspec.structs.replace(call, name=storable(call.name), version=version)


__all__ = ["Engine"]
