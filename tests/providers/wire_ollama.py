"""How Ollama says things."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall

USAGE = {"prompt_eval_count": 7, "eval_count": 5, "total_duration": 9}


class OllamaWire:
    dialect = dialect("ollama")
    words: Mapping[str, str] = {"stop": "stop", "tool_calls": "stop", "length": "length"}

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [self._call(index, call) for index, call in enumerate(calls)]
        return {"model": "m", "message": message, "done": True, "done_reason": stop, **USAGE}

    def _call(self, index: int, call: WrittenCall) -> dict[str, Any]:
        try:
            given = json.loads(call.arguments or "{}")
        except ValueError:
            given = call.arguments if call.arguments.strip() else {}
        return {"id": call.id, "function": {"index": index, "name": call.name, "arguments": given}}

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        message = response["message"]
        pieces: list[dict[str, Any]] = [{"content": piece} for piece in cut(message["content"]) if piece]
        pieces += [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls", [])]
        chunks = [{"model": "m", "message": {"role": "assistant", **one}, "done": False} for one in pieces]
        return [*chunks, {**response, "message": {"role": "assistant", "content": ""}}]

    def tools(self, export: Export) -> list[SentTool]:
        functions = [tool["function"] for tool in export if tool.keys() == {"type", "function"}]
        assert all("strict" not in function for function in functions)
        return [SentTool(f["name"], f["description"], f["parameters"], False) for f in functions]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [message for message in request["messages"] if message["role"] == "assistant"]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        sent = [call for message in self.assistants(request) for call in message.get("tool_calls", [])]
        assert all(isinstance(call["function"]["arguments"], dict) for call in sent)
        return [SentCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in sent]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        found: list[SentResult] = []
        waiting: list[tuple[str, str]] = []
        for message in request["messages"]:
            if message["role"] == "tool":
                assert (message["tool_call_id"], message["tool_name"]) == waiting.pop(0)
                found.append(SentResult(message["tool_call_id"], message["content"]))
            else:
                assert waiting == []
                waiting = [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]
        assert waiting == []
        return found
