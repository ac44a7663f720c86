"""`openai-chat`: OpenAI's Chat Completions, and the many servers that speak it.

Sources: the types of openai 3.57 (`types/chat`), and what compatible servers really send, as the tests' cases show it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..calls import read_call
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import copied, list_of_objects, object_of, text_of, whole_number
from ..message import Media, Message, ModelTurn, SystemMessage, Usage, UserMessage
from ..offering.offer import Offer
from ..profile import Profile
from ..stops import settle
from .format import Format
from .openai_call import new_call, sent_call, sent_function
from .openai_chat_content import spoken, thought
from .openai_chat_fold import ChatFold

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields that compatible servers add to a message: DeepSeek, Qwen and vLLM; Groq; OpenRouter."""
_ANSWERED = "I have read the results."
"""What the model is taken to have said where its provider wants an answer between results and a user message."""


class OpenAIChat(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`messages`, and `tools` and what is said of them if there are any. See `Dialect.request`."""
        check(choice, self.profile, export.names)
        first: list[dict[str, Any]] = []
        written: list[dict[str, Any]] = []
        for entry in whole(messages, self.profile, export.names):
            if isinstance(entry, SystemMessage):
                said = {"role": "system", "content": entry.content}
                (first if self.profile.system_first else written).append(said)
            elif isinstance(entry, UserMessage):
                written.append({"role": "user", "content": entry.content})
            else:
                written.extend(_exchange(entry, self.profile))
        written = _ordered([*first, *written], self.profile)
        if not export.tools:
            return {"messages": written}
        return {"messages": written, "tools": list(export.tools), **self._choice(choice, export)}

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """The first choice that calls a tool, else the first."""
        choices = list_of_objects(response.get("choices"))
        choice = next((one for one in choices if _calls_a_tool(one.get("message"))), choices[0] if choices else {})
        message = choice.get("message")
        return _turn(message, text_of(choice.get("finish_reason")), response.get("usage"), export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return ChatFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        function: dict[str, Any] = {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.parameters,
        }
        if offer.strict is not None and self.profile.strict_said:
            function["strict"] = offer.strict
        return {"type": "function", "function": function}

    def _choice(self, choice: Choice, export: Export) -> dict[str, Any]:
        """(S) ChatCompletionToolChoiceOptionParam. Nothing where the provider's default is what is wanted."""
        said: dict[str, Any] = {}
        if choice.mode == "one":
            said["tool_choice"] = {"type": "function", "function": {"name": export.names[choice.tool]}}
        elif choice.mode != "auto":
            said["tool_choice"] = self.profile.required_word if choice.mode == "required" else choice.mode
        if not choice.parallel:
            said["parallel_tool_calls"] = False
        return said


def _calls_a_tool(message: Any) -> bool:
    given = object_of(message)
    return bool(given.get("tool_calls") or given.get("function_call"))


# -- decode ----------------------------------------------------------------------------------------


def _turn(message: Any, word: str, usage: Any, export: Export, *, broken: bool) -> ModelTurn:
    raw = _cleaned(message)
    written = _functions(raw)
    calls = tuple(
        read_call(call_id, function.get("name"), function.get("arguments"), export) for call_id, function in written
    )
    refusal = text_of(raw.get("refusal"))
    stop, truncated = settle(word, calls, refused=bool(refusal), broken=broken)
    return ModelTurn(
        dialect=export.dialect,
        text=spoken(raw.get("content")),
        calls=calls,
        wire_names=tuple(text_of(function.get("name")) for _, function in written),
        stop=stop,
        raw_stop=word,
        refusal=refusal,
        reasoning=text_of(raw.get("reasoning_content")) or text_of(raw.get("reasoning")) or thought(raw.get("content")),
        truncated_call=truncated,
        usage=_usage(usage),
        raw=raw,
    )


def _cleaned(message: Any) -> dict[str, Any]:
    """The message without what says nothing: (E) the API takes neither `"tool_calls": null` nor an empty list back."""
    given = copied(object_of(message))
    raw = {key: value for key, value in given.items() if value is not None}
    raw = {**raw, "role": "assistant", "content": raw.get("content")}
    calls = list_of_objects(raw.pop("tool_calls", None))
    if calls:
        raw["tool_calls"] = [{"type": "function", **call} for call in calls]
        raw.pop("function_call", None)
    return raw


def _functions(raw: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The id and the function of each call; the form from before `tool_calls` has no id."""
    if "tool_calls" in raw:
        return [(text_of(call.get("id")), object_of(call.get("function"))) for call in raw["tool_calls"]]
    return [("", object_of(raw["function_call"]))] if "function_call" in raw else []


def _usage(usage: Any) -> Usage:
    given = object_of(usage)
    return Usage(
        input_tokens=whole_number(given.get("prompt_tokens")),
        output_tokens=whole_number(given.get("completion_tokens")),
    )


# -- request ---------------------------------------------------------------------------------------


def _ordered(messages: list[dict[str, Any]], profile: Profile) -> list[dict[str, Any]]:
    """The messages with what the provider's rules of order ask for between and after them."""
    ordered: list[dict[str, Any]] = []
    for message in messages:
        after_result = bool(ordered) and ordered[-1]["role"] == "tool"
        if after_result and message["role"] == "user" and not profile.user_after_result:
            ordered.append({"role": "assistant", "content": _ANSWERED})
        ordered.append(message)
    if profile.prefix_field and ordered and ordered[-1]["role"] == "assistant":
        ordered[-1] = {**ordered[-1], profile.prefix_field: True}
    return ordered


def _exchange(exchange: Exchange, profile: Profile) -> Iterator[dict[str, Any]]:
    """A turn and its results. Their images come after the last of them: a result is text only."""
    turn = exchange.turn
    raw = turn.raw if turn.dialect == profile.name else {}
    if not profile.returns_reasoning:
        raw = {key: value for key, value in raw.items() if key not in _REASONING}
    yield from _spoken(exchange, raw)
    images = [image_part(one) for call in exchange.calls for one in call.media]
    if images:
        yield {"role": "user", "content": [{"type": "text", "text": "The images of the results above:"}, *images]}


def image_part(media: Media) -> dict[str, Any]:
    """An image in the content of a user message."""
    data = base64.b64encode(media.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{media.media_type};base64,{data}"}}


def _spoken(exchange: Exchange, raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    functions = _functions(raw)
    if not raw or len(functions) != len(exchange.calls):
        yield from _written_anew(exchange)
    elif "function_call" in raw and functions:
        (call,) = exchange.calls
        yield {**raw, "function_call": sent_function(functions[0][1], call)}
        yield {"role": "function", "name": call.name, "content": call.content}
    elif functions:
        pairs = zip(raw["tool_calls"], exchange.calls, strict=True)
        yield {**raw, "tool_calls": [sent_call(entry, call) for entry, call in pairs]}
        yield from _results(exchange.calls)
    elif spoken(raw.get("content")).strip() or raw.get("refusal") or raw.get("audio"):
        yield dict(raw)


def _written_anew(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """A turn in neutral terms: of another dialect, or without the provider's own message."""
    text = exchange.turn.text or exchange.turn.refusal
    if exchange.calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": [new_call(call) for call in exchange.calls]}
        yield from _results(exchange.calls)
    elif text.strip():
        yield {"role": "assistant", "content": text}


def _results(calls: Sequence[PairedCall]) -> Iterator[dict[str, Any]]:
    for call in calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": call.content}
