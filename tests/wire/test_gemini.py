"""What aimock gets wrong of Gemini, and what it does not tell: shown against the types of the SDK."""

from __future__ import annotations

import warnings
from typing import Any

import httpx2
import pytest
from google.genai import types

from surehand.providers import UserMessage, dialect
from surehand.testing.dialect_wire import spec_of, view_of
from tests.wire.aimock import Aimock


@pytest.mark.parametrize("text", ["please pay bob"])
def test_the_word_for_calls_is_of_aimock_alone(aimock: Aimock, text: str) -> None:
    spoken = dialect("gemini")
    export = spoken.export(view_of(spec_of("pay"), spec_of("find_order")))
    request = spoken.request([UserMessage(content=text)], export)
    url = f"{aimock.url}/v1beta/models/m:generateContent"
    answer: dict[str, Any] = httpx2.post(url, json=request, trust_env=False).raise_for_status().json()
    assert answer["candidates"][0]["finishReason"] == "FUNCTION_CALL"
    assert "FUNCTION_CALL" not in types.FinishReason.__members__
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        types.GenerateContentResponse.model_validate(answer)
    assert "FUNCTION_CALL is not a valid FinishReason" in [str(one.message) for one in warned]
    turn = spoken.decode(answer, export)
    assert (turn.stop, turn.raw_stop, len(turn.calls)) == ("tool_calls", "FUNCTION_CALL", 2)
