"""How the two providers say things, for the contract and for whoever needs a response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall


class OpenAIChatWire:
    dialect = dialect("openai-chat")
    words: Mapping[str, str] = {
        "stop": "stop",
        "tool_calls": "tool_calls",
        "length": "length",
        "content_filter": "content_filter",
    }

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        return {
            "choices": [{"index": 0, "finish_reason": stop, "message": message}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        }

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        (choice,) = response["choices"]
        message = choice["message"]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
        deltas += [{"content": piece} for piece in cut(message["content"] or "") if piece]
        for index, call in enumerate(message.get("tool_calls", [])):
            head = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
            deltas.append({"tool_calls": [head]})
            for piece in cut(call["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], "usage": None}
        return [*chunks, end, {"choices": [], "usage": response["usage"]}]

    def tools(self, export: Export) -> list[SentTool]:
        functions = [tool["function"] for tool in export if tool["type"] == "function"]
        return [SentTool(f["name"], f["description"], f["parameters"], f.get("strict", False)) for f in functions]

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
                found.append(SentResult(message["tool_call_id"], message["content"]))
            else:
                assert waiting == []
                waiting = [call["id"] for call in message.get("tool_calls", [])]
        assert waiting == []
        return found


class AnthropicWire:
    dialect = dialect("anthropic")
    words: Mapping[str, str] = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": text, "citations": None}] if text else []
        for call in calls:
            try:
                given = json.loads(call.arguments or "{}")
            except ValueError:
                given = call.arguments if call.arguments.strip() else {}
            content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        return {
            "role": "assistant",
            "content": content,
            "stop_reason": stop,
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 5},
        }

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        usage = {**response["usage"], "output_tokens": 1}
        start = {**response, "content": [], "stop_reason": None, "usage": usage}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(response["content"]):
            if block["type"] == "text":
                begun = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in cut(block["text"])]
            else:
                begun = {**block, "input": {}}
                given = block["input"]
                text = given if isinstance(given, str) else json.dumps(given)
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(text)]
            events.append({"type": "content_block_start", "index": index, "content_block": begun})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": response["stop_reason"], "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5, "input_tokens": None}})
        return [*events, {"type": "message_stop"}]

    def tools(self, export: Export) -> list[SentTool]:
        return [SentTool(t["name"], t["description"], t["input_schema"], t.get("strict", False)) for t in export]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [message for message in request["messages"] if message["role"] == "assistant"]

    def _blocks(self, request: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
        return [block for message in request["messages"] for block in message["content"] if block["type"] == kind]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        blocks = self._blocks(request, "tool_use")
        assert all(isinstance(block["input"], dict) for block in blocks)
        return [SentCall(block["id"], block["name"], block["input"]) for block in blocks]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        messages = request["messages"]
        for before, message in zip([None, *messages], messages, strict=False):
            assert before is None or before["role"] != message["role"]
            asked = [block["id"] for block in before["content"] if block["type"] == "tool_use"] if before else []
            kinds = [block["type"] for block in message["content"]]
            assert "tool_result" not in kinds[len(asked) :]
            answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
            assert answered == asked
        return [SentResult(block["tool_use_id"], block["content"]) for block in self._blocks(request, "tool_result")]
