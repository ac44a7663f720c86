"""The Messages API, from the provider's side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from .step import ScriptError, Seen, Step
from .wire import pieces, text_of, written


def seen(request: Mapping[str, Any]) -> Seen:
    """See `Wire.seen`."""
    messages: list[dict[str, Any]] = list(request.get("messages", ()))
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    latest = messages[answers[-1] + 1 :] if answers else []
    results = [part for message in latest for part in _parts(message) if part.get("type") == "tool_result"]
    users = [text for message in messages if message["role"] == "user" and (text := text_of(message["content"]))]
    return Seen(
        request=request,
        messages=messages,
        tools=tuple(tool["name"] for tool in request.get("tools", ())),
        results=tuple(text_of(part.get("content")) for part in results),
        user=users[-1] if users else "",
        turns=len(answers),
    )


def whole(step: Step, number: int, name: str) -> dict[str, Any]:
    """See `Wire.whole`. What is not streamed has arguments as an object: their text must be JSON."""
    answer = _answer(step, number, name)
    return {**answer, "content": [_parsed(block) for block in answer["content"]]}


def events(step: Step, number: int, name: str, chars: int) -> Iterator[dict[str, Any]]:
    """See `Wire.events`. Arguments are streamed as they are written, JSON or not."""
    answer = _answer(step, number, name)
    usage = answer.get("usage", {})
    start: dict[str, Any] = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**start, "usage": {**usage, "output_tokens": 0}}}
    for index, block in enumerate(answer["content"]):
        opening, deltas = _cut(block, chars)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence")}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage.get("output_tokens", 0)}}
    yield {"type": "message_stop"}


def _answer(step: Step, number: int, name: str) -> dict[str, Any]:
    """The answer; the `input` of a scripted call is still text."""
    if step.raw is not None:
        return step.raw
    said = step.text or step.refusal
    content: list[dict[str, Any]] = [{"type": "text", "text": said}] if said else []
    content += [
        {
            "type": "tool_use",
            "id": f"call_{number}_{at}" if call.id is None else call.id,
            "name": call.name,
            "input": written(call.arguments),
        }
        for at, call in enumerate(step.calls, 1)
    ]
    fitting = "tool_use" if step.calls else "refusal" if step.refusal else "end_turn"
    return {
        "id": f"msg_script_{number}",
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": content,
        "stop_reason": step.finish or fitting,
        "stop_sequence": None,
        "usage": {"input_tokens": step.usage.input_tokens, "output_tokens": step.usage.output_tokens},
    }


def _parsed(block: dict[str, Any]) -> dict[str, Any]:
    text = block.get("input")
    if not isinstance(text, str):
        return block
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ScriptError(
            f"an answer of Anthropic that is not streamed holds arguments as an object, which {text!r} is not; "
            "stream it, or use the dialect openai-chat"
        )
    return {**block, "input": value}


def _cut(block: Mapping[str, Any], chars: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block opens, and what is added to it bit by bit."""
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], chars)]
            return {**block, "text": ""}, deltas
        case "tool_use":
            texts = pieces(written(block["input"]), chars)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in texts]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], chars)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case _:
            return dict(block), []


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
