"""A conversation made whole for a provider: each call with exactly one result, and ids that differ.

The stored history is never changed. The same messages give the same ids, and more messages do not change earlier ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ..call import ToolCall
from .arguments import as_object, with_arguments
from .message import CallResult, Message, ModelTurn, ResultMessage, SystemMessage, UserMessage
from .names import fitted
from .profile import Profile

NOT_EXECUTED = "not executed"
"""What a model reads of a call that has no result."""
_NOTHING = "(no output)"


class PairedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its result, as they are sent."""

    id: str
    """Unique in the request."""
    name: str
    """On the wire."""
    arguments: dict[str, Any]
    """Empty if what was written is not one JSON object; it is then told in the result."""
    readable: bool
    """Whether the arguments can be sent back as they were written."""
    content: str
    is_error: bool


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A model's turn with the results of its calls."""

    turn: ModelTurn
    calls: tuple[PairedCall, ...]


Entry: TypeAlias = SystemMessage | UserMessage | Exchange


def whole(messages: Sequence[Message], profile: Profile, wire_names: Mapping[str, str]) -> Iterator[Entry]:
    """The conversation without results that have no call, and without empty messages.

    Results belong to the turn before them and are paired by id, in order where an id is repeated.

    Args:
        messages: The stored history.
        profile: Whose rules for names and ids hold.
        wire_names: The export's table: name on the wire -> our name.
    """
    ids = _Ids(profile)
    ours = {name: wire for wire, name in wire_names.items()}
    for index, message in enumerate(messages):
        if isinstance(message, SystemMessage | UserMessage):
            if message.content.strip():
                yield message
        elif isinstance(message, ModelTurn):
            results = _results(messages, index)
            names = _names(message, profile, ours)
            calls = [_paired(call, name, ids, results) for call, name in zip(message.calls, names, strict=True)]
            yield Exchange(turn=message, calls=tuple(calls))


def _results(messages: Sequence[Message], index: int) -> list[CallResult]:
    """What follows the turn at an index, up to the next turn."""
    found: list[CallResult] = []
    for later in range(index + 1, len(messages)):
        message = messages[later]
        if isinstance(message, ModelTurn):
            break
        if isinstance(message, ResultMessage):
            found.extend(message.results)
    return found


def _names(turn: ModelTurn, profile: Profile, ours: Mapping[str, str]) -> list[str]:
    """For each call of a turn its name on the wire, made to fit if the provider would refuse it."""
    as_written = turn.dialect == profile.name and len(turn.wire_names) == len(turn.calls)
    names: list[str] = []
    for position, call in enumerate(turn.calls):
        name = turn.wire_names[position] if as_written else ""
        if not profile.name_fits(name):
            name = ours.get(call.name, call.name)
        names.append(name if profile.name_fits(name) else fitted(name, profile.name_pattern)[: profile.name_max])
    return names


def _paired(call: ToolCall, name: str, ids: _Ids, results: list[CallResult]) -> PairedCall:
    result = next((one for one in results if one.tool_call_id == call.id), None)
    if result is None:
        result = CallResult(tool_call_id=call.id, content=NOT_EXECUTED, is_error=True)
    else:
        results.remove(result)
    arguments = as_object(call.arguments)
    content = result.content if result.content.strip() else _NOTHING
    return PairedCall(
        id=ids.take(call.id),
        name=name,
        arguments=arguments or {},
        readable=arguments is not None,
        content=content if arguments is not None else with_arguments(content, call.arguments),
        is_error=result.is_error,
    )


class _Ids:
    """Gives every call of a request an id of its own that the provider accepts."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        base = fitted(wanted, self._profile.id_pattern) if wanted else "call"
        if len(base) > self._profile.id_max:
            digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            base = f"{base[: self._profile.id_max - 13]}_{digest}"
        found, number = base, 1
        while found in self._taken:
            number += 1
            suffix = f"_{number}"
            found = base[: self._profile.id_max - len(suffix)] + suffix
        self._taken.add(found)
        return found
