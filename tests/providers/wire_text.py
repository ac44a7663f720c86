"""How a model without tool calling says things: in its text, as the instructions ask."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from surehand.providers import Export, dialect
from surehand.testing.dialect_wire import Cut, SentCall, SentResult, SentTool, WrittenCall
from tests.providers.wire import OpenAIChatWire

BLOCK = re.compile(r"^```tool_call\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
RESULT = re.compile(r"^```tool_result (\d+) ([\w-]+)( error)?\n((?:\| .*\n)*)```$", re.MULTILINE)


def block(name: str, arguments: str = "{}") -> str:
    given = f', "arguments": {arguments}' if arguments.strip() else ""
    return f'```tool_call\n{{"name": {json.dumps(name)}{given}}}\n```'


class TextWire:
    dialect = dialect("text")
    words: Mapping[str, str] = {
        "stop": "stop",
        "tool_calls": "stop",
        "length": "length",
        "content_filter": "content_filter",
    }

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        written = "\n".join([*([text] if text else []), *(block(call.name, call.arguments) for call in calls)])
        return OpenAIChatWire().response(written, [], stop)

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        return OpenAIChatWire().stream(response, cut)

    def tools(self, export: Export) -> list[SentTool]:
        (system,) = self.dialect.request([], export)["messages"]
        told = [json.loads(line) for line in system["content"].partition("one a line:\n")[2].splitlines()]
        assert told == export.tools
        return [SentTool(tool["name"], tool["description"], tool["parameters"], False) for tool in told]

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert request.keys() == {"messages"}
        return [message for message in request["messages"] if message["role"] == "assistant"]

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        written = [one for message in self.assistants(request) for one in BLOCK.findall(message["content"])]
        return [SentCall("", one["name"], one.get("arguments") or {}) for one in map(json.loads, written)]

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        """Numbered in each turn, in the message after it."""
        found: list[SentResult] = []
        messages = request["messages"]
        for before, message in pairwise(messages):
            assert before["role"] != message["role"]
            if message["role"] == "user" and before["role"] == "assistant":
                results = RESULT.findall(message["content"])
                names = [json.loads(one)["name"] for one in BLOCK.findall(before["content"])]
                assert [(number, name) for number, name, _, _ in results] == [
                    (str(number), name) for number, name in enumerate(names, 1)
                ]
                lines = [[line[2:] for line in content.splitlines()] for _, _, _, content in results]
                found.extend(SentResult("", "\n".join(one)) for one in lines)
        return found
