"""One request to the model: asked again where that may help, told as it streams, its answer made fit to be stored."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ..errors import ConfigError
from ..providers import CallDelta, Choice, Dialect, Export, Fold, Message, ModelTurn, TextDelta
from . import wellformed
from .bounds import Bounds
from .events import RunEventKind
from .model import Model, ModelFailure
from .script import ScriptError

T = TypeVar("T")
Tell = Callable[[RunEventKind, dict[str, Any]], None]
_log = logging.getLogger("surehand.agent")
_ANNOUNCING: Final = frozenset(
    {"tool_calls", "tool_use", "function_call", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
)
"""Words of providers for an answer that calls tools, or that should have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one model."""

    model: Model
    dialect: Dialect
    bounds: Bounds
    stream: bool
    """Whether to ask for a streamed answer."""
    redact: Callable[[str], str]

    async def ask(self, messages: list[Message], export: Export, choice: Choice, tell: Tell) -> ModelTurn:
        """The model's answer to the conversation.

        Raises:
            ModelFailure: It could not answer, as often as the bounds allow, or its provider cannot be told the choice;
                its text holds no secret.
        """
        silent = failed = 0
        request = self._request(messages, export, choice)
        while True:
            try:
                turn = await self._once(request, export, tell)
            except ModelFailure as failure:
                failed += 1
                why = self.redact(wellformed.text(str(failure)))
                if not failure.retryable or failed >= self.bounds.model_attempts:
                    raise ModelFailure(why, retryable=failure.retryable) from None
                tell("turn.retry", {"why": why})
                await asyncio.sleep(self.bounds.model_wait_s * 2 ** (failed - 1) * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
                continue
            if not _is_silent(turn) or silent >= self.bounds.silence:
                return turn
            silent += 1
            tell("turn.retry", {"why": "the model said nothing"})

    def _request(self, messages: list[Message], export: Export, choice: Choice) -> dict[str, Any]:
        try:
            return self.dialect.request(messages, export, choice)
        except ConfigError as error:
            problem = ModelFailure(self.redact(str(error)), retryable=False)
        raise problem

    async def _once(self, request: dict[str, Any], export: Export, tell: Tell) -> ModelTurn:
        if not self.stream:
            answer = await self._guarded(self.model.complete(request))
            turn = self._read(lambda: wellformed.turn(self.dialect.decode(answer, export)))
            if turn.text:
                tell("text", {"text": turn.text})
        else:
            fold = self.dialect.fold(export)
            async with aclosing(self.model.stream(request)) as events:
                await self._fold(events, fold, tell)
            turn = self._read(lambda: wellformed.turn(fold.end()))
        if turn.stop == "resources":
            raise ModelFailure("the provider had no resources for the answer", retryable=True)
        return turn

    async def _fold(self, events: AsyncGenerator[dict[str, Any]], fold: Fold, tell: Tell) -> None:
        pieces = wellformed.Pieces()
        while (event := await self._guarded(anext(events, None))) is not None:
            for delta in self._read(lambda event=event: fold.feed(event)):
                if isinstance(delta, CallDelta):
                    named = {"position": delta.position, "tool_call_id": delta.id, "name": delta.name}
                    tell("call.named", wellformed.json_value(named))
                elif isinstance(delta, TextDelta) and (piece := pieces.add(delta.text)):
                    tell("text", {"text": piece})
        if rest := pieces.end():
            tell("text", {"text": rest})

    async def _guarded(self, answering: Awaitable[T]) -> T:
        """What the model does; any fault of it is a failure that the run can tell."""
        try:
            return await answering
        except (ModelFailure, ScriptError):
            raise
        except ConfigError as error:
            problem = ModelFailure(str(error), retryable=False)
        except Exception as error:
            told = self._logged("the model failed", error)
            problem = ModelFailure(told, retryable=False)
        raise problem

    def _read(self, reading: Callable[[], T]) -> T:
        try:
            return reading()
        except Exception as error:
            self._logged("the answer could not be read", error)
            problem = ModelFailure("the answer could not be read", retryable=False)
        raise problem

    def _logged(self, what: str, error: Exception) -> str:
        detail = wellformed.text(str(error))[:300]
        told = self.redact(f"{what}: {type(error).__name__}" + (f": {detail}" if detail else ""))
        _log.error("%s", told, exc_info=(type(error), Exception("see the line above"), error.__traceback__))
        return told


def _is_silent(turn: ModelTurn) -> bool:
    """Nothing at all: no text, no call, no refusal, and no announcement of calls either."""
    return not (turn.text.strip() or turn.calls or turn.refusal) and turn.stop == "stop" and not announced(turn)


def announced(turn: ModelTurn) -> bool:
    """Whether the provider said that calls follow, and none did."""
    return turn.raw_stop in _ANNOUNCING and not turn.calls
