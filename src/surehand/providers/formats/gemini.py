"""`gemini`: Google's generateContent, of the Gemini API and of Google Cloud alike.

Sources: the types of google-genai 3.6.1 (`types`), and the documentation of both.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...call import ToolCall
from ..arguments import as_given
from ..choice import AUTO, Choice, check
from ..dialect import Fold
from ..export import Export
from ..history import Exchange, PairedCall, whole
from ..json_value import list_of_objects, object_of, text_of, whole_number
from ..message import Media, Message, ModelTurn, SystemMessage, Usage, UserMessage
from ..offering.names import resolve
from ..offering.offer import Offer
from ..profile import Profile
from ..stops import settle
from .format import Format
from .gemini_fold import GenerateFold
from .gemini_parts import Parts

_INPUTS: Final = ("promptTokenCount", "toolUsePromptTokenCount")
_OUTPUTS: Final = ("candidatesTokenCount", "thoughtsTokenCount")
"""(S) GenerateContentResponseUsageMetadata.total_token_count is the sum of these four."""


class Gemini(Format):
    """The format."""

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """`contents`, and `systemInstruction`, `tools` and `toolConfig` where there is something to say.

        See `Dialect.request`. The names are those of the REST API; the SDK takes all but `contents` in its `config`.
        """
        check(choice, self.profile, export.names)
        system: list[dict[str, Any]] = []
        written: list[dict[str, Any]] = []
        for entry in whole(messages, self.profile, export.names):
            if isinstance(entry, SystemMessage):
                system.append({"text": entry.content})
            elif isinstance(entry, UserMessage):
                _append(written, "user", [{"text": entry.content}])
            else:
                _append(written, "model", _model(entry, self.profile))
                _append_results(written, entry.calls, self.profile)
        request: dict[str, Any] = {"contents": written}
        if system:
            request["systemInstruction"] = {"parts": system}
        if export.tools:
            request |= {"tools": list(export.tools), **self._choice(choice, export)}
        return request

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """The first candidate that calls a tool, else the first."""
        read: list[tuple[Parts, str]] = []
        for candidate in list_of_objects(response.get("candidates")):
            parts = Parts()
            parts.add(list_of_objects(object_of(candidate.get("content")).get("parts")))
            read.append((parts, text_of(candidate.get("finishReason"))))
        chosen = next((one for one in read if one[0].calls), read[0] if read else (Parts(), ""))
        return _turn(*chosen, response, export, broken=False)

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        return GenerateFold(export, _turn)

    def _render(self, offer: Offer) -> dict[str, Any]:
        declaration: dict[str, Any] = {"name": offer.name, "description": offer.description}
        if offer.parameters:
            declaration["parameters"] = offer.parameters
        return declaration

    def _wrap(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """(S) Tool: all declarations belong to one."""
        return [{"functionDeclarations": tools}]

    def _choice(self, choice: Choice, export: Export) -> dict[str, Any]:
        """(S) FunctionCallingConfig. Strict is a mode of the request; a forced call is held to its schema anyway."""
        is_strict = bool(export.verdicts) and "unsupported" not in export.verdicts.values()
        words = {"auto": "VALIDATED" if is_strict else "AUTO", "none": "NONE", "required": self.profile.required_word}
        said: dict[str, Any] = {"mode": words.get(choice.mode, self.profile.required_word)}
        if choice.mode == "one":
            said["allowedFunctionNames"] = [export.names[choice.tool]]
        return {} if said == {"mode": "AUTO"} else {"toolConfig": {"functionCallingConfig": said}}


# -- decode ----------------------------------------------------------------------------------------


def _turn(parts: Parts, word: str, response: Mapping[str, Any], export: Export, *, broken: bool) -> ModelTurn:
    """Makes a turn.

    Args:
        parts: The candidate's.
        word: Why it ended.
        response: What else was said: usage, and why a prompt was blocked.
        export: What the model was told.
        broken: Whether the stream broke off.
    """
    calls = tuple(_call(call, export) for call in parts.calls)
    blocked = "" if word or parts.parts else text_of(object_of(response.get("promptFeedback")).get("blockReason"))
    stop, truncated = settle(word, calls, refused=False, broken=broken or parts.open is not None)
    said = [part for part in parts.parts if isinstance(part.get("text"), str)]
    return ModelTurn(
        dialect=export.dialect,
        text="".join(part["text"] for part in said if not part.get("thought")),
        calls=calls,
        wire_names=tuple(text_of(call.get("name")) for call in parts.calls),
        stop="content_filter" if blocked else stop,
        raw_stop=word or blocked,
        reasoning="".join(part["text"] for part in said if part.get("thought")),
        truncated_call=truncated,
        usage=_usage(object_of(response.get("usageMetadata"))),
        raw={"role": "model", "parts": parts.parts},
    )


def _call(call: Mapping[str, Any], export: Export) -> ToolCall:
    name = resolve(text_of(call.get("name")), export.wire_names)
    arguments = as_given(call.get("args"))
    restoration = export.restorations.get(name)
    if restoration is not None:
        arguments = restoration.apply(arguments)
    return ToolCall(id=text_of(call.get("id")), name=name, arguments=arguments)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=sum(whole_number(usage.get(key)) for key in _INPUTS),
        output_tokens=sum(whole_number(usage.get(key)) for key in _OUTPUTS),
    )


# -- request ---------------------------------------------------------------------------------------


def _append(contents: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Adds to the last content of the same role, so that roles alternate; adds no empty content.

    Results stay by themselves: what a user says after them is a content of its own.
    """
    if not parts:
        return
    last = contents[-1] if contents else {}
    if last.get("role") == role and not any("functionResponse" in part for part in last["parts"]):
        last["parts"].extend(parts)
    else:
        contents.append({"role": role, "parts": parts})


