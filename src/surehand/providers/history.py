"""A conversation made whole for a provider: each call with exactly one result, and ids that differ.

The stored history is never changed. The same messages give the same ids, and more messages do not change earlier ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ..call import ToolCall
from .arguments import as_object, with_arguments
from .message import CallResult, Media, Message, ModelTurn, ResultMessage, SystemMessage, UserMessage
from .offering.names import fitted
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
    media: tuple[Media, ...] = ()
    """Those that can be sent; of the others the content tells."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A model's turn with the results of its calls."""

    turn: ModelTurn
    calls: tuple[PairedCall, ...]


Entry: TypeAlias = SystemMessage | UserMessage | Exchange


def whole(messages: Sequence[Message], profile: Profile, wires: Mapping[str, str]) -> Iterator[Entry]:
    """The conversation without results that have no call, and without empty messages.

    Results belong to the turn before them and are paired by id, in order where an id is repeated.

    Args:
        messages: The stored history.
        profile: Whose rules for names and ids hold.
        wires: The export's table: our name -> name on the wire.
    """
    ids = _Ids(profile)
    image_types: frozenset[str] = profile.image_types if profile.images != "none" else frozenset()
    for index, message in enumerate(messages):
        if isinstance(message, SystemMessage | UserMessage):
            if message.content.strip():
                yield message
        elif isinstance(message, ModelTurn):
            results = _results(messages, index)
            names = _names(message, profile, wires)
            calls = [
                _paired(call, name, ids, results, image_types) for call, name in zip(message.calls, names, strict=True)
            ]
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


def _names(turn: ModelTurn, profile: Profile, wires: Mapping[str, str]) -> list[str]:
    """For each call of a turn its name on the wire, made to fit if the provider would refuse it."""
    as_written = turn.dialect == profile.name and len(turn.wire_names) == len(turn.calls)
    names: list[str] = []
    for position, call in enumerate(turn.calls):
        name = turn.wire_names[position] if as_written else ""
        if not profile.name_fits(name):
            name = wires.get(call.name, call.name)
        if not profile.name_fits(name):
            fits = fitted(name, profile.name_pattern, profile.name_start)
            name = fits.ljust(profile.name_min, "_")[: profile.name_max]
        names.append(name)
    return names


def _paired(call: ToolCall, name: str, ids: _Ids, results: list[CallResult], image_types: frozenset[str]) -> PairedCall:
    result = next((one for one in results if one.tool_call_id == call.id), None)
    if result is None:
        result = CallResult(tool_call_id=call.id, content=NOT_EXECUTED, is_error=True)
    else:
        results.remove(result)
    arguments = as_object(call.arguments)
    media = tuple(one for one in result.media if one.data and one.media_type in image_types)
    content = result.content if result.content.strip() else _NOTHING
    content = "\n".join([content, *(_told(one) for one in result.media if one not in media)])
    return PairedCall(
        id=ids.take(call.id),
        name=name,
        arguments=arguments or {},
        readable=arguments is not None,
        content=content if arguments is not None else with_arguments(content, call.arguments),
        is_error=result.is_error,
        media=media,
    )


def _told(media: Media) -> str:
    kept = f", kept as artifact {media.artifact_id}" if media.artifact_id else ""
    return f"[There is an image here that cannot be shown to you: {media.media_type}{kept}]"


class _Ids:
    """Gives every call of a request an id of its own that the provider accepts."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        length = self._profile.id_length
        return self._loose(wanted) if length is None else self._exact(wanted, length)

    def _exact(self, wanted: str, length: int) -> str:
        """An id that fits stays if it is the first of its name; else a hash of it and of how often it was there."""
        fits = len(wanted) == length and re.fullmatch(self._profile.id_pattern, wanted)
        found, number = wanted if fits else "", 0
        while not found or found in self._taken:
            digest = hashlib.sha256(f"{number}:{wanted}".encode("utf-8", "surrogatepass")).hexdigest()
            found, number = digest[:length], number + 1
        self._taken.add(found)
        return found

    def _loose(self, wanted: str) -> str:
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
