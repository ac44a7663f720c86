"""Dialects of model providers: encode tools, decode calls, encode results, fold a stream.

Pure: no network, no SDK, no clock. Facts about a provider are in `profile`; a wire format is a file, and a row here.
"""

from __future__ import annotations

from typing import Final

from ..errors import ConfigError
from ..view import ToolView
from .anthropic import Anthropic
from .dialect import Dialect, Export, Fold
from .message import (
    CallDelta,
    CallResult,
    Delta,
    Message,
    ModelTurn,
    ResultMessage,
    Stop,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
)
from .openai_chat import OpenAIChat
from .strict import Verdict

__all__ = [
    "DIALECTS",
    "CallDelta",
    "CallResult",
    "Delta",
    "Dialect",
    "Export",
    "Fold",
    "Message",
    "ModelTurn",
    "ResultMessage",
    "Stop",
    "SystemMessage",
    "TextDelta",
    "Usage",
    "UserMessage",
    "Verdict",
    "dialect",
    "export",
]

DIALECTS: Final[dict[str, Dialect]] = {one.name: one for one in (OpenAIChat(), Anthropic())}
"""All dialects by name."""


def dialect(name: str) -> Dialect:
    """The dialect of a name.

    Raises:
        ConfigError: There is none.
    """
    found = DIALECTS.get(name)
    if found is None:
        raise ConfigError(f"there is no dialect {name!r}; choose one of {', '.join(sorted(DIALECTS))}")
    return found


def export(view: ToolView, name: str, *, strict: bool = False) -> Export:
    """The tools of a view in the format of a provider: what its SDK takes as `tools=`.

    Args:
        view: What one caller may see.
        name: A dialect, such as `openai-chat` or `anthropic`.
        strict: Whether the provider should hold the model to the schemas, for each tool whose schema allows it.

    Raises:
        ConfigError: There is no such dialect, or the view has more tools than the provider takes.
    """
    return dialect(name).export(view, strict=strict)
