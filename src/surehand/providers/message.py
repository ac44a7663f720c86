"""A conversation in terms that belong to no provider, and what one answer of a model comes to."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from ..call import ToolCall

Stop = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "pause", "resources", "unknown"]
"""Why a model stopped: it was done; it waits for results; its output was cut; a filter or the model itself refused;
it wants to be asked on (`pause_turn`); the provider had no resources; or it said something that nobody knows."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one answer, as the provider counted them; 0 where it did not say."""

    input_tokens: int = 0
    output_tokens: int = 0


class SystemMessage(msgspec.Struct, frozen=True, kw_only=True, tag="system"):
    """Instructions of the application."""

    content: str


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag="user"):
    """What a person said."""

    content: str


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True, tag="model"):
    """One answer of a model."""

    dialect: str
    """The provider whose `raw` it is."""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """In the model's order, under the model's own ids and our names. An id may be empty or repeated."""
    wire_names: tuple[str, ...] = ()
    """For each call the name exactly as the model wrote it."""
    stop: Stop = "unknown"
    """What the content says wins over what the provider says: with calls it is `tool_calls`, unless cut or filtered."""
    raw_stop: str = ""
    """The provider's own word."""
    refusal: str = ""
    reasoning: str = ""
    """What the provider shows of the model's reasoning. For people: only `raw` goes back, and to this provider only."""
    truncated_call: bool = False
    """Whether the last call was cut off: it must not run, valid or not."""
    usage: Usage = Usage()
    raw: dict[str, Any] = {}
    """The provider's assistant message. Sent back to the same provider unchanged, opaque state included."""


class Media(msgspec.Struct, frozen=True, kw_only=True):
    """An image that belongs to a result. A provider that takes none is told in words that there is one."""

    media_type: str
    """Such as `image/png`."""
    data: bytes = b""
    """Empty where it is not at hand: then it is told in words too."""
    artifact_id: str = ""
    """Where it is kept, if it is."""


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the model reads of one call."""

    tool_call_id: str
    content: str
    is_error: bool = False
    media: tuple[Media, ...] = ()


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True, tag="result"):
    """The results of one turn's calls, in call order: one for each."""

    results: tuple[CallResult, ...]


Message: TypeAlias = SystemMessage | UserMessage | ModelTurn | ResultMessage
"""One entry of a conversation."""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """A piece of text as it is streamed."""

    text: str


class CallDelta(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """A call whose name is whole."""

    position: int
    id: str
    name: str


class ArgumentsDelta(msgspec.Struct, frozen=True, kw_only=True, tag="arguments"):
    """A piece of a call's arguments as the model writes them: a preview, which must never be executed."""

    position: int
    """Of the call in the answer, as its `CallDelta` said."""
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, kw_only=True, tag="reasoning"):
    """A piece of what the provider shows of the model's reasoning."""

    text: str


Delta: TypeAlias = TextDelta | CallDelta | ArgumentsDelta | ReasoningDelta
