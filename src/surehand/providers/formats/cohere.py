"""`cohere`: Cohere's Chat, version 2. Sources: the types of cohere 7.3 (`types`, `v2/types`), and its documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from ..calls import read_call
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import copied, list_of_objects, object_of, text_of
from ..message import Message, ModelTurn, Usage
from ..offering.offer import Offer
from ..stops import settle
from .cohere_fold import EventsFold
from .format import Format
from .openai_call import conversation, new_call, sent_call
from .openai_chat import image_part

_CHOICES: Final = {"none": "NONE", "required": "REQUIRED"}
"""(S) V2ChatRequestToolChoice."""


class Cohere(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`messages`, and `tools`, `strict_tools` and `tool_choice` where there is something to say.

        See `Dialect.request`. `strict_tools` holds for all tools of a request.
        """
        check(choice, self.profile, export.names)
        entries = whole(messages, self.profile, export.names)
        written = conversation(entries, lambda exchange: _exchange(exchange, self.profile.name))
        request: dict[str, Any] = {"messages": written}
        if export.tools:
            request["tools"] = list(export.tools)
            if export.verdicts and "unsupported" not in export.verdicts.values():
                request["strict_tools"] = True
            if choice.mode in _CHOICES:
                request["tool_choice"] = _CHOICES[choice.mode]
        return request

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        word = text_of(response.get("finish_reason"))
        return _turn(response.get("message"), word, response.get("usage"), export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return EventsFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        function = {"name": offer.name, "description": offer.description, "parameters": offer.parameters}
        return {"type": "function", "function": function}


# -- decode ----------------------------------------------------------------------------------------


def _turn(message: Any, word: str, usage: Any, export: Export, *, broken: bool) -> ModelTurn:
    raw = _cleaned(message)
    content = list_of_objects(raw.get("content"))
    entries = list_of_objects(raw.get("tool_calls"))
    functions = [object_of(entry.get("function")) for entry in entries]
    calls = tuple(
        read_call(entry.get("id"), function.get("name"), function.get("arguments"), export)
        for entry, function in zip(entries, functions, strict=True)
    )
    stop, truncated = settle(word, calls, refused=False, broken=broken)
    return ModelTurn(
        dialect=export.dialect,
        text="".join(text_of(item.get("text")) for item in content) + text_of(raw.get("tool_plan")),
        calls=calls,
        wire_names=tuple(text_of(function.get("name")) for function in functions),
        stop=stop,
        raw_stop=word,
        reasoning="".join(text_of(item.get("thinking")) for item in content),
        truncated_call=truncated,
        usage=_usage(usage),
        raw=raw,
    )


def _cleaned(message: Any) -> dict[str, Any]:
    """The message without what says nothing: null, and the empty lists and texts of a message without them."""
    given = copied(object_of(message))
    return {**{key: value for key, value in given.items() if value not in (None, [], "")}, "role": "assistant"}


def _usage(usage: Any) -> Usage:
    """(S) UsageTokens: numbers that may be fractions."""
    tokens = object_of(object_of(usage).get("tokens"))
    counts = {key: tokens.get(key) for key in ("input_tokens", "output_tokens")}
    known = {key: count for key, count in counts.items() if isinstance(count, int | float) and isfinite(count)}
    return Usage(**{key: int(count) for key, count in known.items()})


# -- request ---------------------------------------------------------------------------------------


def _exchange(exchange: Exchange, provider: str) -> Iterator[dict[str, Any]]:
    """A turn and its results. Their images come after the last of them: a result is text."""
    turn = exchange.turn
    raw = turn.raw if turn.dialect == provider else {}
    entries = list_of_objects(raw.get("tool_calls"))
    if raw and len(entries) == len(exchange.calls):
        sent = _sent_back(raw)
        if entries:
            yield {
                **sent,
                "tool_calls": [sent_call(entry, call) for entry, call in zip(entries, exchange.calls, strict=True)],
            }
        elif "content" in sent:
            yield sent
    else:
        yield from _written_anew(exchange)
    yield from (_result(call) for call in exchange.calls)
    images = [image_part(one) for call in exchange.calls for one in call.media]
    if images:
        yield {"role": "user", "content": [{"type": "text", "text": "The images of the results above:"}, *images]}


def _sent_back(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Its own message, without blank text, and without content that is thinking alone."""
    content = raw.get("content")
    if not isinstance(content, list):
        return dict(raw)
    kept = [item for item in list_of_objects(content) if "text" not in item or text_of(item["text"]).strip()]
    rest = {key: value for key, value in raw.items() if key != "content"}
    speaks = any("text" in item for item in kept) or "tool_calls" in rest
    return {**rest, "content": kept} if kept and speaks else rest


def _written_anew(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """A turn in neutral terms. What is said beside calls is their plan."""
    text = exchange.turn.text or exchange.turn.refusal
    if exchange.calls:
        plan = {"tool_plan": text} if text.strip() else {}
        yield {"role": "assistant", **plan, "tool_calls": [new_call(call) for call in exchange.calls]}
    elif text.strip():
        yield {"role": "assistant", "content": text}


def _result(call: PairedCall) -> dict[str, Any]:
    """(S) ToolMessageV2: a bare text would have to be a JSON object, a text block need not."""
    return {"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": call.content}]}
