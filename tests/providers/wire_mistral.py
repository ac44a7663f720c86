"""How Mistral says things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehand.providers import dialect
from tests.providers.wire import OpenAIChatWire

BRIDGE = {"role": "assistant", "content": "I have read the results."}


class MistralWire(OpenAIChatWire):
    dialect = dialect("mistral")
    words: Mapping[str, str] = {"stop": "stop", "tool_calls": "tool_calls", "length": "model_length"}

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [message for message in super().assistants(request) if message != BRIDGE]
