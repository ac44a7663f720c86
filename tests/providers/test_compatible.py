"""Providers that speak OpenAI's Chat Completions: what each can be told, and what it cannot."""

from typing import Any

import httpx2 as httpx
import pytest
from msgspec.structs import replace

from surehand import ConfigError
from surehand.agent.clients import OpenAIModel
from surehand.agent.model import ModelFailure
from surehand.agent.names import parse_model
from surehand.providers import (
    PROVIDERS,
    CallResult,
    Choice,
    Media,
    ModelTurn,
    ResultMessage,
    UserMessage,
    dialect,
    speaks,
)
from surehand.providers.formats.openai_chat import OpenAIChat
from surehand.providers.profiles.compatible import COMPATIBLE
from surehand.testing.dialect_wire import spec_of, view_of

ONE = {"tool_choice": {"type": "function", "function": {"name": "read"}}}
CHOICES: dict[str, tuple[Choice, dict[str, Any]]] = {
    "none": (Choice(mode="none"), {"tool_choice": "none"}),
    "required": (Choice(mode="required"), {"tool_choice": "required"}),
    "one": (Choice(mode="one", tool="read"), ONE),
    "serial": (Choice(parallel=False), {"parallel_tool_calls": False}),
}
ABILITIES = {
    "azure-openai": "none required one serial",
    "deepseek": "none required one",
    "deepseek-beta": "none required one",
    "groq": "none required one serial",
    "openrouter": "none required one serial",
    "together": "none required one",
    "vllm": "none required one",
    "lm-studio": "none required",
    "qwen": "none one serial",
    "moonshot": "none",
    "xai": "none required one serial",
    "zhipu": "",
}
READ = view_of(spec_of("read"))
THOUGHT: dict[str, Any] = {"role": "assistant", "content": "", "reasoning_content": "r"}
CALLED = THOUGHT | {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}


def test_all_of_them_are_here() -> None:
    assert {one.name for one in COMPATIBLE} | {"azure-openai"} == set(ABILITIES)
    assert all(speaks(name, "openai-chat") for name in ABILITIES)
    assert not speaks("anthropic", "openai-chat")
    assert not speaks("nobody", "openai-chat")


@pytest.mark.parametrize("name", ABILITIES)
@pytest.mark.parametrize("wanted", CHOICES)
def test_a_choice_is_said_or_refused(name: str, wanted: str) -> None:
    spoken, (choice, said) = dialect(name), CHOICES[wanted]
    export = spoken.export(READ)
    if wanted in ABILITIES[name].split():
        request = spoken.request([UserMessage(content="go")], export, choice)
        assert said.items() <= request.items()
    else:
        with pytest.raises(ConfigError, match=f"{name} cannot be told"):
            spoken.request([UserMessage(content="go")], export, choice)


@pytest.mark.parametrize("name", [one.name for one in COMPATIBLE if one.strict is None])
def test_without_a_strict_mode_every_tool_says_so(name: str) -> None:
    export = dialect(name).export(READ, strict=True)
    assert export.verdicts == {"read": "unsupported"}
    assert export.notes == ("read: unsupported, sent without strict: the provider has no strict mode",)
    said = {one["function"].get("strict", "nothing") for one in export.tools}
    assert said == ({False} if name == "moonshot" else {"nothing"})


def test_moonshot_takes_names_of_three_characters_and_a_word_on_strict() -> None:
    export = dialect("moonshot").export(view_of(spec_of("ls"), spec_of("l"), spec_of("read")))
    assert export.names == {"ls": "ls_", "l": "l__", "read": "read"}
    assert all(one["function"]["strict"] is False for one in export.tools)


def test_deepseek_beta_is_strict_for_all_tools_or_none() -> None:
    free = spec_of("tally", {"type": "object", "properties": {"n": {"type": "object", "additionalProperties": True}}})
    closed = dialect("deepseek-beta").export(READ, strict=True)
    assert [one["function"]["strict"] for one in closed.tools] == [True]
    mixed = dialect("deepseek-beta").export(view_of(spec_of("read"), free), strict=True)
    assert not any(one["function"].get("strict") for one in mixed.tools)
    assert mixed.verdicts == {"read": "unsupported", "tally": "unsupported"}
    assert any(note.startswith("read: ") and "tally" in note for note in mixed.notes)


