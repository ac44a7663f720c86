"""What dialects cost: tools in a request, an answer read whole and as a stream, each beside the SDK's own parsing."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion, ChatCompletionChunk

import surehand as sh
from benchmarks import work
from surehand.providers import PROVIDERS, Export, UserMessage, dialect
from surehand.view import ToolView

Row = tuple[str, float, str]
CHUNKS = 10_000
REPEATS = 5


def median_us(work: Callable[[], object], *, repeats: int = REPEATS, each: int = 1) -> float:
    """Median microseconds of CPU time of one run of some work."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time_ns()
        for _ in range(each):
            work()
        times.append((time.process_time_ns() - began) / each / 1e3)
    return statistics.median(times)


def first_exports(view: ToolView) -> list[Row]:
    """Each format's export of a view that it has not seen."""
    rows: list[Row] = []
    for name in ("openai-chat", "anthropic", "gemini", "bedrock"):
        if name not in PROVIDERS:
            continue
        for strict in (False, True):
            if strict and PROVIDERS[name].profile.strict is None:
                continue

            def export(name: str = name, strict: bool = strict) -> object:
                made = type(PROVIDERS[name])
                return made(_roomy(name)).export(view, strict=strict)  # pyright: ignore[reportCallIssue]

            said = ", strict" if strict else ""
            rows.append((f"{name}: export of 1,000 tools, first time{said}", median_us(export, repeats=3), "cpu"))
    return rows


def _roomy(name: str) -> Any:
    """The provider's facts, but for how many tools it takes."""
    from msgspec.structs import replace

    return replace(PROVIDERS[name].profile, tools_max=None)


def answers() -> list[Row]:
    """Whole answers with two calls, and streams of many chunks."""
    export = _export("openai-chat")
    spoken = dialect("openai-chat")
    whole = _chat_answer()
    chunks = _chat_chunks()

    def fold() -> object:
        folding = spoken.fold(export)
        for chunk in chunks:
            folding.feed(chunk)
        return folding.end()

    def parse() -> object:
        return [ChatCompletionChunk.model_validate(chunk) for chunk in chunks]

    claude, told = _export("anthropic"), _messages_answer()
    return [
        ("OpenAI's SDK parses an answer", median_us(lambda: ChatCompletion.model_validate(whole), each=200), "sdk"),
        ("openai-chat: decode of the same answer", median_us(lambda: spoken.decode(whole, export), each=200), "sdk"),
        (f"OpenAI's SDK parses {CHUNKS:,} chunks", median_us(parse), "chunks"),
        (f"openai-chat: fold of the same {CHUNKS:,} chunks", median_us(fold), "chunks"),
        (
            "Anthropic's SDK parses an answer",
            median_us(lambda: AnthropicMessage.model_validate(told), each=200),
            "message",
        ),
        (
            "anthropic: decode of the same answer",
            median_us(lambda: dialect("anthropic").decode(told, claude), each=200),
            "message",
        ),
    ]


def _export(name: str) -> Export:
    from surehand.testing.dialect_wire import spec_of, view_of

    return dialect(name).export(view_of(spec_of("read_sales")))


def _chat_answer() -> Mapping[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": "read_sales", "arguments": work.ARGUMENTS}}
        for n in range(2)
    ]
    message = {"role": "assistant", "content": "Looking.", "refusal": None, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message, "logprobs": None}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _chat_chunks() -> list[dict[str, Any]]:
    """One call whose arguments come in small pieces."""
    text = json.dumps({"note": "x" * (CHUNKS * 3)})
    size = max(1, len(text) // (CHUNKS - 2))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_sales", "arguments": ""}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [head]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def _messages_answer() -> Mapping[str, Any]:
    uses = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "read_sales", "input": json.loads(work.ARGUMENTS)}
        for n in range(2)
    ]
    content = [{"type": "text", "text": "Looking."}, *uses]
    usage = {"input_tokens": 1, "output_tokens": 1}
    told = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return {**told, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}


async def requests() -> list[Row]:
    """What a view of 1,000 tools adds to each request, and what it costs at first."""
    many = sh.Settings(limits=sh.Limits(view_tools=2000))
    engine = sh.open_engine(store="sqlite://", tools=work.many_tools(1000), settings=many)
    async with engine:
        view = await engine.view(work.CALLER)
        rows = first_exports(view)

        def request() -> object:
            export = sh.export(view, "anthropic")
            return dialect("anthropic").request([UserMessage(content="go")], export)

        rows.append(("1,000 tools in a request, exported before", median_us(request, each=100), "cpu"))
    return rows
