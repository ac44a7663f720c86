"""`run`: an agent loop as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Literal, TypedDict, Unpack

from ..engine import Engine, Runs
from ..engine.last_turn import last_turn
from ..engine.run_parts import last_seq
from ..errors import ConfigError
from ..pipeline import Services, new_id
from ..ports import RunRecord
from ..providers import Choice, Message, dialect
from ..types import Caller
from . import wellformed
from .bounds import Bounds
from .events import RunEvent, RunEventKind
from .journal import Journal, Start, open_event
from .loop import Driver, Manner
from .model import Model


class MannerFields(TypedDict, total=False):
    """How `run` drives; see there."""

    wait: bool
    stream: bool
    strict: bool
    choice: Choice


async def run(
    engine: Engine,
    *,
    model: Model,
    caller: Caller,
    messages: Sequence[Message | str] | str | None = None,
    run_id: str | None = None,
    bounds: Bounds | None = None,
    scene: str | None = None,
    **manner: Unpack[MannerFields],
) -> AsyncGenerator[RunEvent]:
    """Starts a run, or goes on with one, and tells what happens until it ends.

    Every turn is stored before its first call runs, every result before the model is asked again. Another process can
    go on with the run, by its id, when this one is gone: no stored turn is asked again, no effect happens twice.

    Args:
        engine: An open engine.
        model: What answers.
        caller: On whose behalf. Of a run that is resumed: the same person, as authenticated now.
        messages: The conversation so far; strings are what the user says. Leave it out to resume `run_id`.
        run_id: Of a stored run to go on with, or the id for the new one.
        bounds: How far it may go; a resumed run keeps its own.
        scene: Narrows what the model sees and may call; a resumed run keeps its own, unless another is named.
        **manner: `wait` (default true): whether to stay while people decide; else the run is left waiting, and resumed
            later by its id. `stream` (true): whether to ask for streamed answers. `strict` (false): whether tools are
            exported in strict mode. `choice` (`Choice()`): whether the model must, may or must not call in its first
            answer, and whether several at once in any.

    Yields:
        Events, the last of which is `run.ended`, or `run.waiting` without `wait`. Leaving the loop early lets go of
        the run; cancelling the task ends it as `cancelled`. Either way no tool goes on behind its back.

    Raises:
        ConfigError: No messages and no run id, messages that say nothing or hold a result without its call, a run id
            that exists or cannot be one, a run that is driven already, here or elsewhere, an unknown scene or dialect.
        NotFoundError, NotAllowedError: There is no such run in the caller's tenant, or it is somebody else's.
        StoreError: The store is gone, or another process took the run over.
    """
    services, spoken = engine.services, dialect(model.dialect)
    how = Manner(**manner)
    caller = caller if scene is None else engine.in_scene(caller, scene)
    given = None if messages is None else wellformed.conversation(messages)
    told_id = _id(run_id, new=messages is not None)
    with _alone(services, caller.tenant, told_id):
        taking = asyncio.create_task(_journal(services, model, caller, given, told_id, bounds))
        interrupted = await _outlast(taking)
        if interrupted and (taking.exception() is not None or not isinstance(taking.result(), Journal)):
            raise asyncio.CancelledError
        journal = taking.result()
        if not isinstance(journal, Journal):
            yield await _ending(services, journal)
            return
        caller = caller.in_scene(caller.scene or journal.start.caller.scene)
        heard: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        driver = Driver(engine, model, spoken, journal, caller, hear=heard.put_nowait, manner=how)
        kind: RunEventKind = "run.resumed" if messages is None else "run.started"
        async with aclosing(_told(driver, kind, heard, interrupted=interrupted)) as told:
            async for event in told:
                yield event


def _id(run_id: str | None, *, new: bool) -> str:
    if run_id is not None:
        return wellformed.run_id(run_id)
    if not new:
        raise ConfigError("run: pass messages to start a run, or run_id to go on with one")
    return new_id("run")


@contextmanager
def _alone(services: Services, tenant: str, run_id: str) -> Generator[None]:
    """Keeps other drivers in this engine away; those of other engines are kept away by the owner in the store."""
    key = (tenant, run_id)
    if key in services.driving:
        raise ConfigError(f"run {run_id!r} is being driven by this process already")
    services.driving.add(key)
    try:
        yield
    finally:
        services.driving.discard(key)


async def _journal(
    services: Services,
    model: Model,
    caller: Caller,
    messages: list[Message] | None,
    run_id: str,
    bounds: Bounds | None,
) -> Journal | RunRecord:
    if messages is None:
        return await Journal.take(services, caller, run_id)
    start = Start(messages=messages, bounds=bounds or Bounds(), caller=caller)
    return await Journal.begin(services, caller, f"{model.dialect}:{model.name}", start, run_id)


async def _told(
    driver: Driver, kind: RunEventKind, heard: asyncio.Queue[RunEvent | None], *, interrupted: bool
) -> AsyncGenerator[RunEvent]:
    """Drives in a task of its own, so that a slow listener never holds a call up. Whatever happens, the run is left."""
    task: asyncio.Task[None] | None = None
    how: Literal["cancel", "let go"] = "let go"
    try:
        if interrupted:
            raise asyncio.CancelledError
        task = asyncio.create_task(driver.drive(kind), name=f"surehand-{driver.run_id}")
        task.add_done_callback(lambda _: heard.put_nowait(None))
        while (event := await heard.get()) is not None:
            yield event
        await task
    except asyncio.CancelledError:
        how = "cancel"
        raise
    finally:
        leaving = asyncio.create_task(_leave(driver, task, how))
        if await _outlast(leaving):
            raise asyncio.CancelledError


async def _leave(driver: Driver, task: asyncio.Task[None] | None, how: Literal["cancel", "let go"]) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
    await driver.leave(how)


async def _outlast(task: asyncio.Task[Any]) -> bool:
    """Waits for a task to its end, and says whether this one was cancelled meanwhile."""
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            interrupted = True
    return interrupted


async def _ending(services: Services, record: RunRecord) -> RunEvent:
    """The last event of a run that has ended; made from the record if it was not stored."""
    seq = await last_seq(services, record.tenant, record.run_id)
    for stored in await services.store.list_run_events(record.tenant, record.run_id, after_seq=seq - 1):
        event = open_event(services, stored)
        if event.kind == "run.ended" and not event.data.get("resumable"):
            return event
    text = (await last_turn(services, record)).text
    return RunEvent(
        run_id=record.run_id,
        seq=seq + 1,
        turn=max(0, record.turns - 1),
        kind="run.ended",
        at_us=record.updated_us,
        data={"reason": record.reason, "why": "", "text": text, "resumable": False},
    )


Runs.attach(run)


__all__ = ["run"]
