"""Models by name."""

from pathlib import Path

import pytest

from surehand.agent.clients import AnthropicModel, OpenAIModel, OpenAIResponsesModel
from surehand.agent.names import parse_model
from surehand.agent.script import ScriptedModel
from surehand.errors import ConfigError


async def test_a_name_gives_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    for text, kind, name in (
        ("openai:ft:gpt:x", OpenAIModel, "ft:gpt:x"),
        ("openai-responses:gpt-test", OpenAIResponsesModel, "gpt-test"),
        ("anthropic:claude-test", AnthropicModel, "claude-test"),
    ):
        model = parse_model(text)
        assert isinstance(model, kind)
        assert model.name == name
        await model.close()
    path = tmp_path / "script.json"
    path.write_text('{"steps": ["hi"]}'.replace('"hi"', '{"text": "hi"}'), encoding="utf-8")
    model = parse_model(f"script:{path}")
    assert isinstance(model, ScriptedModel)
    said = {"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": "hi"}]}
    with pytest.raises(AssertionError, match="asked again"):
        await model.complete(said)


@pytest.mark.parametrize("text", ["", "gpt-5", "openai:", ":x", "nobody:x", "OpenAI:x", "deepseek:"])
def test_another_text_does_not(text: str) -> None:
    with pytest.raises(
        ConfigError,
        match=r"is not a model; write openai:NAME, .*or script:FILE, or PROVIDER:NAME for one of .*deepseek",
    ):
        parse_model(text)
