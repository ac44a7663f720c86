"""THE order of a call. Each stage is a file of its own; this one says when it runs, and nothing else does.

     1 resolve    the name in this caller's view
     2 parse      strict JSON, bounded; loose spelling where the engine is lenient
       before     interceptors and `tool.pre`, on copies
     3 validate   exact recorded coercions, defaults, the pinned schema
     4 enrich     injected arguments, then the tool's own `check`
     5 authorize  policy on the final arguments: Allow, Deny or Ask
     6 claim      one transaction by key: a repeat answers for itself, a question waits, the rest is ours
     7 start      the intent is durable; for an approved call everything is checked again
     8 execute    runner, deadline, retry where the contract allows it
     9 settle     the raw outcome is durable
    10 shape      output schema, `tool.post` and `after`, redact, cap, text, record

A read-only call that nobody must be asked about is not in the ledger: 6, 7 and 9 are in memory (`read`). Between 5 and
6, a breaker refuses calls of what is down.
A stage that returns a `Stop` sends the call straight to 10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..approval import Approval
from ..call import ToolResult
from ..errors import ToolError
from ..policy import Allow
from ..ports import Existing
from .authorize import authorize
from .before import before
from .breaker import admit, leave
from .claim import claim
from .edited import Editor, replace
from .enrich import enrich
from .execute import execute, fault
from .parse import parse
from .passage import Passage, Stop
from .read import read
from .resolve import resolve
from .services import Services
from .settle import settle
from .shape import shape
from .start import start
from .validate import validate

T = TypeVar("T")


async def perform(p: Passage, s: Services) -> ToolResult:
    """Takes one call from the model's words to its result. Raises `CancelledError` if the caller gives up."""
    stop = await _prepare(p, s)
    if stop is None and p.spec.read_only and isinstance(p.decision, Allow):
        return await read(p, s, perform)
    if stop is None:
        stop = await _to_the_end(p, _effect(p, s))
    return await shape(p, s, stop)


async def carry_on(p: Passage, s: Services, stop: Stop | None = None) -> ToolResult:
    """Takes a call that waited for a person (`p.record`) on from the ledger. All of 1 to 5 holds as of today.

    Args:
        p: A passage made from the stored call.
        s: The services.
        stop: A reason not to run it that is known before stage 1.
    """
    stop = stop or await _prepare(p, s)
    return await shape(p, s, await _to_the_end(p, _approved(p, s, stop)))


async def revise(p: Passage, s: Services, by: Editor) -> Approval | ToolError | Existing | None:
    """Asks anew about a waiting call whose arguments a person changed. Nothing runs; see `edited.replace`."""
    stop = await _prepare(p, s)
    if stop is not None and stop.error is not None:
        return stop.error
    return await replace(p, s, by)


async def _prepare(p: Passage, s: Services) -> Stop | None:
    return resolve(p, s) or parse(p, s) or await before(p, s) or validate(p, s) or await enrich(p, s) or authorize(p, s)


async def _effect(p: Passage, s: Services) -> Stop | None:
    with _passing(p, s):
        return admit(p, s) or await claim(p, s) or await _run(p, s)


async def _approved(p: Passage, s: Services, stop: Stop | None) -> Stop | None:
    with _passing(p, s):
        return await start(p, s, stop or admit(p, s)) or await _run(p, s)


@contextmanager
def _passing(p: Passage, s: Services) -> Generator[None]:
    """Two may carry one call on at once; the one that loses must not make the other's look abandoned."""
    s.passing[p.call_id] += 1
    try:
        yield
    finally:
        leave(p, s)
        s.passing[p.call_id] -= 1
        if not s.passing[p.call_id]:
            del s.passing[p.call_id]


async def _run(p: Passage, s: Services) -> Stop | None:
    """From here on the call is ours and running: whatever happens, it is settled."""
    try:
        await execute(p, s, perform)
    except asyncio.CancelledError as error:
        p.outcome, p.spent = fault(p, s, error), True
        await asyncio.shield(settle(p, s))
        raise
    except Exception as error:
        p.outcome, p.spent = fault(p, s, error), True
    return await settle(p, s)


async def _to_the_end(p: Passage, work: Coroutine[Any, Any, T]) -> T:
    """Runs work that must not stop half-way. If the caller gives up, the handler is told, then the ledger."""
    p.stop = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.done():
            raise
        p.stop.set_result(None)
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        raise
