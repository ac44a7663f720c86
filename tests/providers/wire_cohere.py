"""How Cohere says things."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall

USAGE = {"billed_units": {"input_tokens": 3.0}, "tokens": {"input_tokens": 7.0, "output_tokens": 5.0}}


class CohereWire:
    dialect = dialect("cohere")
    words: Mapping[str, str] = {"stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS"}

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        """What is said beside calls is their plan."""
        message: dict[str, Any] = {"role": "assistant"}
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        if text:
            message |= {"tool_plan": text} if calls else {"content": [{"type": "text", "text": text}]}
        return {"id": "m", "finish_reason": stop, "message": message, "usage": USAGE}

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        message = response["message"]
        start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        events: list[dict[str, Any]] = [{"type": "message-start", "id": "m", "delta": {"message": start}}]
        for index, item in enumerate(message.get("content", [])):
            begun = {"content": {**item, "text": ""}}
            events.append({"type": "content-start", "index": index, "delta": {"message": begun}})
            for piece in cut(item["text"]):
                said = {"content": {"text": piece}}
                events.append({"type": "content-delta", "index": index, "delta": {"message": said}})
            events.append({"type": "content-end", "index": index})
        for piece in cut(message.get("tool_plan", "")):
            events.append({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}})
        for index, call in enumerate(message.get("tool_calls", [])):
            head = {"tool_calls": {**call, "function": {**call["function"], "arguments": ""}}}
            events.append({"type": "tool-call-start", "index": index, "delta": {"message": head}})
            for piece in cut(call["function"]["arguments"]):
                more = {"tool_calls": {"function": {"arguments": piece}}}
                events.append({"type": "tool-call-delta", "index": index, "delta": {"message": more}})
            events.append({"type": "tool-call-end", "index": index})
        end = {"finish_reason": response["finish_reason"], "usage": response["usage"]}
        return [*events, {"type": "message-end", "id": "m", "delta": end}]

    def tools(self, export: Export) -> list[SentTool]:
        strict = self.dialect.request([], export).get("strict_tools", False)
        functions = [tool["function"] for tool in export if tool.keys() == {"type", "function"}]
        assert all("strict" not in function for function in functions)
        return [SentTool(f["name"], f["description"], f["parameters"], strict) for f in functions]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [message for message in request["messages"] if message["role"] == "assistant"]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        sent = [call for message in self.assistants(request) for call in message.get("tool_calls", [])]
        assert all(isinstance(call["function"]["arguments"], str) for call in sent)
        return [
            SentCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in sent
        ]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        found: list[SentResult] = []
        waiting: list[str] = []
        for message in request["messages"]:
            if message["role"] == "tool":
                waiting.remove(message["tool_call_id"])
                (block,) = message["content"]
                found.append(SentResult(message["tool_call_id"], block["text"]))
            else:
                assert waiting == []
                waiting = [call["id"] for call in message.get("tool_calls", [])]
        assert waiting == []
        return found
