"""`bedrock`: Amazon Bedrock's Converse. Sources: the service model of botocore 1.44, and its documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..blobs import as_bytes, as_json
from ..calls import read_call
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import copied, list_of_objects, object_of, text_of, whole_number
from ..message import Media, Message, ModelTurn, SystemMessage, Usage, UserMessage
from ..offering.offer import Offer
from ..stops import settle
from .bedrock_fold import ConverseFold
from .blocks import append
from .format import Format

_FREE: Final = frozenset({"input", "json"})
"""(S) ToolUseBlock.input and ToolResultContentBlock.json: documents, in which there are no bytes."""
_INPUTS: Final = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
"""(D) Prompt caching: what was read from or written to the cache is not in `inputTokens`."""
_UNKNOWN: Final = "SDK_UNKNOWN_MEMBER"
"""(S) botocore puts it where a member is that it does not know, and refuses it in a request."""
_GOES_ON: Final = "Go on."
"""(E) "A conversation must start with a user message"."""
_NO_TOOL: Final[dict[str, Any]] = {
    "toolSpec": {
        "name": "no_tool_available",
        "description": "There is no tool at the moment. Do not call this.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}
"""(E) "The toolConfig field must be defined when using toolUse and toolResult content blocks". (S) At least one."""


class Bedrock(Format):
    """The format. Requests hold bytes where boto3 wants bytes; answers may hold them, or their marked text."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`messages`, and `system` and `toolConfig` where there is something to say. See `Dialect.request`.

        A history with calls needs tools: if there are none any more, one is defined that says so.
        """
        check(choice, self.profile, export.names)
        system: list[dict[str, Any]] = []
        written: list[dict[str, Any]] = []
        has_calls = False
        for entry in whole(messages, self.profile, export.names):
            if isinstance(entry, SystemMessage):
                system.append({"text": entry.content})
            elif isinstance(entry, UserMessage):
                append(written, "user", [{"text": entry.content}])
            else:
                has_calls = has_calls or bool(entry.calls)
                append(written, "assistant", _assistant(entry, self.profile.name))
                append(written, "user", [_result(call) for call in entry.calls])
        if written and written[0]["role"] == "assistant":
            written.insert(0, {"role": "user", "content": [{"text": _GOES_ON}]})
        request: dict[str, Any] = {"messages": written}
        if system:
            request["system"] = system
        if export.tools:
            request["toolConfig"] = {"tools": list(export.tools), **_choice(choice, export)}
        elif has_calls:
            request["toolConfig"] = {"tools": [_NO_TOOL]}
        return request

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`. Takes what boto3 gives, too."""
        return _turn(response, {}, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return ConverseFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "name": offer.name,
            "description": offer.description,
            "inputSchema": {"json": offer.parameters},
        }
        if offer.strict is not None:
            spec["strict"] = offer.strict
        return {"toolSpec": spec}


def _choice(choice: Choice, export: Export) -> dict[str, Any]:
    """(S) ToolChoice. Nothing where the provider's default is what is wanted."""
    if choice.mode == "one":
        return {"toolChoice": {"tool": {"name": export.names[choice.tool]}}}
    return {"toolChoice": {"any": {}}} if choice.mode == "required" else {}


# -- decode ----------------------------------------------------------------------------------------


def _turn(response: Mapping[str, Any], texts: Mapping[int, str], export: Export, *, broken: bool) -> ModelTurn:
    """Makes a turn.

    Args:
        response: The whole response.
        texts: Of a stream, by the block's place: the text of an input that is not one JSON object.
        export: What the model was told.
        broken: Whether the stream broke off.
    """
    message = object_of(object_of(response.get("output")).get("message"))
    content: list[dict[str, Any]] = as_json(copied(list_of_objects(message.get("content"))))
    uses = [(place, use) for place, use in enumerate(map(_use_of, content)) if use is not None]
    calls = tuple(
        read_call(use.get("toolUseId"), use.get("name"), texts.get(place, use.get("input")), export)
        for place, use in uses
    )
    word = text_of(response.get("stopReason"))
    stop, truncated = settle(word, calls, refused=False, broken=broken)
    return ModelTurn(
        dialect=export.dialect,
        text="".join(_said(block) for block in content),
        calls=calls,
        wire_names=tuple(text_of(use.get("name")) for _, use in uses),
        stop=stop,
        raw_stop=word,
        reasoning="".join(text_of(_reasoning(block).get("text")) for block in content),
        truncated_call=truncated,
        usage=_usage(object_of(response.get("usage"))),
        raw={"role": "assistant", "content": content},
    )


def _use_of(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A call that is for us: one with a `type` is made by the provider's own server."""
    use = block.get("toolUse")
    return object_of(use) if isinstance(use, dict) and not object_of(use).get("type") else None


def _said(block: Mapping[str, Any]) -> str:
    """Text as such, or with citations."""
    cited = list_of_objects(object_of(block.get("citationsContent")).get("content"))
    return text_of(block.get("text")) + "".join(text_of(one.get("text")) for one in cited)


def _reasoning(block: Mapping[str, Any]) -> dict[str, Any]:
    return object_of(object_of(block.get("reasoningContent")).get("reasoningText"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=sum(whole_number(usage.get(key)) for key in _INPUTS),
        output_tokens=whole_number(usage.get("outputTokens")),
    )


# -- request ---------------------------------------------------------------------------------------


def _assistant(exchange: Exchange, provider: str) -> list[dict[str, Any]]:
    turn = exchange.turn
    blocks = list_of_objects(turn.raw.get("content")) if turn.dialect == provider else []
    if not blocks or sum(_use_of(block) is not None for block in blocks) != len(exchange.calls):
        text = turn.text or turn.refusal
        spoken: list[dict[str, Any]] = [{"text": text}] if text.strip() else []
        return [*spoken, *(_used({}, call) for call in exchange.calls)]
    calls = iter(exchange.calls)
    sent = [block if (use := _use_of(block)) is None else _used(use, next(calls)) for block in blocks]
    kept = [as_bytes(block, _FREE) for block in sent if _can_be_sent(block)]
    return kept if any("reasoningContent" not in block for block in kept) else []


def _used(use: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    as_it_was = call.readable and isinstance(use.get("input"), dict)
    arguments = use["input"] if as_it_was else call.arguments
    return {"toolUse": {**use, "toolUseId": call.id, "name": call.name, "input": arguments}}


def _can_be_sent(block: Mapping[str, Any]) -> bool:
    """Whether the API takes a block back: known, text that is not blank, and reasoning whose signature arrived."""
    if "text" in block:
        return bool(text_of(block["text"]).strip())
    reasoning = object_of(block.get("reasoningContent"))
    if "reasoningText" in reasoning:
        return bool(_reasoning(block).get("signature"))
    return bool(block) and not _holds_unknown(block)


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        given = object_of(value)
        return _UNKNOWN in given or any(_holds_unknown(one) for key, one in given.items() if key not in _FREE)
    return isinstance(value, list) and any(_holds_unknown(one) for one in list_of_objects(value))


def _result(call: PairedCall) -> dict[str, Any]:
    content = [{"text": call.content}, *({"image": _image(one)} for one in call.media)]
    result: dict[str, Any] = {"toolUseId": call.id, "content": content}
    if call.is_error:  # (D) not every model knows the field
        result["status"] = "error"
    return {"toolResult": result}


def _image(media: Media) -> dict[str, Any]:
    return {"format": media.media_type.removeprefix("image/"), "source": {"bytes": media.data}}
