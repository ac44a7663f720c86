"""Why a model stopped, in one vocabulary. What the content says wins over the provider's word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..call import ToolCall
from .message import Stop

_WORDS: Final[dict[str, Stop]] = {
    # (S) openai: ChatCompletion.choices[].finish_reason
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",
    # (S) openai: ResponseStatus, Response.incomplete_details.reason
    "completed": "stop",
    "max_output_tokens": "length",
    # (D) DeepSeek, Chat completion; (D) OpenRouter: the upstream broke off
    "insufficient_system_resource": "resources",
    "error": "length",
    # (D) Zhipu, Chat completion
    "sensitive": "content_filter",
    "network_error": "length",
    # (S) mistralai: ChatCompletionChoice.finish_reason
    "model_length": "length",
    # (S) anthropic: StopReason
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    # (S) cohere: ChatFinishReason
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "length",
    "TIMEOUT": "resources",
    # (S) botocore: StopReason of bedrock-runtime. What is malformed is kept as far as it came, like what was cut.
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "length",
    "malformed_tool_use": "length",
    # (S) google-genai: FinishReason, with `MAX_TOKENS` as above. A call that could not be read was announced, not made
    "STOP": "stop",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "tool_calls",
    "UNEXPECTED_TOOL_CALL": "tool_calls",
}
_BAD: Final[frozenset[Stop]] = frozenset({"length", "content_filter", "refusal", "resources"})
_CUT: Final[frozenset[Stop]] = frozenset({"length", "resources"})


def settle(word: str, calls: Sequence[ToolCall], *, refused: bool, broken: bool) -> tuple[Stop, bool]:
    """Why the model stopped, and whether its last call was cut off.

    Args:
        word: The provider's.
        calls: What was asked for.
        refused: Whether there is text of a refusal.
        broken: Whether the stream ended without a word: the output counts as cut.
    """
    stop: Stop = "length" if broken else _WORDS.get(word, "unknown")
    if stop not in _BAD:
        if refused:
            stop = "refusal"
        elif calls:
            stop = "tool_calls"
        elif stop == "tool_calls":
            stop = "stop"
    return stop, bool(calls) and stop in _CUT
