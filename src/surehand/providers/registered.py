"""The providers by name: each a format with a profile. A new one is a row here, or `register_provider`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from ..errors import ConfigError
from .dialect import Dialect
from .formats.anthropic import Anthropic
from .formats.bedrock import Bedrock
from .formats.cohere import Cohere
from .formats.gemini import Gemini
from .formats.ollama import Ollama
from .formats.openai_chat import OpenAIChat
from .formats.openai_responses import OpenAIResponses
from .formats.text import Text
from .profile import Profile
from .profiles.anthropic import ANTHROPIC
from .profiles.bedrock import BEDROCK
from .profiles.cohere import COHERE
from .profiles.compatible import COMPATIBLE
from .profiles.google import GEMINI
from .profiles.mistral import MISTRAL
from .profiles.ollama import OLLAMA
from .profiles.openai import AZURE_OPENAI, OPENAI_CHAT, OPENAI_RESPONSES
from .profiles.text import TEXT

Make = Callable[[Profile], Dialect]
FORMATS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "openai-chat": OpenAIChat,
        "openai-responses": OpenAIResponses,
        "anthropic": Anthropic,
        "gemini": Gemini,
        "bedrock": Bedrock,
        "ollama": Ollama,
        "cohere": Cohere,
        "text": Text,
    }
)
"""The wire formats."""
_ROWS: Final[tuple[tuple[str, tuple[Profile, ...]], ...]] = (
    ("openai-chat", (OPENAI_CHAT, AZURE_OPENAI, MISTRAL, *COMPATIBLE)),
    ("openai-responses", (OPENAI_RESPONSES,)),
    ("anthropic", (ANTHROPIC,)),
    ("gemini", (GEMINI,)),
    ("bedrock", (BEDROCK,)),
    ("ollama", (OLLAMA,)),
    ("cohere", (COHERE,)),
    ("text", (TEXT,)),
)
"""Each format, and those who speak it."""
_MODEL_WORDS: Final = {"openai": "openai-chat", "google": "gemini"}
"""What models are written with -> the provider, where that is another word: a slip for the hint only."""
_lock = threading.Lock()
_formats: Final[dict[str, Make]] = {one.name: FORMATS[form] for form, rows in _ROWS for one in rows}
_known: Final[dict[str, Dialect]] = {one.name: FORMATS[form](one) for form, rows in _ROWS for one in rows}
PROVIDERS: Final[Mapping[str, Dialect]] = MappingProxyType(_known)
"""All providers by name, those that were registered too."""


def dialect(name: str) -> Dialect:
    """The dialect of a provider.

    Raises:
        ConfigError: There is none of that name.
    """
    found = _known.get(name)
    if found is None:
        known = sorted(_known)
        near = _MODEL_WORDS.get(name) or next(iter(get_close_matches(name.lower(), known, n=1)), "")
        meant = f"; did you mean {near!r}?" if near else ""
        raise ConfigError(f"there is no provider {name!r}; choose one of {', '.join(known)}{meant}")
    return found


def register_provider(alias: str, dialect: str | Make, profile: Profile) -> None:
    """Adds a provider for this process: from then on `export`, runs and the command line know it by its alias.

    Args:
        alias: What it is called.
        dialect: The format that it speaks: the name of a format or of a provider with it, or a class that makes a
            `Dialect` of a profile.
        profile: Its facts: most often another provider's with `msgspec.structs.replace`. Its `name` becomes the alias.

    Raises:
        ConfigError: The alias is taken, there is no such format, or no export could keep to the facts.
    """
    if not alias:
        raise ConfigError("a provider needs a name")
    if problem := profile.problem():
        raise ConfigError(f"the provider {alias!r} cannot be: {problem}")
    made = _format(dialect)(replace(profile, name=alias))
    with _lock:
        if alias in _known:
            raise ConfigError(f"there is a provider {alias!r} already")
        _known[alias] = made


def speaks(name: str, form: str) -> bool:
    """Whether there is a provider of that name that speaks a format, such as `openai-chat`."""
    made = FORMATS[form]
    return isinstance(made, type) and isinstance(_known.get(name), made)


def _format(of: str | Make) -> Make:
    if callable(of):
        return of
    found = FORMATS.get(of) or _formats.get(of)
    if found is None:
        raise ConfigError(f"there is no format {of!r}; choose one of {', '.join(FORMATS)}, or give a class")
    return found
