"""`anthropic`: Anthropic's Messages. Sources: the types of anthropic 2.14 (`types`), and its documentation."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...call import ToolCall
from ..calls import read_call
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import copied, list_of_objects, object_of, text_of, whole_number
from ..message import Media, Message, ModelTurn, SystemMessage, Usage, UserMessage
from ..offering.offer import Offer
from ..stops import settle
from .anthropic_fold import MessagesFold
from .blocks import append
from .format import Format

_THINKING: Final = ("thinking", "redacted_thinking")
_INPUTS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""(S) Message.usage: "total input tokens in a request is the summation of" these."""
_NO_TOOL: Final[dict[str, Any]] = {
    "name": "no_tool_available",
    "description": "There is no tool at the moment.",
    "input_schema": {"type": "object", "properties": {}},
}
"""(E) "Requests which include `tool_use` or `tool_result` blocks must define tools"."""


class Anthropic(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`messages`, and `system`, `tools` and `tool_choice` where there is something to say. See `Dialect.request`.

        A history with calls needs tools: if there are none any more, one is defined that cannot be chosen.
        """
        check(choice, self.profile, export.names)
        system: list[str] = []
        written: list[dict[str, Any]] = []
        has_calls = False
        for entry in whole(messages, self.profile, export.names):
            if isinstance(entry, SystemMessage):
                system.append(entry.content)
            elif isinstance(entry, UserMessage):
                append(written, "user", [{"type": "text", "text": entry.content}])
            else:
                has_calls = has_calls or bool(entry.calls)
                append(written, "assistant", _assistant(entry, self.profile.name))
                append(written, "user", [_result(call) for call in entry.calls])
        request: dict[str, Any] = {"messages": written}
        if system:
            request["system"] = "\n\n".join(system)
        if export.tools:
            request["tools"] = list(export.tools)
            request |= _choice(choice, export)
        elif has_calls:
            request |= {"tools": [_NO_TOOL], "tool_choice": {"type": "none"}}
        return request

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        return _turn(response, {}, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return MessagesFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        tool: dict[str, Any] = {
            "name": offer.name,
            "description": offer.description,
            "input_schema": offer.parameters,
        }
        if offer.strict is not None:
            tool["strict"] = offer.strict
        return tool


def _choice(choice: Choice, export: Export) -> dict[str, Any]:
    """(S) ToolChoiceParam. Nothing where the provider's default is what is wanted."""
    words = {"auto": "auto", "none": "none", "required": "any", "one": "tool"}
    said: dict[str, Any] = {"type": words[choice.mode]}
    if choice.mode == "one":
        said["name"] = export.names[choice.tool]
    if not choice.parallel and choice.mode != "none":
        said["disable_parallel_tool_use"] = True
    return {} if said == {"type": "auto"} else {"tool_choice": said}


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
        dialect=export.dialect,
        text="".join(text_of(block.get("text")) for block in content if block.get("type") == "text"),
        calls=calls,
        wire_names=tuple(text_of(block.get("name")) for _, block in blocks),
        stop=stop,
        raw_stop=word,
        refusal=refusal if stop == "refusal" else "",
        reasoning="".join(text_of(block.get("thinking")) for block in content if block.get("type") == "thinking"),
        truncated_call=truncated,
        usage=_usage(object_of(message.get("usage"))),
        raw={"role": "assistant", "content": content},
    )


def _cleaned(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without fields that say nothing: not every one of them may be null when it comes back."""
    return {key: value for key, value in copied(dict(block)).items() if value is not None}


def _call(block: Mapping[str, Any], text: str | None, export: Export) -> ToolCall:
    return read_call(block.get("id"), block.get("name"), block.get("input") if text is None else text, export)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=sum(whole_number(usage.get(key)) for key in _INPUTS),
        output_tokens=whole_number(usage.get("output_tokens")),
    )


# -- request ---------------------------------------------------------------------------------------


def _assistant(exchange: Exchange, provider: str) -> list[dict[str, Any]]:
    turn = exchange.turn
    blocks = list_of_objects(turn.raw.get("content")) if turn.dialect == provider else []
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
    content: Any = call.content
    if call.media:
        content = [{"type": "text", "text": call.content}, *(_image(one) for one in call.media)]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    if call.is_error:
        result["is_error"] = True
    return result


def _image(media: Media) -> dict[str, Any]:
    data = base64.b64encode(media.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media.media_type, "data": data}}
