"""`ollama`: the chat of Ollama itself, `/api/chat`.

Sources: the types of ollama 0.6 (`_types`); the server's own types (`api/types.go`, August 2026), which know ids of
calls that the SDK's leave out.
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
from ..message import Message, ModelTurn, Usage
from ..offering.offer import Offer
from ..stops import settle
from .format import Format
from .ollama_fold import ChunksFold
from .openai_call import conversation


class Ollama(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`messages`, and `tools` if there are any. See `Dialect.request`."""
        check(choice, self.profile, export.names)
        entries = whole(messages, self.profile, export.names)
        written = conversation(entries, lambda exchange: _exchange(exchange, self.profile.name))
        return {"messages": written, "tools": list(export.tools)} if export.tools else {"messages": written}

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        return _turn(response.get("message"), response, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return ChunksFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        function = {"name": offer.name, "description": offer.description, "parameters": offer.parameters}
        return {"type": "function", "function": function}


# -- decode ----------------------------------------------------------------------------------------


def _turn(message: Any, end: Mapping[str, Any], export: Export, *, broken: bool) -> ModelTurn:
    raw = _cleaned(message)
    entries = list_of_objects(raw.get("tool_calls"))
    functions = [object_of(entry.get("function")) for entry in entries]
    calls = tuple(
        read_call(entry.get("id"), function.get("name"), function.get("arguments"), export)
        for entry, function in zip(entries, functions, strict=True)
    )
    word = text_of(end.get("done_reason")) or (
        "stop" if end.get("done") is True else ""
    )  # older servers give no reason
    stop, truncated = settle(word, calls, refused=False, broken=broken)
    return ModelTurn(
        dialect=export.dialect,
        text=text_of(raw.get("content")),
        calls=calls,
        wire_names=tuple(text_of(function.get("name")) for function in functions),
        stop=stop,
        raw_stop=word,
        reasoning=text_of(raw.get("thinking")),
        truncated_call=truncated,
        usage=Usage(
            input_tokens=whole_number(end.get("prompt_eval_count")),
            output_tokens=whole_number(end.get("eval_count")),
        ),
        raw=raw,
    )


def _cleaned(message: Any) -> dict[str, Any]:
    """The message without what says nothing."""
    given = copied(object_of(message))
    raw = {key: value for key, value in given.items() if value is not None and value != []}
    return {**raw, "role": "assistant", "content": text_of(raw.get("content"))}


# -- request ---------------------------------------------------------------------------------------


def _exchange(exchange: Exchange, provider: str) -> Iterator[dict[str, Any]]:
    """A turn and its results. Their images come after the last of them, where models look for images."""
    turn = exchange.turn
    raw = turn.raw if turn.dialect == provider else {}
    entries = list_of_objects(raw.get("tool_calls"))
    if not raw or len(entries) != len(exchange.calls):
        raw = {"role": "assistant", "content": turn.text or turn.refusal}
        entries = [{"id": call.id} for call in exchange.calls]
    if exchange.calls:
        sent = [_sent(entry, call) for entry, call in zip(entries, exchange.calls, strict=True)]
        yield {**raw, "tool_calls": sent}
        yield from (_result(entry, call) for entry, call in zip(sent, exchange.calls, strict=True))
    elif text_of(raw.get("content")).strip():
        yield dict(raw)
    images = [base64.b64encode(one.data).decode() for call in exchange.calls for one in call.media]
    if images:
        yield {"role": "user", "content": "The images of the results above:", "images": images}


def _sent(entry: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    function = object_of(entry.get("function"))
    as_it_was = call.readable and isinstance(function.get("arguments"), dict)
    arguments = function["arguments"] if as_it_was else call.arguments
    named = {"id": call.id} if "id" in entry else {}
    return {**entry, **named, "function": {**function, "name": call.name, "arguments": arguments}}


def _result(entry: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """A result belongs to the call in its place; the id is said where the call has one."""
    named = {"tool_call_id": call.id} if "id" in entry else {}
    return {"role": "tool", "tool_name": call.name, **named, "content": call.content}