def _append_results(contents: list[dict[str, Any]], calls: Sequence[PairedCall], profile: Profile) -> None:
    """(E) "the number of function response parts is equal to the number of function call parts": all in one content."""
    if not calls:
        return
    ids = [part["functionCall"].get("id") for part in contents[-1]["parts"] if "functionCall" in part][-len(calls) :]
    results = [_result(call, call_id, profile) for call, call_id in zip(calls, ids, strict=True)]
    contents.append({"role": "user", "parts": results})
    images = [{"inlineData": _image(one)} for call in calls for one in call.media] if profile.images == "user" else []
    if images:
        contents.append({"role": "user", "parts": [{"text": "The images of the results above:"}, *images]})


def _model(exchange: Exchange, profile: Profile) -> list[dict[str, Any]]:
    """The parts of a turn: of this provider as they came, signatures at their places; of another one anew."""
    turn = exchange.turn
    parts = list_of_objects(turn.raw.get("parts")) if turn.dialect == profile.name else []
    if not parts or sum("functionCall" in part for part in parts) != len(exchange.calls):
        return _written_anew(exchange, profile)
    calls = iter(exchange.calls)
    sent = [_sent_call(part, next(calls)) if "functionCall" in part else dict(part) for part in parts]
    return sent if any("functionCall" in part or not part.get("thought") for part in sent) else []


def _sent_call(part: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """A call as it came. One without an id stays so: the API pairs those by order."""
    written = object_of(part["functionCall"])
    as_it_was = call.readable and isinstance(written.get("args"), dict)
    sent = {**written, "name": call.name, "args": written["args"] if as_it_was else call.arguments}
    if written.get("id"):
        sent["id"] = call.id
    else:
        sent.pop("id", None)
    return {**part, "functionCall": sent}


def _written_anew(exchange: Exchange, profile: Profile) -> list[dict[str, Any]]:
    text = exchange.turn.text or exchange.turn.refusal
    parts: list[dict[str, Any]] = [{"text": text}] if text.strip() else []
    for position, call in enumerate(exchange.calls):
        part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        if position == 0 and profile.call_signature:
            part["thoughtSignature"] = profile.call_signature
        parts.append(part)
    return parts


def _result(call: PairedCall, call_id: str | None, profile: Profile) -> dict[str, Any]:
    """(S) FunctionResponse.response: "output" for what came out, "error" for what went wrong."""
    response: dict[str, Any] = {"name": call.name, "response": {"error" if call.is_error else "output": call.content}}
    if call_id:
        response = {"id": call_id, **response}
    if call.media and profile.images == "result":
        response["parts"] = [{"inlineData": _image(one)} for one in call.media]
    return {"functionResponse": response}


def _image(media: Media) -> dict[str, Any]:
    return {"mimeType": media.media_type, "data": base64.b64encode(media.data).decode()}
