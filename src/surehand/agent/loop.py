"""The loop: answer, calls, results, answer, until it stops. What happened is stored before what follows from it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ..call import RunStep, ToolResult
from ..engine import Engine
from ..engine.last_turn import end_calls, ended_elsewhere
from ..engine.run_parts import BY_HAND
from ..engine.stopping import withdraw_all
from ..errors import ConfigError, SurehandError
from ..event import Event
from ..ports import RunStatus
from ..providers import AUTO, Choice, Dialect, Export, ModelTurn
from ..types import Caller
from ..view import ToolView
from .asking import Asker, announced
from .at_work import AtWork
from .bounds import Reason
from .calling import Calling
from .events import RunEvent, RunEventKind
from .history import Answer, Turn
from .images import with_images
from .journal import Journal
from .model import Model, ModelFailure

_FORWARDED: frozenset[str] = frozenset(
    {"call.proposed", "call.decided", "call.waiting", "call.started", "call.progress", "call.finished"}
)
_POLL_S = 1.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a run is driven here."""

    wait: bool = True
    """Whether to stay while people decide. Else the run is left waiting, and is resumed later by its id."""
    stream: bool = True
    """Whether to ask the model for streamed answers."""
    strict: bool = False
    """Whether tools are exported in strict mode."""
    choice: Choice = AUTO
    """What the model may do with its tools; the mode is for the first answer only, or no run would end."""

    def choice_in(self, turn: int) -> Choice:
        """For one answer."""
        return self.choice if turn == 0 else Choice(parallel=self.choice.parallel)


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
        self._journal = journal
        self._caller = caller
        self._state = caller.run_state or "acting"
        self._hear = hear
        self._manner = manner
        self._history = journal.history
        self._bounds = journal.start.bounds
        self._dialect = dialect
        self._spent_s = journal.history.spent_s
        self._at_work = AtWork(engine.services.clock)
        self._heard_later: list[RunEvent] | None = None
        self._ended = journal.history.ended()
        """Turn and position of calls whose end was told: with what is stored, by whoever stored it."""
        self._asker = Asker(
            model=model,
            dialect=dialect,
            bounds=self._bounds,
            stream=manner.stream,
            redact=engine.services.redactor.text,
        )
        self._calling = Calling(engine, caller, journal, tools_max=dialect.profile.tools_max)

    @property
    def run_id(self) -> str:
        """Of the run."""
        return self._journal.record.run_id

    async def drive(self, kind: RunEventKind) -> None:
        """Goes on until the run ends, or waits for people and nobody waits with it. `leave` must follow, always."""
        stop_listening = self._engine.on_event(self._forward)
        try:
            # Stored before it is told: whoever takes the run after this process numbers its events beyond it.
            await self._save_and_tell(kind, len(self._history.turns), {"model": self._model.name}, self._status)
            while not await self._step():
                pass
        finally:
            stop_listening()

    async def leave(self, how: Literal["cancel", "let go"]) -> None:
        """Ends a run whose task was cancelled; else lets go of it, unless it has ended or was let go already."""
        with contextlib.suppress(SurehandError):
            if not self._journal.held:
                await self._journal.pay()
            elif how == "cancel":
                await self._end("cancelled", "its task was cancelled")
            elif await self._journal.cancelled():
                await self._end("cancelled", BY_HAND)
            else:
                self._history.spent_s = self._spent_s
                if self._history.turns:
                    self._tell_ends(len(self._history.turns) - 1, self._history.turns[-1])
        if self._journal.held:
            with contextlib.suppress(SurehandError):
                await self._journal.save(self._status, turn=self._last, release=True)

    @property
    def _last(self) -> int | None:
        return len(self._history.turns) - 1 if self._history.turns else None

    @property
    def _status(self) -> RunStatus:
        waits = self._history.turns and any(one is not None for one in self._history.turns[-1].open_results)
        return "waiting" if waits else "running"

    async def _step(self) -> bool:
        """One turn, or the rest of one. True when there is nothing more to do here."""
        if await self._journal.cancelled():
            return await self._end("cancelled", BY_HAND)
        last = self._history.turns[-1] if self._history.turns else None
        if last is not None and last.open:
            return await self._results(len(self._history.turns) - 1, last)
        if last is not None:
            end = _end_of(last.answer.model) or self._history.end(self._bounds)
            if end is not None:
                return await self._end(*end)
        if self._spent_s >= self._bounds.seconds:
            return await self._too_long()
        return await self._answer()

    async def _too_long(self) -> bool:
        return await self._end("limit", f"the run's bound of {self._bounds.seconds:g} s is reached")

    async def _answer(self) -> bool:
        number = len(self._history.turns)
        view = await self._calling.view(self._history.pins, number)
        self._tell("turn.started", number, {"view_digest": view.digest, "tools": len(view.tools), "state": self._state})
        try:
            export = self._dialect.export(view, strict=self._manner.strict)
        except ConfigError as error:
            return await self._end("failed", self._engine.services.redactor.text(str(error)))
        try:
            model = await self._timed(self._asked(number, export))
        except ModelFailure as failure:
            return await self._model_failed(failure)
        if model is None:
            return False  # the next step says why
        self._keep(model, view)
        return await self._store_answer(number)

    async def _asked(self, number: int, export: Export) -> ModelTurn | None:
        """The model's answer; nothing if its time is over or the run was stopped meanwhile."""

        def tell(kind: RunEventKind, data: dict[str, Any]) -> None:
            self._tell(kind, number, data)

        messages = await with_images(self._engine, self._caller, self._history.messages())
        asking = asyncio.create_task(self._asker.ask(messages, export, self._manner.choice_in(number), tell))
        cut = False
        try:
            async with asyncio.timeout(self._bounds.seconds - self._spent_s):
                cut = not await self._watched({asking})
        except TimeoutError:
            cut, self._spent_s = True, self._bounds.seconds
        finally:
            asking.cancel()
            await asyncio.wait([asking])
        if not cut and asking.cancelled():
            raise ModelFailure("the model cancelled its own request", retryable=False)
        return None if cut else asking.result()

    def _keep(self, model: ModelTurn, view: ToolView) -> None:
        pins = {entry.name: entry.version for entry in view.tools}
        runs = model.stop in ("tool_calls", "length") and not model.refusal
        results: list[ToolResult | None] = [None] * len(model.calls) if runs else []
        down = {name for name, why in view.hidden.items() if why.reason == "unavailable"}
        left = sorted(down & self._history.pins.keys())
        answer = Answer(model=model, pins=pins, left=tuple(left))
        self._history.turns.append(Turn(answer, view.digest, results, self._spent_s))

    async def _store_answer(self, number: int) -> bool:
        """Stored before the first call runs: a stored turn is never asked again."""
        turn = self._history.turns[number]
        usage = turn.answer.model.usage
        told = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        data = {"stop": turn.answer.model.stop, "calls": len(turn.results), "usage": told}
        await self._save_and_tell("turn.finished", number, data, "running", turn=number)
        return False

    async def _model_failed(self, failure: ModelFailure) -> bool:
        """A failure that may pass leaves the run open for whoever resumes it; any other ends it."""
        if not failure.retryable:
            return await self._end("failed", str(failure))
        if await self._journal.cancelled():
            return await self._end("cancelled", BY_HAND)
        self._history.spent_s = self._spent_s
        data = {"reason": "failed", "why": str(failure), "resumable": True}
        await self._save_and_tell("run.ended", len(self._history.turns), data, "running", turn=self._last, release=True)
        return True

    async def _results(self, number: int, turn: Turn) -> bool:
        """Makes the calls of a turn that have no result; waits for those that people decide."""
        self._calling.refuse_beyond(number)
        tasks = await self._calling.begin(number)
        try:
            stopped = not await self._timed(self._watched(set(tasks.values())))
        finally:
            turn.spent_s = self._spent_s
            await self._calling.collect(turn, tasks)
        if stopped:
            return False  # the next step ends the run
        self._tell_ends(number, turn)
        for task in tasks.values():
            task.result()
        if not turn.open:
            return await self._close(number)
        if any(i in turn.open for i in self._calling.fresh):
            return False  # asked once more: perhaps it was approved at once
        return await self._people(number, turn)

    async def _close(self, number: int) -> bool:
        """All calls of a turn have results."""
        before = self._history.without(self._bounds, number)
        for name, why in self._history.without(self._bounds).items():
            if name not in before:
                self._tell("tool.narrowed", number, {"name": name, "why": why.why})
        await self._journal.save("running", turn=number)
        return False

    async def _people(self, number: int, turn: Turn) -> bool:
        if not self._manner.wait and await self._journal.cancelled():
            return await self._end("cancelled", BY_HAND)
        waiting = [result for result in turn.open_results if result is not None]
        data = {
            "approvals": [one.approval_id for one in waiting],
            "calls": [one.call_id for one in waiting],
            "state": "waiting_human",
        }
        await self._save_and_tell("run.waiting", number, data, "waiting", turn=number, release=not self._manner.wait)
        return await self._decisions(number, turn) if self._manner.wait else True

    async def _decisions(self, number: int, turn: Turn) -> bool:
        """Waits for people. The run goes on when no question is open. What is approved runs on the run's own time."""
        self._at_work.reset()
        tasks = self._calling.decisions(turn)
        try:
            while tasks:
                await asyncio.wait(tasks.values(), timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                done = {i: task for i, task in tasks.items() if task.done()}
                for i, task in done.items():
                    self._at_work.end(i)
                    turn.results[i] = task.result()
                    del tasks[i]
                self._count(turn)
                self._tell_ends(number, turn)
                if not tasks:
                    return await self._close(number)
                if done:
                    await self._journal.save("waiting", turn=number)
                elif await self._journal.cancelled():
                    return False
        finally:
            await self._calling.collect(turn, tasks)
            self._count(turn)
        return False

    def _count(self, turn: Turn) -> None:
        self._spent_s += self._at_work.taken()
        turn.spent_s = self._spent_s

    async def _watched(self, tasks: set[asyncio.Task[Any]]) -> bool:
        """Waits for all; false, and they are cancelled, if somebody stopped the run meanwhile."""
        pending: set[asyncio.Task[Any]] = tasks
        while pending:
            _, pending = await asyncio.wait(pending, timeout=_POLL_S)
            if pending and await self._journal.cancelled():
                for task in pending:
                    task.cancel()
                return False
        return True

    async def _timed(self, work: Coroutine[Any, Any, T]) -> T:
        clock = self._engine.services.clock
        began = clock.monotonic()
        try:
            return await work
        finally:
            self._spent_s += clock.monotonic() - began

    async def _end(self, reason: Reason, why: str) -> bool:
        number = self._last or 0
        text, self._history.spent_s = "", self._spent_s
        if reason == "cancelled":
            await withdraw_all(self._engine.services, self._journal.record.tenant, self.run_id)
        if self._history.turns:
            turn = self._history.turns[-1]
            text = turn.answer.model.text
            step = RunStep(run_id=self.run_id, turn=number)
            calls = turn.answer.model.calls
            for i, one in (await end_calls(self._engine.services, self._caller, step, calls, turn.results)).items():
                turn.results[i] = one
            self._tell_ends(number, turn)
        data = {"reason": reason, "why": why, "text": text, "resumable": False}
        await self._save_and_tell("run.ended", number, data, "ended", reason=reason, turn=self._last)
        return True

    # -- telling --------------------------------------------------------------------------------------

    def _tell(self, kind: RunEventKind, turn: int, data: dict[str, Any]) -> None:
        event = self._journal.event(kind, turn, **data)
        if self._heard_later is None:
            self._hear(event)
        else:
            self._heard_later.append(event)

    def _tell_ends(self, number: int, turn: Turn) -> None:
        """Of calls that ended elsewhere: resumed by hand, by another process, or in another run that shares them."""
        for i, result in enumerate(turn.results):
            if result is not None and result.status != "pending" and (number, i) not in self._ended:
                self._ended.add((number, i))
                self._tell("call.finished", number, ended_elsewhere(result, i))

    async def _save_and_tell(
        self, kind: RunEventKind, number: int, data: dict[str, Any], status: RunStatus, **save: Any
    ) -> None:
        """Tells an event only when it is stored, and nothing that came after it before."""
        event = self._journal.event(kind, number, **data)
        later = self._heard_later = list[RunEvent]()
        try:
            await self._journal.save(status, **save)
            self._hear(event)
        finally:
            self._heard_later = None
            for one in later:
                self._hear(one)

    def _forward(self, event: Event) -> None:
        record = self._journal.record
        own = (event.tenant, event.run_id) == (record.tenant, record.run_id) and not event.parent_call_id
        if own and event.kind in _FORWARDED:
            about = {"call_id": event.call_id, "tool_call_id": event.tool_call_id, "name": event.name}
            kind: Any = event.kind
            number = len(self._history.turns) - 1
            if kind == "call.started":
                self._at_work.begin(event.position)
            if kind == "call.finished":
                self._at_work.end(event.position)
                self._ended.add((number, event.position))
            self._tell(kind, number, {**about, "position": event.position, **event.data})


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
