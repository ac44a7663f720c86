"""What a server or a model may send that no specification foresees: it is read as far as it goes, never raised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from surehand.providers import UserMessage, dialect
from surehand.schema import parse_arguments
from surehand.testing.dialect_wire import WireFormat, WrittenCall, spec_of, view_of
from tests.providers.test_contract import WIRES

ODD: list[Any] = [None, True, -1, 1.5, float("nan"), float("inf"), "x", [], [None], ["x"], {}, {"a": 1}, 10**30]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all that a value holds."""
    members: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif isinstance(value, list):
        members = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return [place for key, one in members for place in [(*path, key), *places(one, (*path, key))]]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """A copy with something else at a place."""
    copied = json.loads(json.dumps(value))
    holder = copied
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = by
    return copied


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.dialect.profile.name)
def test_nothing_raises_whatever_stands_in_a_field(wire: WireFormat) -> None:
    export = wire.dialect.export(view_of(spec_of("f")))
    response = wire.response("Hm.", [WrittenCall("c1" if wire.dialect.profile.ids else "", "f")], wire.words["stop"])
    for path in places(response):
        for odd in ODD:
            turn = wire.dialect.decode(replaced(response, path, odd), export)
            wire.dialect.request([UserMessage(content="go"), turn], export)
    events = wire.stream(response, list)
    for path in (path for path in places(events) if len(path) > 1):
        for odd in ODD:
            fold = wire.dialect.fold(export)
            for event in replaced(events, path, odd):
                fold.feed(event)
            wire.dialect.request([UserMessage(content="go"), fold.end()], export)


CITED = {"type": "citations_delta", "citation": {}}
RESULT = {"toolResult": [{"text": "a"}]}
STREAMS: dict[str, tuple[str, list[Mapping[str, Any]]]] = {
    "citations that are no list": (
        "anthropic",
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "citations": 5}},
            {"type": "content_block_delta", "index": 0, "delta": CITED},
        ],
    ),
    "a result that is no list": (
        "bedrock",
        [
            {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolResult": {"content": "x"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": RESULT}},
        ],
    ),
    "text parts without text": (
        "mistral",
        [{"choices": [{"delta": {"content": [{"type": "text", "text": text}]}}]} for text in (None, "a", {})],
    ),
    "a summary that is no list": (
        "openai-responses",
        [
            {"type": "response.output_item.added", "item": {"type": "reasoning", "id": "r", "summary": 5}},
            {"type": "response.reasoning_summary_text.delta", "item_id": "r", "summary_index": 0, "delta": "x"},
        ],
    ),
    "an index of thousands of digits": (
        "gemini",
        [
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "partialArgs": [piece]}}]}}]}
            for piece in [{"jsonPath": f"$.a[{'9' * 5000}]", "stringValue": "x"}]
        ],
    ),
}


@pytest.mark.parametrize("case", STREAMS)
def test_streams_that_contradict_themselves(case: str) -> None:
    provider, events = STREAMS[case]
    found = dialect(provider)
    fold = found.fold(found.export(view_of(spec_of("f"))))
    for event in events:
        fold.feed(event)
    assert fold.end().stop == "length"


def nested(levels: int) -> Any:
    """Objects in each other, made without recursion."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


ENDLESS = nested(900)
CALLED: dict[str, dict[str, Any]] = {
    "anthropic": {"content": [{"type": "tool_use", "id": "c1", "name": "f", "input": ENDLESS}]},
    "bedrock": {"output": {"message": {"content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": ENDLESS}}]}}},
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": ENDLESS}}]}}]},
    "ollama": {"message": {"tool_calls": [{"function": {"name": "f", "arguments": ENDLESS}}]}},
}


@pytest.mark.parametrize("provider", CALLED)
def test_arguments_nested_without_end_are_read_and_refused(provider: str) -> None:
    found = dialect(provider)
    export = found.export(view_of(spec_of("f")), strict=True)
    turn = found.decode(CALLED[provider], export)
    (call,) = turn.calls
    assert not isinstance(parse_arguments(call.arguments), dict)
    found.request([UserMessage(content="go"), turn], export)


def test_a_long_block_is_read_in_time_that_grows_with_it() -> None:
    text = dialect("text")
    fold = text.fold(text.export(view_of(spec_of("f"))))
    for piece in ["```tool_call\n", *["a\n" * 10] * 20_000]:
        fold.feed({"choices": [{"delta": {"content": piece}}]})
    assert fold.end().truncated_call
