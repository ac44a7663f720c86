"""The calls of one turn: against what the model of that turn was shown, whenever they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from ..call import RunStep, ToolCall, ToolResult
from ..engine import Engine
from ..search import relevant
from ..types import Caller
from ..view import Hidden, ToolView
from .history import Turn
from .journal import Journal

_RELEVANT: Final = 16
"""Tools that are shown because the first messages are about them; the others are found by search."""
_NOT_SHOWN: Final = Hidden(reason="not_shown", why="not shown in this turn")


class Calling:
    """Makes the calls of one run.

    Args:
        engine: Makes them.
        caller: On whose behalf, as authenticated now.
        journal: The run.
        tools_max: How many tools the provider takes in one request, where that is bounded.
    """

    def __init__(self, engine: Engine, caller: Caller, journal: Journal, *, tools_max: int | None = None) -> None:
        self._engine = engine
        self._caller = caller
        self._journal = journal
        self._history = journal.history
        self._bounds = journal.start.bounds
        most = engine.services.limits.view_tools
        self._most = most if tools_max is None else min(most, tools_max)
        self.fresh: set[int] = set()
        """Positions that the last `begin` made for the first time."""

    async def view(self, pins: Mapping[str, str], number: int) -> ToolView:
        """What the model is shown: what the caller may see, in the versions that the run has seen, if it is not much.

        Else the tools that are always shown, those that the run found by search, and those that the first messages
        are about.
        """
        view = await self._whole(pins, number)
        if len(view.tools) <= self._most:
            return view.fit(self._most)
        about = relevant(view, self._history.asked, _RELEVANT)
        return view.fit(self._most, (*self._engine.services.always, *self._history.loaded, *about))

    async def _whole(self, pins: Mapping[str, str], number: int, *, available: bool = True) -> ToolView:
        """All that the caller may see, as narrowed by what happened before a turn."""
        run_id = self._journal.record.run_id
        view = await self._engine.view(self._caller, pins=pins, run_id=run_id, fit=False, available=available)
        return view.without(self._history.without(self._bounds, number))

    async def begin(self, number: int) -> dict[int, asyncio.Task[ToolResult]]:
        """Begins all calls without a final result at once: makes them, or goes on with those that are in the ledger."""
        turn = self._history.turns[number]
        self.fresh = {i for i, one in enumerate(turn.results) if one is None}
        view = await self._shown(number, turn)
        run_id = self._journal.record.run_id
        seen = self._history.seen(number)
        tasks: dict[int, asyncio.Task[ToolResult]] = {}
        for i in turn.open:
            before = turn.results[i]
            if before is None:
                step = RunStep(run_id=run_id, turn=number, position=i, provenance=seen)
                work = self._engine.call(_pinned(turn, i), self._caller, run=step, view=view)
            else:
                work = self._engine.resume(before.call_id, by=self._caller)
            tasks[i] = asyncio.create_task(work)
        return tasks

    async def _shown(self, number: int, turn: Turn) -> ToolView:
        """What the model of a turn was shown, less what may not be called any more. No other version stands in."""
        pins = turn.answer.pins
        view = await self._whole(pins, number, available=False)  # what went down since is told as that
        other = {one.name: _NOT_SHOWN for one in view.tools if pins.get(one.name) != one.version}
        return view.without(other)

    async def collect(self, turn: Turn, tasks: dict[int, asyncio.Task[ToolResult]]) -> None:
        """Ends what still runs, and puts each result in its place: no call is left behind."""
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        for i, task in tasks.items():
            if not task.cancelled() and task.exception() is None:
                turn.results[i] = task.result()

    def decisions(self, turn: Turn) -> dict[int, asyncio.Task[ToolResult]]:
        """A task for each open question, done when it is decided and its call has a result."""
        return {
            i: asyncio.create_task(self._decided(result.call_id))
            for i in turn.open
            if (result := turn.results[i]) is not None
        }

    async def _decided(self, call_id: str) -> ToolResult:
        while True:
            result = await self._engine.wait(call_id, by=self._caller, timeout_s=60.0)
            if result.status != "pending":
                return result

    def refuse_beyond(self, number: int) -> None:
        """Calls beyond the run's bound get a result that says that they were not made."""
        turn = self._history.turns[number]
        most = self._bounds.calls
        for i in range(self._history.calls_left(number, self._bounds), len(turn.results)):
            call = turn.answer.model.calls[i]
            turn.results[i] = turn.results[i] or ToolResult(
                call_id="",
                tool_call_id=call.id,
                name=call.name,
                version=None,
                status="cancelled",
                content=f"`{call.name}` was not called: the run's bound of {most} calls is reached.",
                is_error=True,
            )


def _pinned(turn: Turn, position: int) -> ToolCall:
    """A call as the model meant it: of the version that it was shown. A version that it wrote itself stands."""
    model = turn.answer.model
    call = model.calls[position]
    cut = model.truncated_call and position == len(model.calls) - 1
    return msgspec.structs.replace(call, version=turn.answer.pins.get(call.name), truncated=cut)
