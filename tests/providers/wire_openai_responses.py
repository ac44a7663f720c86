"""How OpenAI's Responses say things."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall

STATUSES = ("completed", "failed", "in_progress", "cancelled", "queued", "incomplete", "unheard of")


class OpenAIResponsesWire:
    dialect = dialect("openai-responses")
    words: Mapping[str, str] = {
        "stop": "completed",
        "tool_calls": "completed",
        "length": "max_output_tokens",
        "content_filter": "content_filter",
    }

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if text:
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            output.append(
                {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
            )
        for number, call in enumerate(calls):
            output.append(
                {
                    "id": f"fc_{number}",
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                    "status": "completed",
                }
            )
        is_status = stop in STATUSES
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0.0,
            "model": "gpt-test",
            "status": stop if is_status else "incomplete",
            "incomplete_details": None if is_status else {"reason": stop},
            "error": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 7,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 12,
            },
        }

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(response["output"]):
            events += self._item(index, item, cut)
        kind = response["status"] if response["status"] in ("incomplete", "failed") else "completed"
        events.append({"type": f"response.{kind}", "response": dict(response)})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def _item(self, index: int, item: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        place = {"output_index": index}
        of = {"item_id": item["id"], **place}
        if item["type"] == "message":
            begun, inner = {**item, "status": "in_progress", "content": []}, list[dict[str, Any]]()
            for number, part in enumerate(item["content"]):
                key = "refusal" if part["type"] == "refusal" else "text"
                name = f"response.{part['type']}"
                at = {**of, "content_index": number}
                more = {"logprobs": []} if key == "text" else {}
                inner.append({"type": "response.content_part.added", **at, "part": {**part, key: ""}})
                inner += [{"type": f"{name}.delta", **at, "delta": piece, **more} for piece in cut(part[key])]
                inner.append({"type": f"{name}.done", **at, key: part[key], **more})
                inner.append({"type": "response.content_part.done", **at, "part": part})
        elif item["type"] == "function_call":
            begun = {**item, "status": "in_progress", "arguments": ""}
            name = "response.function_call_arguments"
            inner = [{"type": f"{name}.delta", **of, "delta": piece} for piece in cut(item["arguments"])]
            inner.append({"type": f"{name}.done", **of, "arguments": item["arguments"]})
        else:
            begun, inner = {**item, "summary": []}, []
            for number, part in enumerate(item.get("summary", [])):
                at = {**of, "summary_index": number}
                name = "response.reasoning_summary_text"
                empty = {**part, "text": ""}
                inner.append({"type": "response.reasoning_summary_part.added", **at, "part": empty})
                inner += [{"type": f"{name}.delta", **at, "delta": piece} for piece in cut(part["text"])]
                inner.append({"type": f"{name}.done", **at, "text": part["text"]})
                inner.append({"type": "response.reasoning_summary_part.done", **at, "part": part})
        added = {"type": "response.output_item.added", **place, "item": begun}
        return [added, *inner, {"type": "response.output_item.done", **place, "item": dict(item)}]

    def tools(self, export: Export) -> list[SentTool]:
        return [SentTool(t["name"], t["description"], t["parameters"], t["strict"]) for t in export]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What stands together is one answer."""
        found: list[dict[str, Any]] = []
        is_open = False
        for item in request["input"]:
            if item["type"] in ("function_call", "reasoning") or item.get("role") == "assistant":
                found += [] if is_open else [{"output": []}]
                found[-1]["output"].append(item)
                is_open = True
            else:
                is_open = False
        return found

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        sent = [item for item in request["input"] if item["type"] == "function_call"]
        assert all(isinstance(call["arguments"], str) for call in sent)
        return [SentCall(call["call_id"], call["name"], json.loads(call["arguments"])) for call in sent]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        found: list[SentResult] = []
        waiting: list[str] = []
        for item in request["input"]:
            if item["type"] == "function_call":
                waiting.append(item["call_id"])
            elif item["type"] == "function_call_output":
                waiting.remove(item["call_id"])
                found.append(SentResult(item["call_id"], item["output"]))
            else:
                assert waiting == []
        assert waiting == []
        return found
