"""`Nested`: the calls that one handler makes. Each takes the whole line, for the same person, inside its parent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from ..call import ToolCall, ToolResult
from ..errors import ConfigError, SurehandError
from ..provenance import Origin, Provenance
from .events import problem
from .faults import fault
from .parent import Budget, Parent
from .passage import Passage, storable
from .services import Services, new_id
from .trace import trace

Perform: TypeAlias = Callable[[Passage, Services], Awaitable[ToolResult]]
"""The whole line, `order.perform`."""


class Nested:
    """Fulfils `call.Tools` for one handler, from its start to its end: nothing that it called outlives it.

    Args:
        p: The parent.
        s: The services.
        perform: Makes a call.
    """

    def __init__(self, p: Passage, s: Services, perform: Perform) -> None:
        self._p = p
        self._s = s
        self._perform = perform
        above = None if p.parent is None else p.parent.budget
        self._budget = Budget(s.limits.nested_calls) if above is None else above
        self._lent = asyncio.Semaphore(1)
        self._seen = _seen(p)
        self._made: set[asyncio.Task[ToolResult]] = set()
        self._deadline = 0.0
        self._position = 0
        self._running = False

    def begin(self, deadline: float) -> None:
        """An attempt of the handler starts; its calls have the places, and so the keys, of those of the one before."""
        self._deadline, self._position, self._running = deadline, 0, True

    async def end(self) -> None:
        """The handler has ended, or was given up: what it called and left is stopped, and settled."""
        self._running = False
        for task in self._made:
            task.cancel()
        if self._made:
            await asyncio.wait(self._made)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        version: str | None = None,
        roles: Iterable[str] | None = None,
        scopes: Iterable[str] | None = None,
    ) -> ToolResult:
        """See `call.Tools`."""
        if not self._running:
            raise ConfigError(f"{self._p.spec.name}: its handler has ended, so it calls no tools any more")
        caller = self._p.caller.narrowed(roles=roles, scopes=scopes)
        position = self._position
        self._position += 1
        p, s = self._p, self._s
        shown = None if p.view is None else p.view.get(name)
        call_id = p.call_id if p.record is None else p.record.call_id
        child = Passage(
            call=ToolCall(
                id=f"{call_id}.{position}",
                name=storable(name),
                version=shown.version if shown is not None and version is None else version,
                arguments=dict(arguments or {}),
            ),
            caller=caller,
            call_id=new_id("call"),
            world=s.world if s.ready is None else await s.ready(),
            began_us=s.clock.now_us(),
            parent=self._parent(call_id, position),
            not_after=self._deadline,
            origin=Origin(untrusted=p.origin.untrusted or p.tainted, seen=self._seen),
        )
        task = asyncio.ensure_future(self._make(child))
        self._made.add(task)
        task.add_done_callback(self._made.discard)
        return await task

    def _parent(self, call_id: str, position: int) -> Parent:
        p = self._p
        above = () if p.parent is None else p.parent.above
        return Parent(
            call_id=call_id,
            depth=1 if p.parent is None else p.parent.depth + 1,
            position=position,
            run_id=p.run_id,
            key=p.idempotency_key,
            key_retention_s=p.spec.key_retention_s,
            calls=frozenset(p.spec.calls),
            read_only=p.spec.read_only,
            above=(*above, p.spec.name),
            budget=self._budget,
            lent=self._lent,
        )

    async def _make(self, child: Passage) -> ToolResult:
        p, s = self._p, self._s
        try:
            result = await self._perform(child, s)
            if child.entry is not None and child.spec.stage == "draft" and s.use is not None:
                await s.use(child.spec)
        except Exception as error:
            result = await fault(child, s, error)
        p.tainted = p.tainted or result.trust == "untrusted"
        if result.trust == "untrusted" or not result.is_error:
            for text in _told(result):
                self._seen = self._seen.plus(text, result.trust)
        row = trace(
            p,
            s,
            "call.nested",
            child_call_id=result.call_id,
            child_name=storable(result.name),
            child_status=result.status,
        )
        try:
            await s.recorder.soon(row)
        except SurehandError:
            problem(p, s, "record", "a call that the handler made could not be recorded beside it")
        return result


def _told(result: ToolResult) -> Iterator[str]:
    """All that a handler can read in a result; a model reads its text alone."""
    yield result.content
    if result.structured is not None:
        yield msgspec.json.encode(result.structured).decode()
    if result.error is not None and result.error.details:
        yield msgspec.json.encode(result.error.details).decode()


def _seen(p: Passage) -> Provenance:
    """What the arguments that a handler writes are held against: what the model had read, as far as that is kept."""
    if p.origin.seen is not None:
        return p.origin.seen
    seen = Provenance()
    for name, label in p.labels.items():
        seen = seen.plus(msgspec.json.encode(p.final.get(name)).decode(), label)
    return seen
