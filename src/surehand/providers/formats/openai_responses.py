"""`openai-responses`: OpenAI's Responses, without state on their side: each request holds the whole conversation.

Sources: the types of openai 3.57 (`types/responses`), its documentation, and errors of the API as several projects
report them. A turn's `raw` is `{"output": [...]}`, the items of the answer in their order.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..arguments import as_text
from ..calls import read_call, sent_text
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import copied, list_of_objects, object_of, text_of, whole_number
from ..message import Media, Message, ModelTurn, SystemMessage, Usage, UserMessage
from ..offering.offer import Offer
from ..stops import settle
from .format import Format
from .openai_responses_fold import ResponsesFold

_UNFINISHED: Final = frozenset({"failed", "cancelled", "in_progress", "queued"})
"""(S) ResponseStatus: what is there by then is not all."""
_OUTPUT_ONLY: Final = frozenset({"reasoning", "function_call"})
"""(E) Items that some models refuse with a status: "Unknown parameter: 'input[1].status'", BerriAI/litellm issue 13420.
A message needs one (S)."""


class OpenAIResponses(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`input`, and `tools` and what is said of them if there are any. See `Dialect.request`."""
        check(choice, self.profile, export.names)
        items: list[dict[str, Any]] = []
        ids: set[str] = set()
        for entry in whole(messages, self.profile, export.names):
            if isinstance(entry, SystemMessage):
                items.append({"type": "message", "role": "system", "content": entry.content})
            elif isinstance(entry, UserMessage):
                items.append({"type": "message", "role": "user", "content": entry.content})
            else:
                items.extend(_spoken(entry, self.profile.name, ids))
                items.extend(_result(call) for call in entry.calls)
        if not export.tools:
            return {"input": items}
        return {"input": items, "tools": list(export.tools), **self._choice(choice, export)}

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        return _turn(response, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return ResponsesFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        """(D) `strict` must be said: a tool without it is made strict, and its optional properties required."""
        return {
            "type": "function",
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.parameters,
            "strict": bool(offer.strict),
        }

    def _choice(self, choice: Choice, export: Export) -> dict[str, Any]:
        """(S) ToolChoiceOptions, ToolChoiceFunctionParam. Nothing where the provider's default is what is wanted."""
        said: dict[str, Any] = {}
        if choice.mode == "one":
            said["tool_choice"] = {"type": "function", "name": export.names[choice.tool]}
        elif choice.mode != "auto":
            said["tool_choice"] = self.profile.required_word if choice.mode == "required" else choice.mode
        if not choice.parallel:
            said["parallel_tool_calls"] = False
        return said


# -- decode ----------------------------------------------------------------------------------------


def _turn(response: Mapping[str, Any], export: Export, *, broken: bool) -> ModelTurn:
    items = [_cleaned(item) for item in list_of_objects(response.get("output"))]
    written = [item for item in items if item.get("type") == "function_call"]
    calls = tuple(read_call(one.get("call_id"), one.get("name"), one.get("arguments"), export) for one in written)
    parts = [part for item in items if item.get("type") == "message" for part in list_of_objects(item.get("content"))]
    refusal = "".join(text_of(part.get("refusal")) for part in parts)
    word, is_cut = _word(response)
    stop, truncated = settle(word, calls, refused=bool(refusal), broken=broken or is_cut)
    return ModelTurn(
        dialect=export.dialect,
        text="".join(text_of(part.get("text")) for part in parts),
        calls=calls,
        wire_names=tuple(text_of(one.get("name")) for one in written),
        stop=stop,
        raw_stop=word,
        refusal=refusal,
        reasoning="\n\n".join(_reasoning(items)),
        truncated_call=truncated,
        usage=_usage(object_of(response.get("usage"))),
        raw={"output": items},
    )


def _word(response: Mapping[str, Any]) -> tuple[str, bool]:
    """The most exact word for how the answer ended, and whether there should have been more of it."""
    status = text_of(response.get("status"))
    if status == "incomplete":
        reason = text_of(object_of(response.get("incomplete_details")).get("reason"))
        return reason or status, reason != "content_filter"
    if status in _UNFINISHED:
        return text_of(object_of(response.get("error")).get("code")) or status, True
    return status, False


def _cleaned(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as it may come back: without fields that say nothing, and complete where it was cut."""
    kind = item.get("type")
    cleaned = {
        key: value
        for key, value in copied(dict(item)).items()
        if value is not None and not (key == "status" and text_of(kind) in _OUTPUT_ONLY)
    }
    if cleaned.get("status") == "in_progress":
        cleaned["status"] = "incomplete"
    if kind == "reasoning":
        cleaned.setdefault("summary", [])  # (E) "missing required field `summary`", newo-ether/Agora issue 141
    if kind == "message":
        parts = list_of_objects(cleaned.get("content"))
        cleaned["content"] = [{key: one for key, one in part.items() if one is not None} for part in parts]
    return cleaned


def _reasoning(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The summaries, or what a model with open reasoning thought."""
    for item in items:
        if item.get("type") == "reasoning":
            parts = list_of_objects(item.get("summary")) or list_of_objects(item.get("content"))
            yield from (text_of(part.get("text")) for part in parts)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=whole_number(usage.get("input_tokens")),
        output_tokens=whole_number(usage.get("output_tokens")),
    )


# -- request ---------------------------------------------------------------------------------------


def _spoken(exchange: Exchange, provider: str, ids: set[str]) -> list[dict[str, Any]]:
    """A turn's own items, or the turn in neutral terms.

    Args:
        exchange: The turn.
        provider: Whose items may be sent.
        ids: Of the items of earlier turns; those of this one are added. (E) The API refuses one that is there twice:
            "Duplicate item found with id rs_...", microsoft/agent-framework-go pull 784.
    """
    turn = exchange.turn
    items = list_of_objects(turn.raw.get("output")) if turn.dialect == provider else []
    if not items or sum(item.get("type") == "function_call" for item in items) != len(exchange.calls):
        text = turn.text or turn.refusal
        spoken = [{"type": "message", "role": "assistant", "content": text}] if text.strip() else []
        return [*spoken, *(_call({"arguments": as_text(call.arguments)}, call) for call in exchange.calls)]
    calls = iter(exchange.calls)
    sent = [_call(item, next(calls)) if item.get("type") == "function_call" else dict(item) for item in items]
    own = [item_id for item in items if (item_id := text_of(item.get("id")))]
    is_new = len(own) == len(ids.union(own)) - len(ids)
    ids.update(own)
    kept = [item for item in sent if _can_be_sent(item) and (is_new or not _is_reasoning(item))]
    is_whole = is_new and sum(_is_reasoning(item) for item in kept) == sum(_is_reasoning(item) for item in sent)
    # (E) "'reasoning' was provided without its required following item", continuedev/continue issue 8933
    while kept and _is_reasoning(kept[-1]):
        kept.pop()
    return kept if is_whole else [_detached(item) for item in kept]


def _call(item: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    arguments = sent_text(item.get("arguments"), call)
    return {**item, "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def _is_reasoning(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "reasoning"


def _can_be_sent(item: Mapping[str, Any]) -> bool:
    """Whether the API takes an item back: a message that says something, and reasoning with what was thought.

    (E) Reasoning by its id alone: "Item with id 'rs_...' not found. Items are not persisted when `store` is set to
    false", anomalyco/opencode issue 7724.
    """
    if item.get("type") == "message":
        return bool(_said(item).strip())
    return not _is_reasoning(item) or bool(item.get("encrypted_content") or item.get("content"))


def _said(message: Mapping[str, Any]) -> str:
    parts = list_of_objects(message.get("content"))
    return "".join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts)


def _detached(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item without its id: its reasoning cannot go with it, and under the id the API would miss that.

    (E) "'function_call' was provided without its required 'reasoning' item", earendil-works/pi issue 886. (S) A message
    without an id is an EasyInputMessageParam.
    """
    if item.get("type") == "message":
        phase = {"phase": item["phase"]} if "phase" in item else {}
        return {"type": "message", "role": "assistant", "content": _said(item), **phase}
    return {key: value for key, value in item.items() if key != "id" or item.get("type") != "function_call"}


def _result(call: PairedCall) -> dict[str, Any]:
    output: Any = call.content
    if call.media:
        output = [{"type": "input_text", "text": call.content}, *(_image(one) for one in call.media)]
    return {"type": "function_call_output", "call_id": call.id, "output": output}


def _image(media: Media) -> dict[str, Any]:
    data = base64.b64encode(media.data).decode()
    return {"type": "input_image", "image_url": f"data:{media.media_type};base64,{data}"}
