"""The loop: answer, calls, results, answer, until it stops. What happened is stored before what follows from it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ..call import RunStep, ToolCall, ToolResult
from ..engine import Engine
from ..errors import SurehandError
from ..event import Event
from ..providers import Dialect, ModelTurn
from ..types import Caller
from ..view import ToolView
from .asking import announced, ask
from .bounds import Reason
from .events import RunEvent, RunEventKind
from .history import Answer, Turn
from .journal import Journal
from .model import Model, ModelFailure

_FORWARDED: frozenset[str] = frozenset(
    {"call.proposed", "call.decided", "call.waiting", "call.started", "call.progress", "call.finished"}
)
_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a run is driven here."""

    wait: bool = True
    """Whether to stay while people decide. Else the run is left waiting, and is resumed later by its id."""
    stream: bool = True
    """Whether to ask the model for streamed answers."""
    strict: bool = False
    """Whether tools are exported in strict mode."""


class Driver:
    """Drives one run in this process.

    Args:
        engine: Makes the calls.
        model: Answers.
        dialect: The model's.
        journal: The run, taken.
        caller: On whose behalf, as authenticated now.
        hear: Told every event.
        manner: How.
    """

    def __init__(
        self,
        engine: Engine,
        model: Model,
        dialect: Dialect,
        journal: Journal,
        caller: Caller,
        *,
        hear: Callable[[RunEvent], None],
        manner: Manner,
    ) -> None:
        self._engine = engine
        self._model = model
        self._dialect = dialect
        self._journal = journal
        self._caller = caller
        self._hear = hear
        self._wait = manner.wait
        self._stream = manner.stream
        self._strict = manner.strict
        self._history = journal.history
        self._spent_s = 0.0
        self.let_go = False
        """Whether a cancellation only means that nobody listens here any more."""

    async def drive(self) -> None:
        """Goes on until the run ends, or waits for people and nobody waits with it."""
        stop_listening = self._engine.on_event(self._forward)
        try:
            while not await self._step():
                pass
        except asyncio.CancelledError:
            await asyncio.shield(self._let_go() if self.let_go else self._cancel())
            raise
        finally:
            stop_listening()

    async def _step(self) -> bool:
        """One turn, or the rest of one. True when there is nothing more to do here."""
        if await self._journal.cancelled():
            return await self._end("cancelled", "somebody stopped it")
        if self._history.turns and self._history.turns[-1].open:
            return await self._results(len(self._history.turns) - 1)
        last = self._history.turns[-1] if self._history.turns else None
        if last is not None:
            end = _end_of(last.answer.model) or self._history.end(self._journal.start.bounds)
            if end is not None:
                return await self._end(*end)
        if self._spent_s >= self._journal.start.bounds.seconds:
            return await self._end("limit", f"the run's bound of {self._journal.start.bounds.seconds:g} s is reached")
        return await self._answer()

    async def _answer(self) -> bool:
        number = len(self._history.turns)
        view = await self._view()
        self._tell("turn.started", number, {"view_digest": view.digest, "tools": len(view.tools)})
        clock = self._engine.services.clock
        began = clock.monotonic()
        try:
            model = await ask(
                self._model,
                self._dialect,
                self._history.messages(),
                self._dialect.export(view, strict=self._strict),
                bounds=self._journal.start.bounds,
                stream=self._stream,
                tell=lambda kind, data: self._tell(kind, number, data),
            )
        except ModelFailure as failure:
            return await self._model_failed(failure)
        finally:
            self._spent_s += clock.monotonic() - began
        pins = {entry.name: entry.version for entry in view.tools}
        answer = Answer(model=model, pins=pins)
        runs = model.stop in ("tool_calls", "length") and not model.refusal
        results: list[ToolResult | None] = [None] * len(model.calls) if runs else []
        self._history.turns.append(Turn(answer=answer, view_digest=view.digest, results=results))
        usage = {"input_tokens": model.usage.input_tokens, "output_tokens": model.usage.output_tokens}
        self._tell("turn.finished", number, {"stop": model.stop, "calls": len(results), "usage": usage})
        # Stored before the first call runs: a stored turn is never asked again.
        await self._journal.save("running", turn=number)
        return False

    async def _model_failed(self, failure: ModelFailure) -> bool:
        """A failure that may pass leaves the run open for whoever resumes it; any other ends it."""
        text = self._engine.services.redactor.text(str(failure))
        if not failure.retryable:
            return await self._end("failed", text)
        self._tell("run.ended", len(self._history.turns), {"reason": "failed", "why": text, "resumable": True})
        await self._journal.save("running", release=True)
        return True

    async def _view(self) -> ToolView:
        view = await self._engine.view(self._caller, pins=self._history.pins)
        return view.without(self._history.without(self._journal.start.bounds))

    async def _results(self, number: int) -> bool:
        """Makes the calls of a turn that have no result; waits for those that people decide."""
        turn = self._history.turns[number]
        missing = [i for i, one in enumerate(turn.results) if one is None]
        if missing:
            clock = self._engine.services.clock
            began = clock.monotonic()
            before = set(self._history.without(self._journal.start.bounds))
            try:
                await self._call(number, turn, missing)
            finally:
                self._spent_s += clock.monotonic() - began
            for name, why in self._history.without(self._journal.start.bounds).items():
                if name not in before:
                    self._tell("tool.narrowed", number, {"name": name, "why": why})
        if not turn.open:
            await self._journal.save("running", turn=number)
            return False
        for i in turn.open:
            result = turn.results[i]
            assert result is not None
            turn.results[i] = await self._engine.resume(result.call_id, by=self._caller)
        if not turn.open:
            await self._journal.save("running", turn=number)
            return False
        waiting = [result for i in turn.open if (result := turn.results[i]) is not None]
        calls = {"approvals": [one.approval_id for one in waiting], "calls": [one.call_id for one in waiting]}
        self._tell("run.waiting", number, calls)
        await self._journal.save("waiting", turn=number, release=not self._wait)
        return await self._decisions(number, turn) if self._wait else True

    async def _call(self, number: int, turn: Turn, positions: list[int]) -> None:
        """All at once; each result in its place. Cancelled ones are told as such, none is left behind."""
        view = await self._view()
        tasks = {
            i: asyncio.create_task(
                self._engine.call(
                    self._pinned(turn, i),
                    self._caller,
                    run=RunStep(run_id=self._journal.record.run_id, turn=number, position=i),
                    view=view,
                )
            )
            for i in positions
        }
        await self._gather(turn, tasks)

    async def _gather(self, turn: Turn, tasks: dict[int, asyncio.Task[ToolResult]]) -> None:
        try:
            await asyncio.wait(tasks.values())
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
            raise
        finally:
            for i, task in tasks.items():
                if task.done() and not task.cancelled() and task.exception() is None:
                    turn.results[i] = task.result()
        for task in tasks.values():
            task.result()

    def _pinned(self, turn: Turn, position: int) -> ToolCall:
        model = turn.answer.model
        call = model.calls[position]
        cut = model.truncated_call and position == len(model.calls) - 1
        return msgspec.structs.replace(call, version=None, truncated=cut)

    async def _decisions(self, number: int, turn: Turn) -> bool:
        """Waits for people. The run goes on when no question is open."""
        tasks = {
            i: asyncio.create_task(self._decided(result.call_id))
            for i in turn.open
            if (result := turn.results[i]) is not None
        }
        try:
            while tasks:
                await asyncio.wait(tasks.values(), timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                done = {i: task for i, task in tasks.items() if task.done()}
                for i, task in done.items():
                    turn.results[i] = task.result()
                    del tasks[i]
                if done:
                    await self._journal.save("waiting" if tasks else "running", turn=number)
                elif await self._journal.cancelled():
                    return False
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        return False

    async def _decided(self, call_id: str) -> ToolResult:
        while True:
            result = await self._engine.wait(call_id, by=self._caller, timeout_s=60.0)
            if result.status != "pending":
                return result

    async def _end(self, reason: Reason, why: str) -> bool:
        number = max(0, len(self._history.turns) - 1)
        text = self._history.turns[-1].answer.model.text if self._history.turns else ""
        if reason == "cancelled":
            await self._engine.runs.withdraw(self._journal.record.tenant, self._journal.record.run_id)
        self._tell("run.ended", number, {"reason": reason, "why": why, "text": text, "resumable": False})
        await self._journal.save("ended", reason=reason, turn=number if self._history.turns else None)
        return True

    async def _cancel(self) -> None:
        """The task was cancelled: every call that was made has a result, and the run has ended."""
        if self._history.turns:
            turn = self._history.turns[-1]
            for i in turn.open:
                turn.results[i] = _cancelled(turn.answer.model.calls[i], turn.results[i])
        with contextlib.suppress(SurehandError):
            await self._end("cancelled", "its task was cancelled")

    async def _let_go(self) -> None:
        waiting = bool(self._history.turns and self._history.turns[-1].open)
        with contextlib.suppress(SurehandError):
            number = len(self._history.turns) - 1 if self._history.turns else None
            await self._journal.save("waiting" if waiting else "running", turn=number, release=True)

    def _tell(self, kind: RunEventKind, turn: int, data: dict[str, Any]) -> None:
        self._hear(self._journal.event(kind, turn, **data))

    def _forward(self, event: Event) -> None:
        if event.run_id == self._journal.record.run_id and event.kind in _FORWARDED:
            about = {"call_id": event.call_id, "tool_call_id": event.tool_call_id, "name": event.name}
            kind: Any = event.kind
            self._tell(kind, len(self._history.turns) - 1, {**about, "position": event.position, **event.data})


def _end_of(model: ModelTurn) -> tuple[Reason, str] | None:
    """What an answer means for the run; `None` if it goes on."""
    if model.stop == "content_filter" or model.refusal or model.stop == "refusal":
        return "refused", model.refusal or f"the provider stopped the answer: {model.raw_stop}"
    if model.calls or model.stop == "pause":
        return None
    if announced(model):
        return "degenerate", "the model announced calls and made none"
    if model.stop == "length":
        return "truncated", "the answer was cut off by its length limit"
    if not model.text.strip():
        return "degenerate", "the model said nothing"
    return "completed", ""


def _cancelled(call: ToolCall, before: ToolResult | None) -> ToolResult:
    return ToolResult(
        call_id="" if before is None else before.call_id,
        tool_call_id=call.id,
        name=call.name,
        version=None,
        status="cancelled",
        content=f"`{call.name}` was cancelled with the run.",
        is_error=True,
        approval_id=None if before is None else before.approval_id,
    )
