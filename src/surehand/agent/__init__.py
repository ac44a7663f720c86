"""The run: model -> calls -> results -> model, until it stops. Knows the loop and model clients; no wire format."""

from .bounds import Bounds, Reason
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
from .events import RunEvent, RunEventKind
from .model import Model, ModelFailure
from .names import parse_model
from .run import run

__all__ = [
    "AnthropicModel",
    "BedrockModel",
    "Bounds",
    "CohereModel",
    "GeminiModel",
    "MistralModel",
    "Model",
    "ModelFailure",
    "OllamaModel",
    "OpenAIModel",
    "OpenAIResponsesModel",
    "Reason",
    "RunEvent",
    "RunEventKind",
    "parse_model",
    "run",
]
