"""`run`: an agent loop as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TypedDict, Unpack

from ..engine import Engine
from ..errors import ConfigError
from ..ports import RunRecord
from ..providers import Message, UserMessage, dialect
from ..types import Caller
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


async def run(
    engine: Engine,
    *,
    model: Model,
    caller: Caller,
    messages: Sequence[Message | str] | None = None,
    run_id: str | None = None,
    bounds: Bounds | None = None,
    **manner: Unpack[MannerFields],
) -> AsyncGenerator[RunEvent]:
    """Starts a run, or goes on with one, and tells what happens until it ends.

    Every turn is stored before its first call runs, every result before the model is asked again. Another process can
    go on with the run, by its id, when this one is gone: no stored turn is asked again, no effect happens twice.

    Args:
        engine: An open engine.
        model: What answers.
        caller: On whose behalf. Of a run that is resumed: the same person, as authenticated now.
        messages: The conversation so far; a string is what the user says. Leave it out to resume `run_id`.
        run_id: Of a stored run to go on with, or the id for the new one.
        bounds: How far it may go; a resumed run keeps its own.
        **manner: `wait` (default true): whether to stay while people decide; else the run is left waiting, and resumed
            later by its id. `stream` (true): whether to ask for streamed answers. `strict` (false): whether tools are
            exported in strict mode.

    Yields:
        Events, the last of which is `run.ended`, or `run.waiting` without `wait`. Leaving the loop early lets go of
        the run; cancelling the task ends it as `cancelled`. Either way no tool goes on behind its back.

    Raises:
        ConfigError: Neither messages nor a run id, a run id that exists, or a run that another process drives.
        NotFoundError: There is no such run in the caller's tenant.
        NotAllowedError: The run is somebody else's.
        StoreError: The store is gone, or another process took the run over.
    """
    engine.runs.attach(partial(run, engine))
    journal = await _journal(engine, model, caller, messages, run_id, bounds)
    if not isinstance(journal, Journal):
        async for event in _ending(engine, journal.tenant, journal.run_id):
            yield event
        return
    heard: asyncio.Queue[RunEvent | None] = asyncio.Queue()
    driver = Driver(
        engine, model, dialect(model.dialect), journal, caller, hear=heard.put_nowait, manner=Manner(**manner)
    )
    kind: RunEventKind = "run.resumed" if messages is None else "run.started"
    heard.put_nowait(journal.event(kind, len(journal.history.turns), model=model.name))
    async with aclosing(_told(driver, journal, heard)) as told:
        async for event in told:
            yield event


async def _journal(
    engine: Engine,
    model: Model,
    caller: Caller,
    messages: Sequence[Message | str] | None,
    run_id: str | None,
    bounds: Bounds | None,
) -> Journal | RunRecord:
    services = engine.services
    if messages is not None:
        start = Start(messages=[_message(one) for one in messages], bounds=bounds or Bounds(), caller=caller)
        return await Journal.begin(services, caller, f"{model.dialect}:{model.name}", start, run_id)
    if run_id is None:
        raise ConfigError("run: pass messages to start a run, or run_id to go on with one")
    return await Journal.take(services, caller, run_id)


async def _told(driver: Driver, journal: Journal, heard: asyncio.Queue[RunEvent | None]) -> AsyncGenerator[RunEvent]:
    """Drives in a task of its own, so that a slow listener never holds a call up."""
    task = asyncio.create_task(driver.drive(), name=f"surehand-{journal.record.run_id}")
    task.add_done_callback(lambda _: heard.put_nowait(None))
    try:
        while (event := await heard.get()) is not None:
            yield event
        await task
    except GeneratorExit:
        driver.let_go = True
        raise
    finally:
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def _ending(engine: Engine, tenant: str, run_id: str) -> AsyncGenerator[RunEvent]:
    """The last event of a run that has ended."""
    last = None
    after = 0
    while page := await engine.services.store.list_run_events(tenant, run_id, after_seq=after):
        last, after = page[-1], page[-1].seq
    if last is not None:
        yield open_event(engine.services, last)


def _message(one: Message | str) -> Message:
    return UserMessage(content=one) if isinstance(one, str) else one


__all__ = ["run"]
