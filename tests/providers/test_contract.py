"""Each dialect keeps the contract. A new one is a row here."""

from __future__ import annotations

import pytest

from surehand.testing.dialect_contract import DialectContract
from tests.providers.wire import AnthropicWire, OpenAIChatWire
from tests.providers.wire_bedrock import BedrockWire
from tests.providers.wire_mistral import MistralWire
from tests.providers.wire_openai_responses import OpenAIResponsesWire

WIRES = [OpenAIChatWire(), OpenAIResponsesWire(), AnthropicWire(), BedrockWire(), MistralWire()]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.dialect.profile.name)
class TestDialects(DialectContract):
    """The whole suite."""
