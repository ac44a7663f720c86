"""The models behind the official SDKs: one file each. None is imported before its first model is made."""

from .anthropic import AnthropicModel
from .google import GeminiModel
from .openai import OpenAIModel

__all__ = ["AnthropicModel", "GeminiModel", "OpenAIModel"]