@pytest.mark.parametrize("name", ABILITIES)
def test_C20_reasoning_goes_back_to_its_own_provider_only(name: str) -> None:
    spoken = dialect(name)
    export = spoken.export(READ)
    turn = spoken.decode({"choices": [{"message": CALLED, "finish_reason": "tool_calls"}]}, export)
    assert (turn.dialect, turn.reasoning, turn.stop) == (name, "r", "tool_calls")
    history = [UserMessage(content="go"), turn, ResultMessage(results=(CallResult(tool_call_id="c1", content="x"),))]
    assert spoken.request(history, export)["messages"][1] == CALLED
    for other in sorted(PROVIDERS.keys() - {name}):
        told = dialect(other)
        assert "reasoning_content" not in str(told.request(history, told.export(READ)))


def test_C20_whether_reasoning_goes_back_is_a_fact_of_the_provider() -> None:
    quiet = OpenAIChat(replace(dialect("deepseek").profile, returns_reasoning=False))
    export = quiet.export(READ)
    turn = quiet.decode({"choices": [{"message": CALLED, "finish_reason": "tool_calls"}]}, export)
    assert quiet.request([turn], export)["messages"][0] == {k: v for k, v in CALLED.items() if k != "reasoning_content"}


WORDS = [
    ("deepseek", "insufficient_system_resource", "resources", True),
    ("zhipu", "sensitive", "content_filter", False),
    ("zhipu", "network_error", "length", True),
    ("zhipu", "model_context_window_exceeded", "length", True),
    ("openrouter", "error", "length", True),
]


@pytest.mark.parametrize(("name", "word", "stop", "truncated"), WORDS)
def test_why_a_provider_stopped(name: str, word: str, stop: str, truncated: bool) -> None:
    spoken = dialect(name)
    turn = spoken.decode({"choices": [{"message": CALLED, "finish_reason": word}]}, spoken.export(READ))
    assert (turn.stop, turn.truncated_call, turn.raw_stop) == (stop, truncated, word)


def test_an_image_is_told_of_where_it_cannot_be_shown() -> None:
    spoken = dialect("deepseek")
    turn = ModelTurn(dialect="x", calls=spoken.decode({"choices": [{"message": CALLED}]}, spoken.export(READ)).calls)
    image = Media(media_type="image/png", data=b"\x89PNG", artifact_id="a1")
    results = ResultMessage(results=(CallResult(tool_call_id="c1", content="a chart", media=(image,)),))
    request = spoken.request([turn, results], spoken.export(READ))
    told = "a chart\n[There is an image here that cannot be shown to you: image/png, kept as artifact a1]"
    assert request["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": told}


async def test_a_model_of_each_is_named_by_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for profile in COMPATIBLE:
        if profile.key_env:
            monkeypatch.delenv(profile.key_env, raising=False)
            with pytest.raises(ConfigError, match=f"there is no key; set {profile.key_env}"):
                parse_model(f"{profile.name}:m")
            monkeypatch.setenv(profile.key_env, "sk-test")
        model = parse_model(f"{profile.name}:org/m:free")
        assert isinstance(model, OpenAIModel)
        async with model:
            assert (model.dialect, model.name) == (profile.name, "org/m:free")
            assert str(model._client.base_url).rstrip("/") == profile.base_url  # pyright: ignore[reportPrivateUsage]


async def test_what_belongs_to_openai_is_sent_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"own-{name}")
    for profile in COMPATIBLE:
        if profile.key_env:
            for missing in ("", None):
                if missing is None:
                    monkeypatch.delenv(profile.key_env, raising=False)
                else:
                    monkeypatch.setenv(profile.key_env, missing)
                with pytest.raises(ConfigError, match=f"there is no key; set {profile.key_env} or give a client"):
                    parse_model(f"{profile.name}:m")
            monkeypatch.setenv(profile.key_env, "sk-test")
        model = parse_model(f"{profile.name}:m")
        assert isinstance(model, OpenAIModel)
        async with model:
            asked: list[httpx.Request] = []

            async def see(request: httpx.Request, asked: list[httpx.Request] = asked) -> None:
                asked.append(request)
                raise httpx.ConnectError("not today")

            model._client._client.event_hooks = {"request": [see]}  # pyright: ignore[reportPrivateUsage]
            with pytest.raises(ModelFailure, match="cannot be reached"):
                await model.complete({"messages": []})
            (request,) = asked
            assert str(request.url).startswith(profile.base_url)
            assert "own-" not in str(request.headers.multi_items())
