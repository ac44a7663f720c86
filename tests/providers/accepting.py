"""Whether each provider's own SDK takes a request: its types, with every field of ours known to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from cohere import ToolV2
from cohere.types import ChatMessageV2
from google.genai import types
from mistralai.client.models import ChatCompletionRequest
from ollama import Tool
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter

from tests.providers.wire_bedrock import problems

_CLOSED: Final = ConfigDict(extra="forbid")
_CHAT: Final = TypeAdapter(list[CompletionCreateParamsNonStreaming], config=_CLOSED)
_RESPONSES: Final = TypeAdapter(list[ResponseCreateParamsNonStreaming], config=_CLOSED)
_MESSAGES: Final = TypeAdapter(list[MessageCreateParamsNonStreaming], config=_CLOSED)
_COHERE: Final[TypeAdapter[Any]] = TypeAdapter(ChatMessageV2)


def _walked(value: Any) -> None:
    """Goes through what was validated: what may be any iterable is checked only then."""
    if isinstance(value, dict):
        _walked(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for one in cast("Iterable[Any]", value):
            _walked(one)


def _chat(request: Mapping[str, Any]) -> None:
    _walked(_CHAT.validate_python([{"model": "m", **request}]))


def _responses(request: Mapping[str, Any]) -> None:
    _walked(_RESPONSES.validate_python([{"model": "m", **request}]))


def _anthropic(request: Mapping[str, Any]) -> None:
    _walked(_MESSAGES.validate_python([{"model": "m", "max_tokens": 1, **request}]))


def _gemini(request: Mapping[str, Any]) -> None:
    kinds: tuple[tuple[str, Any], ...] = (("contents", types.Content), ("tools", types.Tool))
    for key, kind in kinds:
        for one in request.get(key, []):
            assert kind.model_validate(one).model_dump(mode="json", by_alias=True, exclude_unset=True) == one
    types.ToolConfig.model_validate(request.get("toolConfig", {}))


def _bedrock(request: Mapping[str, Any]) -> None:
    assert problems(request) == ""


def _mistral(request: Mapping[str, Any]) -> None:
    whole = {"model": "m", **request}
    read = ChatCompletionRequest.model_validate(whole)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False) == whole


def _ollama(request: Mapping[str, Any]) -> None:
    assert request.keys() <= {"messages", "tools"}
    for message in request["messages"]:
        assert message["role"] in ("system", "user", "assistant", "tool")
        assert message.get("content") or message.get("tool_calls") or message.get("images")
    for tool in request.get("tools", []):
        Tool.model_validate(tool)


def _cohere(request: Mapping[str, Any]) -> None:
    for message in request["messages"]:
        assert _COHERE.validate_python(message).model_dump(exclude_none=True) == message
    for tool in request.get("tools", []):
        assert ToolV2.model_validate(tool).model_dump(exclude_none=True) == tool


ACCEPTED: Final[Mapping[str, Callable[[Mapping[str, Any]], None]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "ollama": _ollama,
    "cohere": _cohere,
    "text": _chat,
}
"""Provider -> what raises if its SDK would not take a request."""
