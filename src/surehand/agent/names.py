"""Models by name, for the command line and project files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
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
MODEL_WORDS: Final[Mapping[str, str]] = {"openai-chat": "openai", "gemini": "google"}
"""Provider -> what a model of it is written with, where that is another word."""
_FORMS: Final = (*(f"{kind}:NAME" for kind in _KINDS if kind != "script"), "script:FILE")
_OF_PROVIDERS: Final = (OpenAIModel, OpenAIResponsesModel)


def parse_model(text: str) -> Model:
    """The model that a text names, such as `openai:gpt-5`, `deepseek:deepseek-chat` or `script:FILE`.

    Base URL and key come from the environment, as the provider's SDK reads them. A script goes on where the
    conversation is, so that it serves a run that another process began.

    Raises:
        ConfigError: It has none of these forms, the SDK or its key is missing, or the file is not a script.
    """
    make, name = _read(text)
    return make(name)


def check_model(text: str) -> None:
    """Whether a text has one of the forms; needs neither SDK nor key nor file.

    Raises:
        ConfigError: It has none. The message says what to write.
    """
    _read(text)


def model_forms() -> str:
    """How a model is written, in words."""
    others = ", ".join(one for one in sorted(PROVIDERS) if one not in MODEL_WORDS and one not in _KINDS and _asked(one))
    return f"{', '.join(_FORMS[:-1])} or {_FORMS[-1]}, or PROVIDER:NAME for one of {others}"


def _read(text: str) -> tuple[Callable[[str], Model], str]:
    kind, _, name = text.partition(":")
    made_by = _KINDS.get(kind) or _asked(kind)
    if not name or made_by is None:
        raise ConfigError(f"{text!r} is not a model; write {model_forms()}{_meant(kind, name)}")
    return made_by, name


def _asked(provider: str) -> Callable[[str], Model] | None:
    """What makes a model of a provider that speaks one of OpenAI's interfaces."""
    for model in _OF_PROVIDERS:
        if speaks(provider, model.dialect):
            return partial(model, provider=provider)
    return None


def _meant(kind: str, name: str) -> str:
    known = [*_KINDS, *(one for one in PROVIDERS if _asked(one))]
    near = [MODEL_WORDS[kind]] if kind in MODEL_WORDS else get_close_matches(kind.lower(), known, n=1)
    return f"; did you mean {near[0]}:{name}?" if near and name and kind not in known else ""
