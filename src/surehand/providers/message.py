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
    """Whose `raw` it is."""
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
    truncated_call: bool = False
    """Whether the last call was cut off: it must not run, valid or not."""
    usage: Usage = Usage()
    raw: dict[str, Any] = {}
    """The provider's assistant message. Sent back to the same dialect unchanged, opaque state included."""


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the model reads of one call."""

    tool_call_id: str
    content: str
    is_error: bool = False


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True, tag="result"):
    """The results of one turn's calls, in call order: one for each."""

    results: tuple[CallResult, ...]


Message: TypeAlias = SystemMessage | UserMessage | ModelTurn | ResultMessage
"""One entry of a conversation."""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """A piece of text as it is streamed."""

    text: str


class CallDelta(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """A call whose name is whole; its arguments are a preview that must never be executed."""

    position: int
    id: str
    name: str


Delta: TypeAlias = TextDelta | CallDelta
