"""Models by name, for the command line and project files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..errors import ConfigError
from ..providers import PROVIDERS, speaks
from .clients import (
    AnthropicModel,
    BedrockModel,
    CohereModel,
    GeminiModel,
    MistralModel,
    OllamaModel,
    OpenAIModel,
    OpenAIResponsesModel,
)
from .model import Model
from .script import ScriptedModel

_KINDS: Final[Mapping[str, Callable[[str], Model]]] = {
    "openai": OpenAIModel,
    "openai-responses": OpenAIResponsesModel,
    "anthropic": AnthropicModel,
    "google": GeminiModel,
    "bedrock": BedrockModel,
    "mistral": MistralModel,
    "ollama": OllamaModel,
    "cohere": CohereModel,
    "text": lambda name: OpenAIModel(name, provider="text"),
    "script": lambda name: ScriptedModel.from_file(name, catch_up=True),
}
FORMS = (
    "openai:NAME",
    "openai-responses:NAME",
    "anthropic:NAME",
    "google:NAME",
    "bedrock:NAME",
    "mistral:NAME",
    "ollama:NAME",
    "cohere:NAME",
    "text:NAME",
    "script:FILE",
)
"""How a model is written; besides, `PROVIDER:NAME` for each provider that speaks one of OpenAI's interfaces."""
_OF_PROVIDERS: Final = (OpenAIModel, OpenAIResponsesModel)


def parse_model(text: str) -> Model:
    """The model that a text names, such as `openai:gpt-5`, `deepseek:deepseek-chat` or `script:FILE`: see `FORMS`.

    Base URL and key come from the environment, as the provider's SDK reads them. A script goes on where the
    conversation is, so that it serves a run that another process began.

    Raises:
        ConfigError: It has none of these forms, the SDK or its key is missing, or the file is not a script.
    """
    kind, _, name = text.partition(":")
    make = _KINDS.get(kind)
    if name and make is not None:
        return make(name)
    for of_provider in _OF_PROVIDERS:
        if name and speaks(kind, of_provider.dialect):
            return of_provider(name, provider=kind)
    others = ", ".join(one for one in sorted(PROVIDERS) if one not in _KINDS and _is_asked_by_name(one))
    raise ConfigError(
        f"{text!r} is not a model; write {', '.join(FORMS[:-1])} or {FORMS[-1]}, or PROVIDER:NAME for one of {others}"
    )


def _is_asked_by_name(provider: str) -> bool:
    return any(speaks(provider, model.dialect) for model in _OF_PROVIDERS)
