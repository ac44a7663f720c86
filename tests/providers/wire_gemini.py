"""How Gemini says things, for the contract and for whoever needs a response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall


class GeminiWire:
    dialect = dialect("gemini")
    words: Mapping[str, str] = {
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        for call in calls:
            try:
                given = json.loads(call.arguments or "{}")
            except ValueError:
                given = call.arguments
            parts.append({"functionCall": {"id": call.id, "name": call.name, "args": given}})
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": stop, "index": 0}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12},
        }

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        (candidate,) = response["candidates"]
        usage = response["usageMetadata"]
        pieces: list[dict[str, Any]] = []
        for part in candidate["content"]["parts"]:
            pieces += [{"text": piece} for piece in cut(part["text"])] if "text" in part else [part]
        chunks = [{"candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]} for piece in pieces]
        counted = [{**chunk, "usageMetadata": {**usage, "candidatesTokenCount": 1}} for chunk in chunks]
        last = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": candidate["finishReason"]}
        return [*counted, {"candidates": [last], "usageMetadata": usage}]

    def tools(self, export: Export) -> list[SentTool]:
        declared = [one for tool in export for one in tool["functionDeclarations"]]
        is_strict = "toolConfig" in self.dialect.request([], export)
        return [SentTool(one["name"], one["description"], one.get("parameters", {}), is_strict) for one in declared]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [content for content in request["contents"] if content["role"] == "model"]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        sent = [
            part["functionCall"] for one in self.assistants(request) for part in one["parts"] if "functionCall" in part
        ]
        assert all(isinstance(call["args"], dict) for call in sent)
        return [SentCall(call.get("id", ""), call["name"], call["args"]) for call in sent]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        found: list[SentResult] = []
        asked: list[tuple[str | None, str]] = []
        for content in request["contents"]:
            answered = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            assert [(one.get("id"), one["name"]) for one in answered] == asked
            assert not asked or (content["role"] == "user" and len(answered) == len(content["parts"]))
            found += [SentResult(one.get("id", ""), next(iter(one["response"].values()))) for one in answered]
            called = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            asked = [(call.get("id"), call["name"]) for call in called]
        assert asked == []
        return found
