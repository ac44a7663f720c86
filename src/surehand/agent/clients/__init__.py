"""The models behind the official SDKs: one file each. None is imported before its first model is made."""

from .anthropic import AnthropicModel
from .bedrock import BedrockModel
from .cohere import CohereModel
from .google import GeminiModel
from .mistral import MistralModel
from .ollama import OllamaModel
from .openai import OpenAIModel
from .openai_responses import OpenAIResponsesModel

__all__ = [
    "AnthropicModel",
    "BedrockModel",
    "CohereModel",
    "GeminiModel",
    "MistralModel",
    "OllamaModel",
    "OpenAIModel",
    "OpenAIResponsesModel",
]
