"""Each dialect keeps the contract. A new one is a row here."""

from __future__ import annotations

import pytest

from surehand.testing.dialect_contract import DialectContract
from tests.providers.wire import AnthropicWire, OpenAIChatWire
from tests.providers.wire_bedrock import BedrockWire
from tests.providers.wire_cohere import CohereWire
from tests.providers.wire_gemini import GeminiWire
from tests.providers.wire_mistral import MistralWire
from tests.providers.wire_ollama import OllamaWire
from tests.providers.wire_openai_responses import OpenAIResponsesWire
from tests.providers.wire_text import TextWire

WIRES = [
    OpenAIChatWire(),
    AnthropicWire(),
    BedrockWire(),
    CohereWire(),
    GeminiWire(),
    MistralWire(),
    OllamaWire(),
    OpenAIResponsesWire(),
    TextWire(),
]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.dialect.profile.name)
class TestDialects(DialectContract):
    """The whole suite."""
