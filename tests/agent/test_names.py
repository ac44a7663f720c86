"""Models by name."""

from pathlib import Path

import pytest

from surehand.agent.clients import AnthropicModel, OpenAIModel, OpenAIResponsesModel
from surehand.agent.names import check_model, parse_model
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gemini:gemini-test", "; did you mean google:gemini-test?"),
        ("opnai:gpt:test", "; did you mean openai:gpt:test?"),
        ("OpenAI:gpt-test", "; did you mean openai:gpt-test?"),
        ("deepsek:chat", "; did you mean deepseek:chat?"),
        ("qqq:chat", " zhipu"),
        ("openai:", " zhipu"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_model(text)
    assert str(raised.value).endswith(said)


def test_a_form_is_checked_without_key_or_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    for text in ("groq:org/model:free", "ollama:qwen3:8b", "script:nowhere.json", "text:m", "azure-openai:m"):
        check_model(text)
