"""What a model or an application gave, made fit to be stored and sent: text without halves of characters, a depth."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from ..call import ToolCall
from ..errors import ConfigError
from ..providers import CallResult, Message, ModelTurn, ResultMessage, SystemMessage, UserMessage

_DEPTH = 140
"""Deeper than any arguments that a call may have, so that what is cut here is refused there."""
_TOO_DEEP = "(too deep)"
_MOST_ID = 200


def text(value: str) -> str:
    """The text with halves of surrogate pairs joined where they meet, and replaced where they are alone."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def json_value(value: Any, depth: int = _DEPTH) -> Any:
    """A JSON value of well-formed text and finite numbers, no deeper than can be stored."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return _TOO_DEEP
    if isinstance(value, list):
        return [json_value(one, depth - 1) for one in cast("list[Any]", value)]
    return {text(str(key)): json_value(one, depth - 1) for key, one in cast("dict[Any, Any]", value).items()}


def turn(model: ModelTurn) -> ModelTurn:
    """A model's answer, as it is stored and read from then on: live and after a resumption it is the same."""
    usage = msgspec.structs.replace(
        model.usage,
        input_tokens=_count(model.usage.input_tokens),
        output_tokens=_count(model.usage.output_tokens),
    )
    cleaned = msgspec.structs.replace(
        model,
        text=text(model.text),
        calls=tuple(_call(one) for one in model.calls),
        wire_names=tuple(text(one) for one in model.wire_names),
        raw_stop=text(model.raw_stop),
        refusal=text(model.refusal),
        usage=usage,
        raw=json_value(model.raw),
    )
    return msgspec.json.decode(msgspec.json.encode(cleaned), type=ModelTurn)


def _count(tokens: int) -> int:
    return min(max(tokens, 0), 1 << 53)


def _call(call: ToolCall) -> ToolCall:
    arguments = call.arguments
    if isinstance(arguments, dict) and not _finite(arguments):
        arguments = json.dumps(arguments, ensure_ascii=False)  # as it was written: it is refused
    arguments = text(arguments) if isinstance(arguments, str) else json_value(arguments)
    return msgspec.structs.replace(call, id=text(call.id), name=text(call.name), arguments=arguments)


def _finite(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def conversation(given: Any) -> list[Message]:
    """What a run is started with, cleaned likewise; a string is what the user says.

    Raises:
        ConfigError: It says nothing, holds what is no message, or a result whose call is not in the turn before it.
    """
    kind = type(given).__name__
    if isinstance(given, Message):
        raise ConfigError(f"run: messages is one {kind}; put it in brackets: messages=[...]")
    if isinstance(given, Mapping | bytes) or not isinstance(given, Iterable):
        raise ConfigError(f"run: messages must be a string or a list of messages, not {kind}")
    listed: list[Any] = [given] if isinstance(given, str) else list(cast("Iterable[Any]", given))
    messages: list[Message] = []
    ids: list[str] = []
    for place, one in enumerate(listed):
        if not isinstance(one, str | Message):
            raise ConfigError(
                f"run: messages[{place}] must be a string or a message such as sh.UserMessage, not {type(one).__name__}"
            )
        cleaned = message(UserMessage(content=one) if isinstance(one, str) else one)
        if isinstance(cleaned, ModelTurn):
            ids = [call.id for call in cleaned.calls]
        elif isinstance(cleaned, ResultMessage):
            _pair(cleaned, ids, place)
        messages.append(cleaned)
    if all(isinstance(one, SystemMessage | UserMessage) and not one.content.strip() for one in messages):
        raise ConfigError('run: messages say nothing; pass what the user says, such as messages=["Refund order 7."]')
    return messages


def _pair(message: ResultMessage, ids: list[str], place: int) -> None:
    """Takes the ids of the results out of those of the calls that have none yet."""
    for result in message.results:
        if result.tool_call_id not in ids:
            raise ConfigError(
                f"run: messages[{place}] has a result of {result.tool_call_id[:60]!r}, which is no call of the turn "
                "before it; pass the ModelTurn with that call first"
            )
        ids.remove(result.tool_call_id)


def message(one: Message) -> Message:
    """A message of the application, cleaned likewise."""
    if isinstance(one, ModelTurn):
        return turn(one)
    if isinstance(one, ResultMessage):
        results = tuple(
            CallResult(tool_call_id=text(each.tool_call_id), content=text(each.content), is_error=each.is_error)
            for each in one.results
        )
        return ResultMessage(results=results)
    return msgspec.structs.replace(one, content=text(one.content))


def run_id(value: str) -> str:
    """A run's id, if it can be one.

    Raises:
        ConfigError: It is empty, too long, or has characters that cannot be stored or shown.
    """
    if not 0 < len(value) <= _MOST_ID or not value.isprintable():
        raise ConfigError(f"run_id must have 1 to {_MOST_ID} printable characters, not {ascii(value)[:60]}")
    return value


class Pieces:
    """Pieces of streamed text, each whole: half a character is held back until the other half comes."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be told now."""
        piece = self._held + piece
        self._held = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return text(piece)

    def end(self) -> str:
        """What was held back and never completed."""
        held, self._held = self._held, ""
        return text(held)
