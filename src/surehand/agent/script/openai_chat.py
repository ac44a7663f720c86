"""Chat Completions, from the provider's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .step import Seen, Step
from .wire import pieces, text_of, written


def seen(request: Mapping[str, Any]) -> Seen:
    """See `Wire.seen`."""
    messages: list[dict[str, Any]] = list(request.get("messages", ()))
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    latest = messages[answers[-1] + 1 :] if answers else []
    users = [text_of(message["content"]) for message in messages if message["role"] == "user"]
    return Seen(
        request=request,
        messages=messages,
        tools=tuple(tool["function"]["name"] for tool in request.get("tools", ())),
        results=tuple(text_of(message["content"]) for message in latest if message["role"] == "tool"),
        user=users[-1] if users else "",
        turns=len(answers),
    )


def whole(step: Step, number: int, name: str) -> dict[str, Any]:
    """See `Wire.whole`."""
    if step.raw is not None:
        return step.raw
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None, "refusal": step.refusal or None}
    if step.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}" if call.id is None else call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": written(call.arguments)},
            }
            for at, call in enumerate(step.calls, 1)
        ]
    used = step.usage
    return {
        "id": f"chatcmpl-script-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": name,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": step.finish or ("tool_calls" if step.calls else "stop"),
            }
        ],
        "usage": {
            "prompt_tokens": used.input_tokens,
            "completion_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        },
    }


def events(step: Step, number: int, name: str, chars: int) -> Iterator[dict[str, Any]]:
    """See `Wire.events`."""
    answer = whole(step, number, name)
    head = {**answer, "object": "chat.completion.chunk", "usage": None}
    for choice in answer["choices"]:
        place = {"index": choice.get("index", 0), "logprobs": None, "finish_reason": None}
        for delta in _deltas(choice["message"], chars):
            yield {**head, "choices": [{**place, "delta": delta}]}
        yield {**head, "choices": [{**place, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if answer.get("usage") is not None:
        yield {**head, "choices": [], "usage": answer["usage"]}


def _deltas(message: Mapping[str, Any], chars: int) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if message.get("content") is None else ""}
    for field, value in message.items():
        if field in ("role", "tool_calls") or value is None:
            continue
        for piece in pieces(value, chars) if isinstance(value, str) else (value,):
            yield {field: piece}
    for at, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield {"tool_calls": [{"index": at, **call, "function": {**function, "arguments": ""}}]}
        for piece in pieces(function["arguments"], chars):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}
