"""One request to the model: asked again where that may help, told as it streams."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from ..providers import Dialect, Export, Message, ModelTurn, TextDelta
from .bounds import Bounds
from .events import RunEventKind
from .model import Model, ModelFailure

Tell = Callable[[RunEventKind, dict[str, Any]], None]


async def ask(
    model: Model,
    dialect: Dialect,
    messages: list[Message],
    export: Export,
    *,
    bounds: Bounds,
    stream: bool,
    tell: Tell,
) -> ModelTurn:
    """The model's answer to the conversation.

    Raises:
        ModelFailure: It could not answer, as often as the bounds allow.
    """
    silent = failed = 0
    request = dialect.request(messages, export)
    while True:
        try:
            turn = await _once(model, dialect, request, export, stream=stream, tell=tell)
        except ModelFailure as failure:
            failed += 1
            if not failure.retryable or failed >= bounds.model_attempts:
                raise
            tell("turn.retry", {"why": str(failure)})
            await asyncio.sleep(bounds.model_wait_s * 2 ** (failed - 1) * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            continue
        if not _is_silent(turn) or silent >= bounds.silence:
            return turn
        silent += 1
        tell("turn.retry", {"why": "the model said nothing"})


async def _once(
    model: Model, dialect: Dialect, request: dict[str, Any], export: Export, *, stream: bool, tell: Tell
) -> ModelTurn:
    if not stream:
        turn = dialect.decode(await model.complete(request), export)
        if turn.text:
            tell("text", {"text": turn.text})
        return _answered(turn)
    fold = dialect.fold(export)
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            for delta in fold.feed(event):
                if isinstance(delta, TextDelta):
                    tell("text", {"text": delta.text})
                else:
                    tell("call.named", {"position": delta.position, "tool_call_id": delta.id, "name": delta.name})
    return _answered(fold.end())


def _answered(turn: ModelTurn) -> ModelTurn:
    if turn.stop == "resources":
        raise ModelFailure("the provider had no resources for the answer", retryable=True)
    return turn


def _is_silent(turn: ModelTurn) -> bool:
    """Nothing at all: no text, no call, no refusal, and no announcement of calls either."""
    return not (turn.text.strip() or turn.calls or turn.refusal) and turn.stop == "stop" and not announced(turn)


def announced(turn: ModelTurn) -> bool:
    """Whether the provider said that calls follow, and none did."""
    return turn.raw_stop in ("tool_calls", "tool_use", "function_call") and not turn.calls
