"""The run: model -> calls -> results -> model, until it stops. Knows the loop and model clients; no wire format."""

from .bounds import Bounds, Reason
from .clients import AnthropicModel, GeminiModel, OpenAIModel
from .events import RunEvent, RunEventKind
from .model import Model, ModelFailure
from .names import parse_model
from .run import run

__all__ = [
    "AnthropicModel",
    "Bounds",
    "GeminiModel",
    "Model",
    "ModelFailure",
    "OpenAIModel",
    "Reason",
    "RunEvent",
    "RunEventKind",
    "parse_model",
    "run",
]
