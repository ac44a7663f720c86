"""How Bedrock says things. Each request is held against the service model that boto3 would send it by."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall

_botocore: Any = importlib.import_module("botocore.session")
SERVICE: Any = _botocore.get_session().get_service_model("bedrock-runtime")
_validate: Any = importlib.import_module("botocore.validate")


def problems(request: Mapping[str, Any], operation: str = "Converse") -> str:
    """What botocore has against a request; patterns, which it does not look at, included."""
    shape = SERVICE.operation_model(operation).input_shape
    found: str = _validate.ParamValidator().validate({"modelId": "m", **request}, shape).generate_report()
    return found


class BedrockWire:
    dialect = dialect("bedrock")
    words: Mapping[str, str] = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
    }

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"text": text}] if text else []
        for call in calls:
            try:
                given = json.loads(call.arguments or "{}")
            except ValueError:
                given = call.arguments if call.arguments.strip() else {}
            content.append({"toolUse": {"toolUseId": call.id, "name": call.name, "input": given}})
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": stop,
            "usage": {"inputTokens": 4, "cacheReadInputTokens": 3, "outputTokens": 5, "totalTokens": 12},
            "metrics": {"latencyMs": 1},
        }

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
        for index, block in enumerate(response["output"]["message"]["content"]):
            at = {"contentBlockIndex": index}
            if "text" in block:
                deltas: list[dict[str, Any]] = [{"text": piece} for piece in cut(block["text"])]
            else:
                use = block["toolUse"]
                begun = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
                events.append({"contentBlockStart": {"start": begun, **at}})
                text = use["input"] if isinstance(use["input"], str) else json.dumps(use["input"])
                deltas = [{"toolUse": {"input": piece}} for piece in cut(text)]
            events += [{"contentBlockDelta": {"delta": delta, **at}} for delta in deltas]
            events.append({"contentBlockStop": at})
        events.append({"messageStop": {"stopReason": response["stopReason"]}})
        return [*events, {"metadata": {"usage": response["usage"], "metrics": response["metrics"]}}]

    def tools(self, export: Export) -> list[SentTool]:
        specs = [tool["toolSpec"] for tool in export]
        return [SentTool(s["name"], s["description"], s["inputSchema"]["json"], s.get("strict", False)) for s in specs]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert problems(request) == problems(request, "ConverseStream") == ""
        return [message for message in request["messages"] if message["role"] == "assistant"]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        blocks = [
            block["toolUse"] for said in self.assistants(request) for block in said["content"] if "toolUse" in block
        ]
        assert all(isinstance(use["input"], dict) for use in blocks)
        return [SentCall(use["toolUseId"], use["name"], use["input"]) for use in blocks]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        assert problems(request) == ""
        messages: list[dict[str, Any]] = request["messages"]
        assert not messages or messages[0]["role"] == "user"
        found: list[dict[str, Any]] = []
        for before, message in zip([None, *messages], messages, strict=False):
            assert before is None or before["role"] != message["role"]
            asked = (
                [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block] if before else []
            )
            answers = [block["toolResult"] for block in message["content"][: len(asked)]]
            assert [answer["toolUseId"] for answer in answers] == asked
            assert not any("toolResult" in block for block in message["content"][len(asked) :])
            found += answers
        if found or any("toolUse" in block for message in messages for block in message["content"]):
            assert request["toolConfig"]["tools"]
        return [SentResult(one["toolUseId"], one["content"][0]["text"]) for one in found]
