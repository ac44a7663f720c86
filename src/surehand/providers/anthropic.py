"""`anthropic`: Anthropic's Messages. Sources: the types of anthropic 2.14 (`types`), and its documentation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, cast

from ..call import ToolCall
from ..view import ToolView
from .anthropic_fold import MessagesFold
from .arguments import is_blank
from .dialect import Export, Fold
from .history import Exchange, PairedCall, whole
from .json_value import list_of_objects, object_of, text_of, whole_number
from .message import Message, ModelTurn, SystemMessage, Usage, UserMessage
from .names import resolve
from .offer import Exporter, Offer
from .profile import ANTHROPIC
from .stops import settle

_THINKING: Final = ("thinking", "redacted_thinking")
_INPUTS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""(S) Message.usage: "total input tokens in a request is the summation of" these."""
_NO_TOOL: Final[dict[str, Any]] = {
    "name": "no_tool_available",
    "description": "There is no tool at the moment.",
    "input_schema": {"type": "object", "properties": {}},
}
"""(E) "Requests which include `tool_use` or `tool_result` blocks must define tools"."""


class Anthropic:
    """The dialect. Stateless but for the exports that it keeps."""

    name = ANTHROPIC.name
    tools_max = ANTHROPIC.tools_max

    def __init__(self) -> None:
        self._exporter = Exporter(ANTHROPIC, _render)

    def export(self, view: ToolView, *, strict: bool = False) -> Export:
        """See `Dialect.export`."""
        return self._exporter.export(view, strict=strict)

    def request(self, messages: Sequence[Message], export: Export) -> dict[str, Any]:
        """`messages`, and `system` and `tools` if there are any. See `Dialect.request`.

        A history with calls needs tools: if there are none any more, one is defined that cannot be chosen.
        """
        system: list[str] = []
        written: list[dict[str, Any]] = []
        has_calls = False
        for entry in whole(messages, ANTHROPIC, export.wire_names):
            if isinstance(entry, SystemMessage):
                system.append(entry.content)
            elif isinstance(entry, UserMessage):
                _append(written, "user", [{"type": "text", "text": entry.content}])
            else:
                has_calls = has_calls or bool(entry.calls)
                _append(written, "assistant", _assistant(entry))
                _append(written, "user", [_result(call) for call in entry.calls])
        request: dict[str, Any] = {"messages": written}
        if system:
            request["system"] = "\n\n".join(system)
        if export.tools:
            request["tools"] = list(export.tools)
        elif has_calls:
            request |= {"tools": [_NO_TOOL], "tool_choice": {"type": "none"}}
        return request

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        return _turn(response, {}, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return MessagesFold(export, _turn)


def _render(offer: Offer) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": offer.name,
        "description": offer.description,
        "input_schema": offer.parameters,
    }
    if offer.strict is not None:
        tool["strict"] = offer.strict
    return tool


# -- decode ----------------------------------------------------------------------------------------


def _turn(message: Mapping[str, Any], texts: Mapping[int, str], export: Export, *, broken: bool) -> ModelTurn:
    """Makes a turn.

    Args:
        message: The whole message.
        texts: Of a stream, by the block's place: the text of an input that is not one JSON object.
        export: What the model was told.
        broken: Whether the stream broke off.
    """
    content = [_cleaned(block) for block in list_of_objects(message.get("content"))]
    blocks = [(place, block) for place, block in enumerate(content) if block.get("type") == "tool_use"]
    calls = tuple(_call(block, texts.get(place), export) for place, block in blocks)
    word = text_of(message.get("stop_reason"))
    refusal = text_of(object_of(message.get("stop_details")).get("explanation"))
    stop, truncated = settle(word, calls, refused=False, broken=broken)
    return ModelTurn(
        dialect=ANTHROPIC.name,
        text="".join(text_of(block.get("text")) for block in content if block.get("type") == "text"),
        calls=calls,
        wire_names=tuple(text_of(block.get("name")) for _, block in blocks),
        stop=stop,
        raw_stop=word,
        refusal=refusal if stop == "refusal" else "",
        truncated_call=truncated,
        usage=_usage(object_of(message.get("usage"))),
        raw={"role": "assistant", "content": content},
    )


def _cleaned(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without fields that say nothing: not every one of them may be null when it comes back."""
    return {key: value for key, value in deepcopy(dict(block)).items() if value is not None}


def _call(block: Mapping[str, Any], text: str | None, export: Export) -> ToolCall:
    name = resolve(text_of(block.get("name")), export.wire_names)
    written = text if text is not None else block.get("input")
    arguments = _arguments(written)
    restoration = export.restorations.get(name)
    if restoration is not None:
        arguments = restoration.apply(arguments)
    return ToolCall(id=text_of(block.get("id")), name=name, arguments=arguments)


def _arguments(value: Any) -> dict[str, Any] | str:
    """An input, as text if it is no object, or holds what JSON cannot say: as it was written, to be refused."""
    if isinstance(value, dict) and _is_finite(value):
        return cast("dict[str, Any]", value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "" if is_blank(text) else text


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_finite(one) for one in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_finite(one) for one in cast("list[Any]", value))
    return not isinstance(value, float) or math.isfinite(value)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=sum(whole_number(usage.get(key)) for key in _INPUTS),
        output_tokens=whole_number(usage.get("output_tokens")),
    )


# -- request ---------------------------------------------------------------------------------------


def _append(messages: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    """Adds to the last message of the same role, so that roles alternate; adds no empty message."""
    if not content:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(content)
    else:
        messages.append({"role": role, "content": content})


def _assistant(exchange: Exchange) -> list[dict[str, Any]]:
    turn = exchange.turn
    blocks = list_of_objects(turn.raw.get("content")) if turn.dialect == ANTHROPIC.name else []
    if not blocks or sum(block.get("type") == "tool_use" for block in blocks) != len(exchange.calls):
        text = turn.text or turn.refusal
        spoken: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
        return [*spoken, *(_use({}, call) for call in exchange.calls)]
    calls = iter(exchange.calls)
    sent = [_use(block, next(calls)) if block.get("type") == "tool_use" else dict(block) for block in blocks]
    kept = [block for block in sent if _can_be_sent(block)]
    return kept if any(block.get("type") not in _THINKING for block in kept) else []


def _use(block: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    as_it_was = call.readable and isinstance(block.get("input"), dict)
    arguments = block["input"] if as_it_was else call.arguments
    return {**block, "type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _can_be_sent(block: Mapping[str, Any]) -> bool:
    """Whether the API takes a block back: text that is not blank, and thinking whose signature arrived."""
    kind = block.get("type")
    if kind == "text":
        return bool(text_of(block.get("text")).strip())
    return kind != "thinking" or bool(block.get("signature"))


def _result(call: PairedCall) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": call.content}
    if call.is_error:
        result["is_error"] = True
    return result
