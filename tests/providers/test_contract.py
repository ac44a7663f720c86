"""Each dialect keeps the contract. A new one is a row here."""

from __future__ import annotations

import pytest

from surehand.testing.dialect_contract import DialectContract
from tests.providers.wire import AnthropicWire, OpenAIChatWire
from tests.providers.wire_gemini import GeminiWire


@pytest.mark.parametrize(
    "wire", [OpenAIChatWire(), AnthropicWire(), GeminiWire()], ids=lambda wire: wire.dialect.profile.name
)
class TestDialects(DialectContract):
    """The whole suite."""
