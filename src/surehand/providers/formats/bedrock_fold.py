"""Streams of `bedrock`: the content blocks put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..blobs import as_json, marked
from ..export import Export
from ..json_value import copied, list_of_objects, object_of, place_of, text_of
from ..message import Delta, ModelTurn, ReasoningDelta, TextDelta
from .blocks import Blocks, Finish

_FAILED: Final = "Exception"
"""(S) ConverseStreamOutput: the members whose names end so are errors."""


class ConverseFold:
    """Folds the events of one answer. Blocks of text and reasoning begin with their first piece."""

    def __init__(self, export: Export, finish: Finish) -> None:
        self._export = export
        self._finish = finish
        self._response: dict[str, Any] = {}
        self._blocks = Blocks(export.wire_names)
        self._ended = False

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        """Takes one event: an object with one member, whose name is its kind."""
        deltas: list[Delta] = []
        for kind, value in event.items():
            given = object_of(value)
            match kind:
                case "contentBlockStart":
                    deltas += self._start(place_of(given.get("contentBlockIndex")), object_of(given.get("start")))
                case "contentBlockDelta":
                    deltas += self._add(place_of(given.get("contentBlockIndex")), object_of(given.get("delta")))
                case "messageStop":
                    self._response["stopReason"] = text_of(given.get("stopReason"))
                    self._ended = bool(self._response["stopReason"])
                case "metadata":
                    self._response["usage"] = object_of(given.get("usage"))
                case _ if kind.endswith(_FAILED):  # the answer ends here, whatever has come
                    self._response["stopReason"] = kind
                    self._ended = False
                case _:  # `messageStart`, `contentBlockStop`, and what is still to be invented
                    pass
        return deltas

    def end(self) -> ModelTurn:
        """The whole answer."""
        texts = self._blocks.whole_inputs(_put)
        output = {"message": {"role": "assistant", "content": self._blocks.content}}
        return self._finish({**self._response, "output": output}, texts, self._export, broken=not self._ended)

    def _start(self, index: Any, start: Mapping[str, Any]) -> list[Delta]:
        use = object_of(start.get("toolUse"))
        if use:
            self._blocks.begin(index, {"toolUse": {**use, "input": {}}})
            own = not use.get("type")  # with a type, the provider's own server makes the call
            return (
                self._blocks.begin_call(index, text_of(use.get("toolUseId")), text_of(use.get("name"))) if own else []
            )
        known = {key: copied(start[key]) for key in ("toolResult", "image") if isinstance(start.get(key), dict)}
        self._blocks.begin(index, known)
        return []

    def _add(self, index: Any, delta: Mapping[str, Any]) -> list[Delta]:
        block = self._blocks.at(index)
        if block is None:
            block = self._blocks.begin(index, {})
        for kind, value in delta.items():
            match kind:
                case "text":
                    return _add_text(block, text_of(value))
                case "toolUse":
                    return self._blocks.add_input(index, text_of(object_of(value).get("input")))
                case "reasoningContent":
                    return _add_reasoning(block, object_of(value))
                case "citation":
                    _cited(block)["citations"].append(copied(value))
                case "toolResult":
                    _add_result(block, list_of_objects(value))
                case "image":
                    _add_image(block, object_of(value))
                case _:
                    pass
        return []


def _put(block: dict[str, Any], given: dict[str, Any]) -> None:
    block.setdefault("toolUse", {})["input"] = given


def _add_text(block: dict[str, Any], text: str) -> list[Delta]:
    if "citationsContent" in block:
        content: list[dict[str, Any]] = block["citationsContent"]["content"]
        content[:] = [{"text": (content[0]["text"] if content else "") + text}]
    else:
        block["text"] = text_of(block.get("text")) + text
    return [TextDelta(text=text)] if text else []


def _cited(block: dict[str, Any]) -> dict[str, Any]:
    """The citations of a block; with the first, its text becomes cited text."""
    if "citationsContent" not in block:
        text = block.pop("text", "")
        block["citationsContent"] = {"content": [{"text": text}] if text else [], "citations": []}
    return block["citationsContent"]


def _add_reasoning(block: dict[str, Any], piece: Mapping[str, Any]) -> list[Delta]:
    reasoning: dict[str, Any] = block.setdefault("reasoningContent", {})
    if "redactedContent" in piece:
        before = marked(reasoning.get("redactedContent"))
        reasoning["redactedContent"] = as_json(before + marked(piece["redactedContent"]))
        return []
    shown: dict[str, Any] = reasoning.setdefault("reasoningText", {"text": ""})
    text = text_of(piece.get("text"))
    shown["text"] += text
    if piece.get("signature"):
        shown["signature"] = text_of(shown.get("signature")) + text_of(piece["signature"])
    return [ReasoningDelta(text=text)] if text else []


def _add_result(block: dict[str, Any], pieces: list[dict[str, Any]]) -> None:
    """What a tool of the provider's own gave."""
    result: dict[str, Any] = block.setdefault("toolResult", {})
    content = result["content"] = list_of_objects(result.get("content"))
    for piece in pieces:
        if content and "text" in content[-1] and "text" in piece:
            content[-1]["text"] = text_of(content[-1]["text"]) + text_of(piece["text"])
        else:
            content.append(copied(piece))


def _add_image(block: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """An image that the model made."""
    image: dict[str, Any] = block.setdefault("image", {})
    source = object_of(piece.get("source"))
    if "bytes" in source:
        before = marked(object_of(image.get("source")).get("bytes"))
        image["source"] = {"bytes": as_json(before + marked(source["bytes"]))}
    else:
        image |= copied(dict(piece))
